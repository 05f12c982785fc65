package e2e

import (
	"fmt"
	"strings"
	"testing"

	"culprit/internal/require"
)

// beginOf is when a hypothesis was first tested at the deepest place where it was found, and at the whole program, in s.
func (r *report) beginOf(t *testing.T, hypothesis string) (place, whole float64) {
	t.Helper()
	place, whole = -1, -1
	for _, n := range r.Nodes {
		switch {
		case n.Hypothesis != hypothesis || len(n.Tests) == 0:
		case len(n.Focus) == 0:
			whole = n.Tests[0].Begin
		case len(r.Bottlenecks) > 0 && n.ID == r.Bottlenecks[0].Node:
			place = n.Tests[0].Begin
		}
	}
	if place < 0 || whole < 0 {
		t.Fatalf("%s was not found below the whole program:\n%s", hypothesis, r.sentences())
	}
	return place, whole
}

// TestHistory: with the report of an earlier run of the same build the place of the answer is tested along with the whole program, and the answer is the
// same. The report of another program is not used, and says so.
func TestHistory(t *testing.T) {
	require.Root(t)
	const waits = "ExcessiveSyncWaitingTime"
	p := started(t, "rowlatch.c")
	first := start(t, "attach", "--no-tui", "--for", "8s", "--json", "@REPORT", fmt.Sprint(p.PID)).want(statusBottleneck)
	place, whole := first.read().beginOf(t, waits)
	if place < whole+0.3 {
		t.Fatalf("without history the place was tested at %.2f s, and the whole program at %.2f s", place, whole)
	}
	again := start(t, "attach", "--no-tui", "--for", "8s", "--history", first.report, "--json", "@REPORT", fmt.Sprint(p.PID)).want(statusBottleneck).
		says("history: "+first.report, "an earlier run of the same build")
	r := again.read()
	if r.History == nil || r.History.Program != "same build" || r.History.Held < 3 || r.Targets[0].BuildID == "" {
		t.Errorf("the report says of the history: %+v, and of the build %q", r.History, r.Targets[0].BuildID)
	}
	if place, whole := r.beginOf(t, waits); place > whole+0.3 {
		t.Errorf("with history the place was tested at %.2f s, and the whole program at %.2f s\n%s", place, whole, again.story())
	}
	if a, b := first.read().Bottlenecks[0].Sentence, r.Bottlenecks[0].Sentence; strings.Fields(a)[0] != strings.Fields(b)[0] {
		t.Errorf("another answer:\n%s\n%s", a, b)
	}

	q := started(t, "hotloop.c")
	other := start(t, "attach", "--no-tui", "--for", "4s", "--history", first.report, "--json", "@REPORT", fmt.Sprint(q.PID)).want(statusBottleneck).
		says("is of another program and is not used")
	if !strings.Contains(other.out.String(), "is of another program and was not used") {
		t.Errorf("the answer does not say so:\n%s", other.out.String())
	}
	if h := other.read().History; h == nil || h.Program != "another program" || h.Held != 0 {
		t.Errorf("the report says of the history: %+v", h)
	}
}
