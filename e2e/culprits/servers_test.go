package main

import (
	"os"
	"path/filepath"
	"testing"

	"culprit/internal/testprog"
)

// TestServers: what is right for each server can be read, and knows only hypotheses that there are.
func TestServers(t *testing.T) {
	why, err := os.ReadFile(filepath.Join(testprog.Root(t), "pcl", "lib", "why.pcl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range serverSubjects() {
		if seen[s.name] {
			t.Errorf("there are two of %s", s.name)
		}
		seen[s.name] = true
		checkHypotheses(t, s.name, s.expect, string(why))
	}
	if len(seen) < 12 {
		t.Errorf("only %d servers", len(seen))
	}
}
