package report

import (
	"fmt"
	"strings"
	"testing"
)

// TestPhases: each phase is told with its interval and its own answer; what was tested in it is not told of the whole session. Of many the latest are told.
func TestPhases(t *testing.T) {
	end := Number(14.3)
	r := &Report{
		Nodes: []Node{{Hypothesis: "CPUbound", State: "false"}, {Hypothesis: "InLoad", State: "queued", Phase: Phase{Name: "load"}}, {Hypothesis: "InLoadToo", State: "false", Phase: Phase{Name: "load"}}},
		Phases: []PhaseAnswer{
			{Phase: Phase{Name: "load", Start: 8.3, End: &end}, Bottlenecks: []Bottleneck{{Sentence: "Threads wait."}, {Sentence: "More wait."}}},
			{Phase: Phase{Name: "2", Start: 14.3}, RuledOut: 6},
			{Phase: Phase{Name: "3", Start: 15}, RuledOut: 6, Open: 1},
			{Phase: Phase{Name: "4", Start: 16}},
		},
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"No bottleneck found.\n", "\nIn phase load, from 8.3 s to 14.3 s:\n  1. Threads wait.\n  2. More wait.\n", "\nIn phase 2, from 14.3 s:\n  No bottleneck found in it: 6 hypotheses ruled out.\n",
		"But 1 question about the whole program is not answered in it.", "Nothing was tested in it.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "InLoad") || strings.Contains(b.String(), "Not concluded") {
		t.Errorf("what was tested in a phase is told of the whole session:\n%s", b.String())
	}
	for i := range 20 {
		r.Phases = append(r.Phases, PhaseAnswer{Phase: Phase{Name: fmt.Sprint("more", i)}})
	}
	if line, err := r.Line(); err != nil || strings.Contains(string(line), `"chain":null`) || strings.Contains(string(line), `"bottlenecks":null`) {
		t.Errorf("%v: a list is null: %s", err, line)
	}
	b.Reset()
	if err := r.WriteText(&b); err != nil || strings.Contains(b.String(), "phase load") || !strings.Contains(b.String(), "phase more19") || !strings.Contains(b.String(), "12 earlier phases not listed") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestCycle: what a program does again and again is told, with until when if it is over.
func TestCycle(t *testing.T) {
	for now, want := range map[Number]string{
		60: "\nThe program does the same again every 4.0 s, from 3.0 s: CPUbound went between 1 % and 95 %.\n",
		90: "\nThe program did the same again every 4.0 s, from 3.0 s to 58.0 s: CPUbound went between 1 % and 95 %.\n",
	} {
		var b strings.Builder
		r := &Report{Seconds: now, Cycle: &Cycle{Seconds: 4, From: 3, To: 58, What: "CPUbound went between 1 % and 95 %"}}
		if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("at %g s: %v\n%s", float64(now), err, b.String())
		}
	}
	if line, err := (&Report{}).Line(); err != nil || strings.Contains(string(line), "cycle") {
		t.Errorf("%v: a program that does not: %s", err, line)
	}
}
