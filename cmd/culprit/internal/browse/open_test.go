package browse

import (
	"slices"
	"strings"
	"testing"

	"culprit/consultant"
	"culprit/session"
	"culprit/session/report"
)

// TestNotConcluded: what has a value and is not ruled out for a reason is listed with it, and not among what is ruled out; nor is what does not
// apply.
func TestNotConcluded(t *testing.T) {
	v := newVerdict(session.Snapshot{Nodes: []consultant.Node{
		{ID: 1, Hypothesis: "Waiting", State: consultant.Testing, Samples: 5, Threshold: 0.2, Greater: true, Reason: "goroutines\x1b wait without a thread"},
		{ID: 2, Hypothesis: "Busy", State: consultant.False, Samples: 5, Threshold: 0.2, Greater: true},
		{ID: 3, Hypothesis: "Fresh", State: consultant.Testing},
		{ID: 4, Hypothesis: "Else\x1bwhere", State: consultant.False, Samples: 5, Value: 0.2, Threshold: 0.2, Greater: true},
		{ID: 5, Hypothesis: "Neither", State: consultant.False, Samples: 5, Value: 0.2, Threshold: 0.2, Greater: true},
	}})
	if len(v.Open) != 1 || !strings.HasPrefix(v.Open[0], "Waiting ") || !strings.Contains(v.Open[0], "wait without a thread") || strings.Contains(v.Open[0], "\x1b") {
		t.Errorf("not concluded: %q", v.Open)
	}
	if len(v.RuledOut) != 1 || !strings.HasPrefix(v.RuledOut[0], "Busy ") {
		t.Errorf("ruled out: %q", v.RuledOut)
	}
	if v.NotHere != "Else\\x1bwhere, Neither" {
		t.Errorf("does not apply: %q", v.NotHere)
	}
}

// TestIdleIsTold: where nothing was found the screen says where threads had nothing to do.
func TestIdleIsTold(t *testing.T) {
	s := session.Snapshot{Idle: &report.Idle{Share: 0.9, Places: []report.IdlePlace{{Function: "a.c/take_job", Threads: 3, Share: 0.8, For: "input"}}}}
	if v := newVerdict(s); len(v.Idle) != 2 || !strings.Contains(v.Idle[0], "90 %") || v.Idle[1] != "80 %: 3 threads wait for input in a.c/take_job" {
		t.Errorf("%q", v.Idle)
	}
	s.Bottlenecks = []consultant.Bottleneck{{Node: 3, Sentence: "b computes"}}
	if v := newVerdict(s); v.Idle != nil {
		t.Errorf("beside a bottleneck: %q", v.Idle)
	}
}

// TestNotes: what another finding explains is listed below the bottlenecks, with the number of that one.
func TestNotes(t *testing.T) {
	v := newVerdict(session.Snapshot{Bottlenecks: []consultant.Bottleneck{
		{Node: 2, Sentence: "a waits.", Note: true, Explained: 4}, {Node: 3, Sentence: "b computes"}, {Node: 4, Sentence: "c computes"},
		{Node: 5, Sentence: "d waits\x1b.", Note: true, Explained: 2}, {Node: 6, Sentence: "e is little", Note: true},
	}})
	want := []string{"a waits. The threads wait for what finding 2 tells.", `d waits\x1b. The threads wait for others in this list.`, "e is little"}
	if len(v.Lines) != 2 || !slices.Equal(v.Notes, want) {
		t.Errorf("%d bottlenecks, notes %q", len(v.Lines), v.Notes)
	}
}

// TestEarlierIsTold: what is over is listed, as text that is fit for a terminal.
func TestEarlierIsTold(t *testing.T) {
	v := newVerdict(session.Snapshot{Earlier: []report.Earlier{{Node: 2, Sentence: "a computed\x1b."}, {Node: 5, Sentence: "b waited."}}})
	if !slices.Equal(v.Earlier, []string{`a computed\x1b.`, "b waited."}) {
		t.Errorf("%q", v.Earlier)
	}
}
