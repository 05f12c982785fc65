package diff

import (
	"strings"
	"testing"

	"culprit/session/report"
)

// TestCrowded: it is said where one of two runs waited for CPUs, and not where both did, or where that is not known.
func TestCrowded(t *testing.T) {
	waits := func(share float64, samples int) *report.Report {
		return &report.Report{Nodes: []report.Node{{ID: 2, Hypothesis: delayed, Value: report.Number(share), Samples: samples}}}
	}
	if text := Crowded(waits(0.02, 9), waits(0.41, 9)); !strings.Contains(text, "waited for a CPU for 2 % of its time in the first report and for 41 % in the second") {
		t.Errorf("%q", text)
	}
	for _, pair := range [][2]*report.Report{{waits(0.41, 9), waits(0.39, 9)}, {waits(0.02, 0), waits(0.41, 9)}, {waits(0.02, 9), {}}} {
		if text := Crowded(pair[0], pair[1]); text != "" {
			t.Errorf("%q", text)
		}
	}
}
