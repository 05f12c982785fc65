package lib

import (
	"slices"
	"strings"
	"testing"
)

// TestEveryFileIsLoaded: a file that has no place in the order would be left out without a word.
func TestEveryFileIsLoaded(t *testing.T) {
	entries, err := texts.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(order, e.Name()) {
			t.Errorf("%s has no place in the order", e.Name())
		}
	}
	files := Files()
	if len(files) != len(entries) {
		t.Errorf("%d files are loaded, there are %d", len(files), len(entries))
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name, "lib/") || f.Text == "" {
			t.Errorf("%q is empty or has a wrong name", f.Name)
		}
	}
}
