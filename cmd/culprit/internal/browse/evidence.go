package browse

import (
	"fmt"
	"math"
	"strings"

	"culprit/consultant"
	"culprit/session/report"
)

// evidence is what Enter shows of a node. All its text is clean.
type evidence struct {
	Title     string
	Facts     []string
	At        []float64 // s, for Values
	Values    []float64
	Threshold float64
	Unit      string
}

func newEvidence(n *consultant.Node, now float64) evidence {
	unit := clean(n.Unit)
	e := evidence{Title: clean(n.Hypothesis) + " at " + clean(n.Focus.String()), Threshold: n.Threshold, Unit: unit}
	for _, h := range n.History {
		if !math.IsNaN(h.Value) && !math.IsInf(h.Value, 0) {
			e.At, e.Values = append(e.At, h.At), append(e.Values, h.Value)
		}
	}
	e.Facts = facts(n, unit, now)
	return e
}

func facts(n *consultant.Node, unit string, now float64) []string {
	list := []string{"State: " + string(n.State) + stateNote(n, now)}
	if n.Samples > 0 {
		rel := "below"
		if n.Greater {
			rel = "above"
		}
		value := report.Quantity(report.Told(n.Value, n.Share), unit)
		if why := report.NoValue(n.Greater, n.Value, n.Threshold); why != "" {
			value = why
		}
		list = append(list, fmt.Sprintf("Value: %s; it holds %s %s", value, rel, report.Quantity(n.Threshold, unit)),
			fmt.Sprintf("Readings: %d; confidence %s", n.Samples, report.Surety(n.Confidence)))
	}
	list = append(list, fmt.Sprintf("Price: %.3f %% of the target's time; measured by %s", 100*n.Cost, orUnknown(string(n.Tier))))
	if n.Phase.Name != "" {
		list = append(list, "Phase: "+clean(n.Phase.Name))
	}
	if n.Reason != "" {
		list = append(list, "Reason: "+clean(n.Reason))
	}
	return list
}

func stateNote(n *consultant.Node, now float64) string {
	var notes []string
	if n.State == consultant.True {
		notes = append(notes, fmt.Sprintf("since %.1f s, for %s", n.Since, seconds(now-n.Since)))
	}
	if n.Pinned {
		notes = append(notes, "pinned")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

func orUnknown(s string) string {
	if s == "" {
		return "nothing yet"
	}
	return s
}
