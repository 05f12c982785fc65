package consultant

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// findPhases runs until a time, and begins a phase wherever the program begins to behave otherwise.
func (r *rig) findPhases(until float64) {
	r.Helper()
	for next := 1.0; r.m.now() < until; next++ {
		r.run(next)
		phases := r.s.Phases()
		at, because, ok := r.s.Changed(phases[len(phases)-1].Start)
		if !ok {
			continue
		}
		name := fmt.Sprint(len(phases))
		if _, err := r.g.StartPhaseAt(name, at); err != nil {
			r.Fatal(err)
		}
		r.s.StartPhaseAt(name, at, because)
	}
}

// TestPhasesAreFound: a program that computes in one function, then in another one, then waits for a file has two boundaries. Each phase has what holds
// in it alone: what the search saw before it found the end of one belongs to the next.
func TestPhasesAreFound(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "parse"}, kind: "cpu", rate: between(0, 10, 0.95)},
		activity{stack: []string{"main", "build"}, kind: "cpu", rate: between(10, 22, 0.95)},
		activity{stack: []string{"main", "save"}, kind: "io", object: []string{"File", "/out"}, rate: between(22, 60, 0.9)},
	)
	r := newRig(t, m)
	r.findPhases(40)
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
	for _, n := range r.s.Nodes() {
		if end := n.Phase.End; end != 0 && len(n.History) > 0 && n.History[0].At > end+0.5 {
			t.Errorf("node %d of phase %s, which ended at %g s, is %s by what came later: %g at %g s", n.ID, n.Phase.Name, end, n.State, n.Value, n.History[0].At)
		}
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

// TestPhasesThatAreOver: what is measured all the time tells of a phase from its beginning on, also where it is over when it is found.
func TestPhasesThatAreOver(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "work"}, kind: "cpu", rate: between(0, 12, 0.95)},
		activity{stack: []string{"main", "save"}, kind: "io", object: []string{"File", "/out"}, rate: between(12, 15, 0.9)},
		activity{stack: []string{"main", "lock"}, kind: "sync", object: []string{"Mutex", "m"}, rate: between(15, 40, 0.9)},
	)
	r := newRig(t, m)
	r.findPhases(25)
	phases := r.s.Phases()
	if len(phases) != 3 || math.Abs(phases[1].Start-12) > 0.5 || math.Abs(phases[1].End-15) > 0.5 {
		t.Fatalf("phases: %+v", phases)
	}
	for _, n := range r.s.Nodes() {
		if !n.Focus.IsWhole() || n.Phase.Name != phases[1].Name || n.Axis == "when" {
			continue
		}
		want := False
		if n.Hypothesis == ioWait {
			want = True
		}
		if n.State != want {
			t.Errorf("%s is %s in the phase of input and output: %g over %d readings, %s", n.Hypothesis, n.State, n.Value, n.Samples, n.Reason)
		}
	}
}

// TestCycle: a program that computes and waits for a file in turn does the same again and again. That is told, as long as it does so, and begins no more phases.
func TestCycle(t *testing.T) {
	turns := func(which int) func(at float64) float64 {
		return func(at float64) float64 {
			if at < 70 && int(at/3)%2 == which {
				return 0.95
			}
			return 0
		}
	}
	m := newModel(
		activity{stack: []string{"main", "work"}, kind: "cpu", rate: turns(0)},
		activity{stack: []string{"main", "save"}, kind: "io", object: []string{"File", "/out"}, rate: turns(1)},
	)
	r := newRig(t, m)
	if c := r.s.Cycle(); c != (Cycle{}) {
		t.Errorf("before anything was seen: %+v", c)
	}
	r.findPhases(60)
	c, phases := r.s.Cycle(), len(r.s.Phases())
	if math.Abs(c.Seconds-6) > 0.5 || c.From > 10 || c.To < 55 || !strings.Contains(c.What, " went between ") {
		r.dump()
		t.Errorf("it does again and again: %+v", c)
	}
	if phases > 6 { // it has to come back three times
		t.Errorf("%d phases", phases)
	}
	r.findPhases(140)
	if over := r.s.Cycle(); over.From != c.From || over.To < 60 || over.To > 80 {
		t.Errorf("since 70 s it does nothing any longer: %+v", over)
	}
}
