package report

import (
	"strings"
	"testing"
)

// TestCloseToTheThreshold: what is not beyond its threshold is ruled out if that is sure, and told apart if it is close.
func TestCloseToTheThreshold(t *testing.T) {
	node := func(name string, value, confidence Number) Node {
		return Node{ID: 2, Parents: []int{1}, Hypothesis: name, State: "false", Share: true, Greater: true, Unit: "fraction", Value: value, Threshold: 0.2, Samples: 20, Confidence: confidence}
	}
	r := &Report{Nodes: []Node{node("Sure", 0.05, 0.99), node("Short", 0.05, 0.7), node("Close", 0.188, 0.73)}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nRuled out:\n  Sure: 5.0 %", "\n  Short: 5.0 % (threshold > 20.0 %, 20 readings, 70 % sure)\n", "\nNot beyond the threshold, but close to it:\n  Close: 18.8 %"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestRootIsNoAnswer: the root of the search holds by definition, and is no answer.
func TestRootIsNoAnswer(t *testing.T) {
	r := &Report{Nodes: []Node{{ID: 1, Hypothesis: Root, State: "true"}}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if !r.Unknown() || !strings.HasPrefix(strings.TrimSpace(b.String()), "Nothing could be tested.") {
		t.Errorf("of a search that ended at once: %v\n%s", r.Unknown(), b.String())
	}
}
