package consultant

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestPhasesAreFound: a program that computes in one function, then in another one, then waits for a file has two boundaries. Each phase has what holds
// in it alone: what the search saw before it found the end of one belongs to the next.
func TestPhasesAreFound(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "parse"}, kind: "cpu", rate: between(0, 10, 0.95)},
		activity{stack: []string{"main", "build"}, kind: "cpu", rate: between(10, 22, 0.95)},
		activity{stack: []string{"main", "save"}, kind: "io", object: []string{"File", "/out"}, rate: between(22, 60, 0.9)},
	)
	r := newRig(t, m)
	for next := 1.0; r.m.now() < 40; next++ {
		r.run(next)
		phases := r.s.Phases()
		at, because, ok := r.s.Changed(phases[len(phases)-1].Start)
		if !ok {
			continue
		}
		name := fmt.Sprint(len(phases))
		if _, err := r.g.StartPhaseAt(name, at); err != nil {
			t.Fatal(err)
		}
		r.s.StartPhaseAt(name, at, because)
	}
	phases := r.s.Phases()
	if len(phases) != 3 || math.Abs(phases[1].Start-10) > 0.5 || math.Abs(phases[1].End-22) > 0.5 || math.Abs(phases[2].Start-22) > 0.5 {
		r.dump()
		t.Fatalf("phases: %+v", phases)
	}
	if b := phases[1].Because; !strings.Contains(b, "parse went from 9") && !strings.Contains(b, "build went from") {
		t.Errorf("the first begins since %q", b)
	}
	if b := phases[2].Because; !strings.Contains(b, " at the whole program went from ") {
		t.Errorf("the second begins since %q", b)
	}
	var found []string
	for _, b := range r.s.Bottlenecks() {
		if !b.Phase.IsWhole() {
			found = append(found, b.Phase.Name+": "+b.Sentence)
		}
	}
	if all := strings.Join(found, ""); len(found) != 2 || !strings.Contains(all, "1: build (a.c:41) uses 9") || !strings.Contains(all, "2: Threads wait") || !strings.Contains(all, "for file /out in save") {
		r.dump()
		t.Errorf("in the phases: %q", found)
	}
}
