package report

import (
	"strings"
	"testing"
)

func TestEnding(t *testing.T) {
	for code, want := range map[int]string{0: "exit code 0", 1: "exit code 1", 128: "exit code 128", 137: "exit code 137 (SIGKILL)", 139: "exit code 139 (SIGSEGV)", 255: "exit code 255", -1: "exit code -1"} {
		if got := Ending(code); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}

// TestNothingTested: where no hypothesis came to a verdict it is not said that there is no bottleneck.
func TestNothingTested(t *testing.T) {
	for state, want := range map[string]string{"never": "Nothing could be tested", "testing": "Nothing could be tested", "false": "No bottleneck found."} {
		r := &Report{Nodes: []Node{{Hypothesis: "CPUbound", State: state}}}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q, %v", state, b.String(), err)
		}
	}
}

// TestUnanswered: where some of the questions at the whole program were not answered, or their answers are in doubt, the first line says so, and
// the exit status the same.
func TestUnanswered(t *testing.T) {
	for open, want := range map[string]string{
		"never": "No bottleneck found so far. But 1 question about the whole program is not answered.", "queued": "is not answered", "testing": "is not answered",
		"overbudget": "is not answered", "pruned": "No bottleneck found.\n", "false": "No bottleneck found.\n",
	} {
		r := &Report{Nodes: []Node{{Hypothesis: "CPUbound", State: "false"}, {Hypothesis: "Waits", State: open, Confidence: 0.5}, {Hypothesis: "Waits", State: "queued", Focus: Focus{"Code": "/Code/a.c/b"}}}}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q, %v", open, b.String(), err)
		}
		if unknown := strings.Contains(want, "not answered"); r.Unknown() != unknown {
			t.Errorf("%s: unknown %v, want %v", open, r.Unknown(), unknown)
		}
		r.Bottlenecks = []Bottleneck{{}}
		if r.Unknown() {
			t.Errorf("%s: a bottleneck was found", open)
		}
	}
}

// TestMostlyUnmeasured: where most of the work was done by processes that nobody could measure it is not known that there is no bottleneck.
func TestMostlyUnmeasured(t *testing.T) {
	for share, want := range map[Number]string{0.88: "But 88 % of the CPU time was used by processes that ended too soon for that", 0.1: "No bottleneck found.\n"} {
		r := &Report{Nodes: []Node{{Hypothesis: "CPUbound", State: "false"}}, NotMeasured: "something", NotMeasuredShare: share}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), want) || r.Unknown() != (share > 0.5) {
			t.Errorf("%g: unknown %v, %v: %s", float64(share), r.Unknown(), err, b.String())
		}
	}
}

// TestRefusedAreCountedOnce: functions that the daemon refused, and those that the search could not test, each once.
func TestRefusedAreCountedOnce(t *testing.T) {
	r := &Report{
		Nodes:  []Node{{State: "refused", Focus: Focus{"Code": "/Code/a.c/f"}}, {State: "true", Refused: "something may jump there", Focus: Focus{"Code": "/Code/a.c/g"}}, {State: "refused", Focus: Focus{"Code": "/Code/a.c/g", "Process": "/Process/a{1}"}}},
		Probes: Probes{Refused: []Refusal{{Function: "a.c/f"}, {Function: "a.c/h"}}},
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "functions refused: 3.") {
		t.Error(err, b.String())
	}
}
