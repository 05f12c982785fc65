package ask

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"culprit/session/report"
)

// maxListed bounds the answers that are listed of each kind.
const maxListed = 12

// Tell says which answers of a report would be others with the settings: at a focus, or anywhere if f is nil. found is what the answers say
// then, as Answer.Found does.
func (j *Judge) Tell(r *report.Report, f report.Focus) (text string, found Verdict) {
	var b strings.Builder
	fmt.Fprintf(&b, "With %s:\n", j.settingsText())
	all := j.Nodes(r)
	shown := all
	if f != nil {
		shown = slices.DeleteFunc(slices.Clone(all), func(x Rejudged) bool { return !same(x.Node.Focus, f) })
	}
	var lines []string
	for _, x := range shown {
		if x.Changes() {
			lines = append(lines, x.text())
		}
	}
	writeLines(&b, lines)
	b.WriteString(summary(shown, f))
	if n := changed(all) - changed(shown); n > 0 {
		fmt.Fprintf(&b, "  elsewhere %d %s would change\n", n, answers(n))
	}
	if len(all) == 0 && !j.setsStake() {
		fmt.Fprintf(&b, "  no hypothesis of the report reads %s\n", j.names())
	}
	writeNever(&b, shown)
	writeLines(&b, j.findings(r, all))
	return b.String(), foundWith(r, all, f)
}

func (j *Judge) settingsText() string {
	var parts []string
	for _, s := range j.settings {
		parts = append(parts, fmt.Sprintf("%s = %g (else %g)", s.Name, s.Value, j.was[s.Name]))
	}
	return strings.Join(parts, ", ")
}

func (j *Judge) names() string {
	var names []string
	for _, s := range j.settings {
		names = append(names, s.Name)
	}
	return strings.Join(names, " or ")
}

func writeLines(b *strings.Builder, lines []string) {
	for i, l := range lines {
		if i == maxListed {
			fmt.Fprintf(b, "  and %d more\n", len(lines)-i)
			return
		}
		fmt.Fprintf(b, "  %s\n", l)
	}
}

// testOf names what a node tests.
func testOf(n *report.Node) string {
	return n.Hypothesis + inPhase(n) + " at " + placeOf(n.Focus)
}

// text says what becomes of an answer.
func (x *Rejudged) text() string {
	place := testOf(x.Node)
	if x.After == Undecided {
		text := fmt.Sprintf("%s is %s, and would be undecided: %s (%s", place, x.Before, x.Why, x.Node.Quantity())
		if !math.IsNaN(x.Threshold) {
			text += ", new threshold " + report.Quantity(x.Threshold, x.Node.Unit)
		}
		return text + ")"
	}
	return fmt.Sprintf("%s is %s, and would be %s: %s (threshold %s instead of %s)", place, x.Before, x.After, x.Node.Quantity(),
		report.Quantity(x.Threshold, x.Node.Unit), report.Quantity(float64(x.Node.Threshold), x.Node.Unit))
}

func changed(list []Rejudged) (n int) {
	for i := range list {
		if list[i].Changes() {
			n++
		}
	}
	return n
}

// summary counts the answers that would be the same, and those that would not.
func summary(list []Rejudged, f report.Focus) string {
	never := 0
	for _, x := range list {
		if x.Before == Never {
			never++
		}
	}
	n := changed(list)
	if len(list) == 0 && f == nil {
		return ""
	}
	return fmt.Sprintf("  %d %s would change, %d would stay, %d never measured\n", n, answers(n), len(list)-n-never, never)
}

func answers(n int) string {
	if n == 1 {
		return "answer"
	}
	return "answers"
}

// writeNever names what has no value that could be judged: what is below an answer that would be true was not measured.
func writeNever(b *strings.Builder, list []Rejudged) {
	var lines []string
	for _, x := range list {
		if x.Before == Never {
			lines = append(lines, fmt.Sprintf("never measured, so not judged: %s (%s)", testOf(x.Node), x.Node.State))
		}
	}
	writeLines(b, lines)
	if slices.ContainsFunc(list, func(x Rejudged) bool { return x.After == Holds && x.Before != Holds }) {
		b.WriteString("  what is below an answer that would be true was never measured: only a new measurement would tell\n")
	}
}

func (j *Judge) setsStake() bool {
	for _, s := range j.settings {
		if s.Name == report.LeastStake {
			return true
		}
	}
	for _, e := range j.effects {
		if e.stake {
			return true
		}
	}
	return false
}

// findings says what becomes of the bottlenecks and the notes.
func (j *Judge) findings(r *report.Report, all []Rejudged) (lines []string) {
	least, isSet := 0.0, false
	for _, s := range j.settings {
		if s.Name == report.LeastStake {
			least, isSet = s.Value, true
		}
	}
	for i, b := range r.Bottlenecks {
		name := fmt.Sprintf("finding %d (%s at %s)", i+1, r.Node(b.Node).Hypothesis, placeOf(r.Node(b.Node).Focus))
		switch x := lost(b, all); {
		case x != nil && x.After == Undecided:
			lines = append(lines, name+" may be none: see above")
		case x != nil:
			lines = append(lines, fmt.Sprintf("%s would be none: %s would not hold at %s", name, x.Node.Hypothesis, placeOf(x.Node.Focus)))
		case isSet && float64(b.Severity) < least:
			lines = append(lines, fmt.Sprintf("%s would be a note: %s at stake", name, report.Quantity(float64(b.Severity), "fraction")))
		case j.effects[r.Node(b.Node).Hypothesis].stake:
			lines = append(lines, name+": how much is at stake would be another number, which the report does not tell")
		}
	}
	for _, b := range r.Notes {
		if isSet && b.ExplainedBy == 0 && float64(b.Severity) >= least {
			n := r.Node(b.Node)
			lines = append(lines, fmt.Sprintf("the note on %s at %s would be a bottleneck: %s at stake", n.Hypothesis, placeOf(n.Focus), report.Quantity(float64(b.Severity), "fraction")))
		}
	}
	return lines
}

// lost is the answer on the way to a finding that would not hold any longer; nil if all would.
func lost(b report.Bottleneck, all []Rejudged) *Rejudged {
	for i := range all {
		if x := &all[i]; x.Changes() && x.Before == Holds && (slices.Contains(b.Chain, x.Node.ID) || x.Node.ID == b.Node) {
			return x
		}
	}
	return nil
}

// foundWith is what the answers say with the settings.
func foundWith(r *report.Report, all []Rejudged, f report.Focus) Verdict {
	after := map[int]Verdict{}
	for _, x := range all {
		after[x.Node.ID] = x.After
	}
	found := Never
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if len(n.Parents) == 0 || f != nil && !same(n.Focus, f) {
			continue
		}
		v, ok := after[n.ID]
		if !ok {
			v = verdictOf(n)
		}
		if v == Holds || v == RuledOut {
			found = min(found, v)
		}
	}
	return found
}
