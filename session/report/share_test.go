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

// TestLostIsTold: what a program loses beside its own time is told where CPUs were taken from it.
func TestLostIsTold(t *testing.T) {
	for _, c := range []struct {
		o    Overhead
		want string
	}{
		{Overhead{Observed: 0.006, DaemonCPU: 0.14, Taken: 0.068, Lost: 0.14}, "used 14.0 % of a CPU, some of that or all while no CPU was idle: with that the program lost about 14 % of its work."},
		{Overhead{Observed: 0.006, DaemonCPU: 0.14, Taken: 0.004, Lost: 0.014}, "used 14.0 % of a CPU.\n"},
	} {
		var b strings.Builder
		if (&Report{Overhead: c.o}).writeCost(&b); !strings.Contains(b.String(), c.want) {
			t.Errorf("%+v is told as\n%s", c.o, b.String())
		}
	}
}
