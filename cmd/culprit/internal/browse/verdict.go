package browse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"culprit/consultant"
	"culprit/session"
	"culprit/session/report"
)

// maxVerdicts bounds how many bottlenecks and how many ruled-out hypotheses the screen lists.
const maxVerdicts = 50

// A verdict is what screen 1 shows. All its text is clean.
type verdict struct {
	Lines    []verdictLine
	Now      string   // what happens now; never empty
	RuledOut []string // hypotheses that are false for the whole program
	NotHere  string   // those of them that do not apply to the program, with commas between
	Notes    []string // what is true, but would gain little
	Earlier  []string // what was found and is over
	Idle     []string // where nothing was found and the threads had mostly nothing to do, that they had, and where
	Open     []string // hypotheses that nothing speaks for there, and why they are not ruled out
}

// A verdictLine is one bottleneck.
type verdictLine struct {
	Node     int
	Sentence string
	Severity float64 // 0..1
	Values   []float64
	Age      string
}

func newVerdict(s session.Snapshot) verdict {
	byID := make(map[int]*consultant.Node, len(s.Nodes))
	for i := range s.Nodes {
		byID[s.Nodes[i].ID] = &s.Nodes[i]
	}
	v := verdict{Now: nowText(s)}
	for _, b := range s.Bottlenecks {
		switch {
		case b.Note && len(v.Notes) < maxVerdicts:
			v.Notes = append(v.Notes, clean(b.Sentence)+explained(b, s.Bottlenecks))
			continue
		case b.Note || len(v.Lines) == maxVerdicts:
			continue
		}
		l := newVerdictLine(b, byID[b.Node], s.Elapsed)
		l.Sentence = s.By[b.Node].Told(l.Sentence, s.Targets)
		v.Lines = append(v.Lines, l)
	}
	for _, e := range s.Earlier {
		v.Earlier = append(v.Earlier, clean(e.Sentence))
	}
	if said, places := s.Idle.Told(s.Targets); said != "" && len(v.Lines) == 0 {
		v.Idle = append([]string{said}, places...)
	}
	v.RuledOut, v.NotHere, v.Open = ruledOut(s.Nodes), notHere(s.Nodes), notConcluded(s.Nodes)
	return v
}

// explained names the finding that a note is explained by.
func explained(note consultant.Bottleneck, all []consultant.Bottleneck) string {
	if note.Explained == 0 {
		return ""
	}
	told := slices.DeleteFunc(slices.Clone(all), func(b consultant.Bottleneck) bool { return b.Note })
	return report.ExplainedText(slices.IndexFunc(told, func(b consultant.Bottleneck) bool { return b.Node == note.Explained }))
}

func newVerdictLine(b consultant.Bottleneck, n *consultant.Node, now float64) verdictLine {
	l := verdictLine{Node: b.Node, Sentence: clean(b.Sentence), Severity: min(max(b.Severity, 0), 1)}
	if n == nil {
		return l
	}
	for _, h := range n.History {
		l.Values = append(l.Values, h.Value)
	}
	l.Age = fmt.Sprintf("for %s", seconds(now-n.Since))
	return l
}

// seconds writes a length of time shortly; a negative one as 0.
func seconds(s float64) string {
	switch {
	case !(s > 0):
		return "0 s"
	case s < 100:
		return fmt.Sprintf("%.1f s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
	}
	return fmt.Sprintf("%d h %02d min", int(s/3600), int(s/60)%60)
}

// nowText says what the session is doing, in all its states.
func nowText(s session.Snapshot) string {
	switch {
	case s.Ended:
		return "The target has ended; what was found so far stays. q prints the answer."
	case len(s.Targets) > 0 && !slices.ContainsFunc(s.Targets, func(t report.Target) bool { return t.Frozen == "" }):
		return "The target is frozen by its control group: it does nothing until that is thawed."
	case len(s.Targets) > 0 && !slices.ContainsFunc(s.Targets, func(t report.Target) bool { return !t.Stopped }):
		return "The target is stopped by a signal: it does nothing until it is continued (kill -CONT)."
	case !s.Searching:
		return "The search is off (--no-search); only watched pairs are measured: see screen 3."
	case s.Status != "":
		return clean(s.Status)
	case s.Settled:
		return "Nothing is left to be tested for now; what was found stays under observation."
	}
	return "The search begins."
}

// ruledOut lists the false hypotheses of the whole program with their values, in the order of the search.
func ruledOut(nodes []consultant.Node) []string {
	var list []string
	for i := range nodes {
		n := &nodes[i]
		if n.State != consultant.False || !n.Phase.IsWhole() || n.Focus.String() != "/" || doesNotApply(n) {
			continue
		}
		if len(list) == maxVerdicts {
			return append(list, "and more: see screen 2")
		}
		list = append(list, clean(n.Hypothesis)+" "+valueText(n))
	}
	return list
}

// notHere names the hypotheses that do not apply to the whole program.
func notHere(nodes []consultant.Node) string {
	var list []string
	for i := range nodes {
		if n := &nodes[i]; n.State == consultant.False && n.Phase.IsWhole() && n.Focus.String() == "/" && doesNotApply(n) && len(list) < maxVerdicts {
			list = append(list, clean(n.Hypothesis))
		}
	}
	return strings.Join(list, ", ")
}

func doesNotApply(n *consultant.Node) bool {
	return report.DoesNotApply(n.Greater, n.Value, n.Threshold, n.Samples)
}

// notConcluded lists the hypotheses about the whole program that have values and no answer, with the reason.
func notConcluded(nodes []consultant.Node) []string {
	var list []string
	for i := range nodes {
		n := &nodes[i]
		if n.State == consultant.Testing && n.Phase.IsWhole() && n.Reason != "" && n.Samples > 0 && n.Focus.String() == "/" && len(list) < maxVerdicts {
			list = append(list, clean(n.Hypothesis)+" "+valueText(n)+": "+clean(n.Reason))
		}
	}
	return list
}

// valueText is the value against the threshold, or why there is none.
func valueText(n *consultant.Node) string {
	if n.Samples == 0 {
		return clean(n.Reason)
	}
	if why := report.NoValue(n.Greater, n.Value, n.Threshold); why != "" {
		return why
	}
	op := "<"
	if n.Value >= n.Threshold {
		op = ">"
	}
	return fmt.Sprintf("%s %s %s", report.Quantity(report.Told(n.Value, n.Share), clean(n.Unit)), op, report.Quantity(n.Threshold, clean(n.Unit)))
}

// byImportance orders siblings: what is true first, then what is going on, then the rest; larger values first.
func byImportance(a, b *consultant.Node) int {
	return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(b.Value, a.Value), cmp.Compare(a.ID, b.ID))
}

func rank(s consultant.State) int {
	order := []consultant.State{consultant.True, consultant.Testing, consultant.Queued, consultant.OverBudget, consultant.Refused,
		consultant.Deferred, consultant.False, consultant.Never, consultant.Pruned}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return len(order)
}
