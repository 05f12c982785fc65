package browse

import (
	"strings"
	"testing"

	"culprit/consultant"
	"culprit/session"
)

// TestNotConcluded: what has a value and is not ruled out for a reason is listed with it, and not among what is ruled out.
func TestNotConcluded(t *testing.T) {
	v := newVerdict(session.Snapshot{Nodes: []consultant.Node{
		{ID: 1, Hypothesis: "Waiting", State: consultant.Testing, Samples: 5, Threshold: 0.2, Greater: true, Reason: "goroutines\x1b wait without a thread"},
		{ID: 2, Hypothesis: "Busy", State: consultant.False, Samples: 5, Threshold: 0.2, Greater: true},
		{ID: 3, Hypothesis: "Fresh", State: consultant.Testing},
	}})
	if len(v.Open) != 1 || !strings.HasPrefix(v.Open[0], "Waiting ") || !strings.Contains(v.Open[0], "wait without a thread") || strings.Contains(v.Open[0], "\x1b") {
		t.Errorf("not concluded: %q", v.Open)
	}
	if len(v.RuledOut) != 1 || !strings.HasPrefix(v.RuledOut[0], "Busy ") {
		t.Errorf("ruled out: %q", v.RuledOut)
	}
}
