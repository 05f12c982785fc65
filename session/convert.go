package session

import (
	"math"
	"slices"

	"culprit/consultant"
	"culprit/consultant/history"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/session/report"
)

// maxName bounds names and sentences in reports, in characters.
const maxName = 1000

// clean makes text of a target harmless.
func clean(s string) string { return safetext.CleanMax(s, maxName) }

var missing = report.Missing(math.NaN())

// focusReport is the focus for a report, its names cleaned.
func focusReport(f grid.Focus) report.Focus {
	out := report.Focus{}
	for h, path := range f.Map() {
		out[h] = clean(path)
	}
	return out
}

// nodeReport is a node of the search for a report.
func nodeReport(n consultant.Node) report.Node {
	out := report.Node{
		ID: n.ID, Parents: slices.Clone(n.Parents), Axis: n.Axis, Hypothesis: clean(n.Hypothesis), Focus: focusReport(n.Focus),
		Phase: phaseReport(n.Phase), State: string(n.State), Value: report.Number(n.Value), Threshold: report.Number(n.Threshold),
		Greater: n.Greater, Share: n.Share, Unit: clean(n.Unit), Confidence: report.Number(n.Confidence), Samples: n.Samples,
		Since: report.Number(n.Since), Cost: report.Number(n.Cost), Tier: string(n.Tier), Reason: clean(n.Reason), Refused: clean(n.Refused),
	}
	if n.Samples > 0 {
		out.NoValue = report.NoValue(n.Greater, n.Value, n.Threshold)
	}
	if !math.IsNaN(n.Error) && n.Samples > 0 && out.NoValue == "" {
		e := report.Number(n.Error)
		out.Error = &e
	}
	if mean, off, ok := history.Overall(n.History); ok && out.NoValue == "" {
		out.Mean = &report.Mean{Value: report.Number(mean), Error: report.Number(off)}
	}
	for _, t := range n.Tests {
		out.Tests = append(out.Tests, report.Test{Begin: report.Number(t.Begin), Seconds: report.Number(t.Seconds), Cost: report.Number(t.Cost)})
	}
	return out
}
