package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"culprit/pcl"
	"culprit/session/report"
)

// A Verdict is what a report says of a hypothesis at a focus.
type Verdict int

// The verdicts. Never is that of what has no value at all: it is not false.
const (
	Holds Verdict = iota
	RuledOut
	Undecided
	Never
)

// String is the verdict as it is printed.
func (v Verdict) String() string {
	return [...]string{"true", "false", "undecided", "never measured"}[v]
}

// An Opinion is what a report knows of a hypothesis at a focus.
type Opinion struct {
	Hypothesis string
	Verdict    Verdict
	Why        string // the evidence, or why there is none
	Chain      string // how the search came there, "" if that says nothing
}

// An Answer is what a report knows of a focus.
type Answer struct {
	Focus    report.Focus
	Opinions []Opinion      // of all hypotheses that are known, parents before their children
	Watched  []string       // lines about what was measured at the focus besides
	Nearest  []report.Focus // where no hypothesis was tested at the focus: those that may be meant
}

const root = report.Root

// verdictOf is what a node says.
func verdictOf(n *report.Node) Verdict {
	switch {
	case n.Samples == 0 && len(n.Tests) > 0 && (n.State == "testing" || n.State == "queued" || n.State == "deferred"):
		return Undecided // it is tested again
	case n.Samples == 0:
		return Never
	case n.State == "true":
		return Holds
	case n.State == "false":
		return RuledOut
	}
	return Undecided
}

// At is what a report says of all hypotheses at a focus: those of the library, and others that were tested. It answers from the report only. A
// function may be named without its parameters.
func At(r *report.Report, lib *pcl.Library, f report.Focus) Answer {
	f = meant(r, f)
	a := Answer{Focus: f}
	tested := false
	for _, name := range hypotheses(r, lib) {
		found := false
		for i := range r.Nodes {
			n := &r.Nodes[i]
			if n.Hypothesis == name && same(n.Focus, f) {
				a.Opinions = append(a.Opinions, opinionOf(r, n))
				found = true
			}
		}
		tested = tested || found
		if !found {
			a.Opinions = append(a.Opinions, Opinion{Hypothesis: name, Verdict: Never, Why: whyNever(r, lib, name, f)})
		}
	}
	if !tested {
		a.Nearest = nearest(r, f)
	}
	for i := range r.Pairs {
		if p := &r.Pairs[i]; same(p.Focus, f) {
			a.Watched = append(a.Watched, p.Lines()...)
		}
	}
	return a
}

// hypotheses are the names of those in the library, in its order, and of others in the report.
func hypotheses(r *report.Report, lib *pcl.Library) (names []string) {
	for _, h := range lib.Hypotheses() {
		names = append(names, h.Name)
	}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Hypothesis != root && !slices.Contains(names, n.Hypothesis) {
			names = append(names, n.Hypothesis)
		}
	}
	return names
}

func opinionOf(r *report.Report, n *report.Node) Opinion {
	o := Opinion{Hypothesis: n.Hypothesis, Verdict: verdictOf(n), Why: n.Evidence()}
	switch o.Verdict {
	case Holds:
		o.Why += fmt.Sprintf(", since %.1f s", float64(n.Since))
		o.Chain = r.Chain(chainTo(r, n))
	case Undecided:
		if n.Samples == 0 {
			o.Why = fmt.Sprintf("%s: %s", n.State, cmp.Or(n.Reason, "no value came before the end"))
			break
		}
		so := n.Quantity()
		if why := report.NoValue(n.Greater, float64(n.Value), float64(n.Threshold)); why != "" {
			so = why
		}
		o.Why = fmt.Sprintf("%s so far, %s: %s", so, n.State, cmp.Or(n.Reason, "that is not sure enough"))
	case Never:
		o.Why = fmt.Sprintf("%s: %s", n.State, cmp.Or(n.Reason, "no value came before the end"))
	}
	o.Hypothesis += inPhase(n)
	return o
}

// inPhase says to which phase a node belongs, behind its hypothesis; "" for the whole session.
func inPhase(n *report.Node) string {
	if n.Phase.Name == "global" || n.Phase.Name == "" {
		return ""
	}
	return " (phase " + n.Phase.Name + ")"
}

// chainTo is the way from the root to a node, over parents that hold where there are some.
func chainTo(r *report.Report, n *report.Node) (ids []int) {
	for range r.Nodes { // a damaged report may have a circle
		ids = append(ids, n.ID)
		if len(n.Parents) == 0 {
			break
		}
		next := r.NodeOf(n.Parents[0])
		for _, id := range n.Parents {
			if p := r.NodeOf(id); p != nil && p.State == "true" {
				next = p
				break
			}
		}
		if next == nil {
			break
		}
		n = next
	}
	slices.Reverse(ids)
	return ids
}

// whyNever says why a hypothesis has no node at a focus: what is known of it where the focus belongs, or of its parent.
func whyNever(r *report.Report, lib *pcl.Library, name string, f report.Focus) string {
	near := nearestOf(r, name, f)
	if near == nil {
		p := parentOf(lib, name)
		above := nearestOf(r, p, f)
		switch {
		case p == "":
			return "the search did not come here"
		case above == nil:
			return "its parent is " + p + "; the search did not come from there"
		case verdictOf(above) == Holds:
			return fmt.Sprintf("its parent %s holds at %s; it was not tested there", p, placeOf(above.Focus))
		case verdictOf(above) == RuledOut:
			return fmt.Sprintf("its parent %s was ruled out at %s: %s", p, placeOf(above.Focus), above.Evidence())
		}
		return fmt.Sprintf("its parent %s was not decided at %s: %s", p, placeOf(above.Focus), above.Evidence())
	}
	at := placeOf(near.Focus)
	switch verdictOf(near) {
	case Holds:
		return fmt.Sprintf("it holds at %s (%s); the search did not go from there to here", at, near.Quantity())
	case RuledOut:
		return fmt.Sprintf("it was ruled out at %s, which this belongs to: %s", at, near.Evidence())
	}
	return fmt.Sprintf("it was not decided at %s, which this belongs to: %s", at, near.Evidence())
}

// nearestOf is the node of a hypothesis at the narrowest focus that has another one as a part; nil if there is none.
func nearestOf(r *report.Report, name string, f report.Focus) (near *report.Node) {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Hypothesis == name && n.Focus.Covers(f) && (near == nil || depth(n.Focus) > depth(near.Focus)) {
			near = n
		}
	}
	return near
}

func parentOf(lib *pcl.Library, name string) string {
	for _, h := range lib.Hypotheses() {
		if h.Name == name && h.Parent != root {
			return h.Parent
		}
	}
	return ""
}

// placeOf is a focus in a sentence.
func placeOf(f report.Focus) string {
	if len(f) == 0 {
		return "the whole program"
	}
	return f.String()
}

// Found is what the answer says as a whole: Holds if a hypothesis holds at the focus, RuledOut if none does and some were ruled out,
// Never if nothing was concluded there.
func (a *Answer) Found() Verdict {
	worst := Never
	for _, o := range a.Opinions {
		if o.Verdict == Holds || o.Verdict == RuledOut {
			worst = min(worst, o.Verdict)
		}
	}
	return worst
}

// Text is the answer for people. whyNot puts what does not hold first.
func (a *Answer) Text(whyNot bool) string {
	var b strings.Builder
	if len(a.Watched) > 0 {
		fmt.Fprintf(&b, "Measured at %s:\n%s\n", placeOf(a.Focus), strings.Join(a.Watched, "\n"))
	}
	if len(a.Nearest) > 0 {
		unknown := ", whether there is such a place or not"
		if len(a.Watched) > 0 {
			unknown = ""
		}
		fmt.Fprintf(&b, "No hypothesis was tested at %s%s. The nearest places where one was:\n", placeOf(a.Focus), unknown)
		for _, f := range a.Nearest {
			fmt.Fprintf(&b, "  %s\n", placeOf(f))
		}
		return b.String()
	}
	fmt.Fprintf(&b, "%s:\n", placeOf(a.Focus))
	order := []Verdict{Holds, RuledOut, Undecided, Never}
	if whyNot {
		order = []Verdict{RuledOut, Undecided, Never, Holds}
	}
	for _, v := range order {
		for _, o := range a.Opinions {
			if o.Verdict != v {
				continue
			}
			fmt.Fprintf(&b, "  %-14s  %s: %s\n", o.Verdict, o.Hypothesis, o.Why)
			if o.Chain != "" {
				fmt.Fprintf(&b, "  %-14s  found by: %s\n", "", o.Chain)
			}
		}
	}
	return b.String()
}
