package report

import (
	"fmt"
	"strings"
	"testing"
)

// TestLargestPairs: of more pairs than there are lines the largest of each metric are shown, and what is left out is counted.
func TestLargestPairs(t *testing.T) {
	var r Report
	for i := range 40 {
		at := Focus{"Code": fmt.Sprintf("/Code/a.c/f%02d", i)}
		r.Pairs = append(r.Pairs, Pair{Metric: "calls", Focus: at, Sum: Missing(i % 20)}, Pair{Metric: "bytes", Focus: at, Error: "refused"})
	}
	r.Pairs = append(r.Pairs, Pair{Metric: "bytes", Focus: Focus{}, Sum: 7})
	var b strings.Builder
	r.writePairs(&b)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for i, want := range []string{"Watched:", "calls@/Code/a.c/f19: sum 19", "calls@/Code/a.c/f39: sum 19", "calls@/Code/a.c/f18: sum 18", 5: "f17", 6: "f37",
		7: "and 34 more of calls", 8: "bytes@/: sum 7", 9: "bytes@/Code/a.c/f00: not measured: refused", 14: "and 35 more of bytes, 35 of them not measured"} {
		if len(lines) <= i || !strings.Contains(lines[i], want) || i == 7 && strings.Contains(lines[i], "of them") {
			t.Fatalf("line %d: want %q in\n%s", i, want, b.String())
		}
	}
}

// TestAskedPairs: what the user has named himself is always shown, with what is said of it.
func TestAskedPairs(t *testing.T) {
	var r Report
	for i := range 40 {
		r.Pairs = append(r.Pairs, Pair{Metric: "calls", Focus: Focus{"Code": fmt.Sprintf("/Code/a.c/f%02d", i)}, Asked: i%2 == 0, Note: fmt.Sprintf("note %02d", i)})
	}
	var b strings.Builder
	r.writePairs(&b)
	for i := range 40 {
		if strings.Contains(b.String(), fmt.Sprintf("warning: note %02d\n", i)) != (i%2 == 0) {
			t.Errorf("pair %d in\n%s", i, b.String())
		}
	}
}

// TestFewPairs: those that all have a line are listed as they come.
func TestFewPairs(t *testing.T) {
	r := Report{Pairs: []Pair{{Metric: "calls", Focus: Focus{"Code": "/Code/a"}}, {Metric: "calls", Focus: Focus{"Code": "/Code/b"}, Sum: 9}}}
	var b strings.Builder
	r.writePairs(&b)
	if a, z := strings.Index(b.String(), "/Code/a"), strings.Index(b.String(), "/Code/b"); a < 0 || z < a || strings.Contains(b.String(), "more") {
		t.Error(b.String())
	}
}
