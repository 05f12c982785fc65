package main

import "testing"

// TestServers: what is right for each server can be read, and knows only hypotheses that there are.
func TestServers(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range serverSubjects() {
		if seen[s.name] {
			t.Errorf("there are two of %s", s.name)
		}
		seen[s.name] = true
		checkHypotheses(t, s.name, s.expect)
	}
	if len(seen) < 12 {
		t.Errorf("only %d servers", len(seen))
	}
}
