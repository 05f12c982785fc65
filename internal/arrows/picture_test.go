package arrows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

// TestPicture holds that the picture in ARCHITECTURE.md is that of the imports.
func TestPicture(t *testing.T) {
	root := testprog.Root(t)
	picture, err := Picture(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	if drawn, err := Redraw(string(text), picture); err != nil || drawn != string(text) {
		t.Errorf("ARCHITECTURE.md shows another picture (%v): run make picture", err)
	}
}

func TestDirect(t *testing.T) {
	imports := map[string][]string{"top": {"bottom", "middle"}, "middle": {"bottom"}, "bottom": {}, "alone": {"bottom"}}
	for pkg, want := range map[string]string{"top": "middle", "middle": "bottom", "alone": "bottom", "bottom": ""} {
		if got := strings.Join(direct(imports, pkg), " "); got != want {
			t.Errorf("%s: %q, expected %q", pkg, got, want)
		}
	}
	if _, err := Redraw("no picture", ""); err == nil {
		t.Error("a picture was put into a text that has no place for it")
	}
}
