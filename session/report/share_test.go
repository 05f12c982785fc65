package report

import (
	"strings"
	"testing"
)

// TestShareInText: the text tells a part of a whole as 100 % at most; another fraction is told as it is, and JSON has what was measured.
func TestShareInText(t *testing.T) {
	n := Node{Hypothesis: "Efficient", State: "false", Value: 1.08, Threshold: 0.5, Unit: "fraction", Samples: 9, Confidence: 0.9, Share: true}
	if s := n.basis(); !strings.HasPrefix(s, "100.0 % (threshold") {
		t.Error(s)
	}
	n.State = "testing"
	if s := n.soFar(); !strings.HasPrefix(s, "100.0 % so far") {
		t.Error(s)
	}
	r := &Report{Nodes: []Node{n}, Overhead: Overhead{Observed: 1.2}}
	if b, err := r.Line(); err != nil || !strings.Contains(string(b), `"value":1.08`) || !strings.Contains(string(b), `"share":true`) {
		t.Errorf("%v: %s", err, b)
	}
	var b strings.Builder
	if r.writeCost(&b); !strings.Contains(b.String(), "Overhead: 100.00 % of") {
		t.Error(b.String())
	}
	n.Share = false
	if s := n.basis(); !strings.HasPrefix(s, "108.0 %") {
		t.Error(s)
	}
}
