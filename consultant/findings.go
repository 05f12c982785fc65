package consultant

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"culprit/consultant/explain"
	"culprit/grid"
)

// One thing is told once. A hypothesis that says why another one holds (page faults, many small operations) is about the same time as that one:
// of the two the one is told that says more.

// A finding is a true node that is told, and what is told along with it.
type finding struct {
	node    *node
	stake   float64
	reasons []*node // of the whole program: why it holds there
	because *node   // of them, the one that says most of why and that no other place shares; nil if there is none
	parts   []*node // other coordinates of the same time: objects and threads
	own     float64 // of the value, what nothing that the function calls has; 0 if all of it is told
}

// explains is the part of what is at stake at a node that a reason must have for both to be one finding.
const explains = 0.5

// findings are the deepest true nodes without those that others tell, where most is to be gained first, as far as that is sure.
func (s *Search) findings() []finding {
	deepest := s.deepest()
	rest, all := s.gather(deepest)
	for _, n := range rest {
		all = append(all, &finding{node: n})
	}
	for _, f := range all {
		f.stake = f.node.stake(deepest)
	}
	dropped := map[*finding]bool{}
	for _, reason := range []bool{true, false} { // first those that only give reasons: what drops a finding takes them over
		for _, c := range all {
			if !math.IsNaN(c.node.est.Stake) && (c.node.hyp.At != "") == reason { // NaN: it is a guess
				c.merge(all, dropped)
			}
		}
	}
	for _, f := range s.inSeveral(all, dropped) {
		f.stake = f.node.stake(deepest)
		all = append(all, f)
	}
	s.join(all, dropped)
	all = append(all, s.ownParts(all, dropped)...)
	var list []finding
	for _, f := range all {
		if !dropped[f] {
			list = append(list, *f)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return rank(list[i].node, list[i].stake) > rank(list[j].node, list[j].stake) })
	return s.sameWork(list)
}

// rank orders findings: the largest is told first.
func rank(n *node, stake float64) float64 {
	r := stake * min(n.confidence, 0.75) // more of it says how long was measured, and not how true it is
	if n.over() {
		r-- // behind all that still hold
	}
	return r
}

// over tells that a node holds although its value was not beyond the threshold lately.
func (n *node) over() bool { return n.state == True && n.est.Margin < 0 }

// merge drops what c says better. What c says of the whole program, or of a wider place, is told along with the places that have the time.
func (c *finding) merge(all []*finding, dropped map[*finding]bool) {
	places, told := []*finding(nil), 0.0
	for _, f := range all {
		if f == c || !c.node.hyp.IsBelow(f.node.hyp) || f.node.phase != c.node.phase {
			continue
		}
		switch {
		case c.node.focus.IsWhole() && !f.node.focus.IsWhole(), c.node.hyp.At != "" && c.node.focus == f.node.focus,
			c.node.hyp.At != "" && f.stake >= explains*c.stake && (f.node.isPast(c.node.focus) || c.node.focus.Covers(f.node.focus)):
			places, told = append(places, f), told+f.stake
		case f.node.leadsBy(c.node) && c.stake >= explains*f.stake:
			dropped[f] = true
			for _, r := range f.reasons {
				if r.hyp.At != "" && r != c.node {
					c.giveReason(r)
					c.because = cmp.Or(c.because, r)
				}
			}
		}
	}
	if told < explains*c.stake {
		return
	}
	for _, f := range places {
		dropped[c] = true
		f.giveReason(c.node)
		if (len(places) == 1 || c.node.hyp.At != "") && (f.because == nil || c.node.hyp.IsBelow(f.because.hyp)) {
			f.because = c.node
		}
	}
}

// giveReason has a reason told with a finding: of one hypothesis once, as it is at the finding's own place if it was tested there.
func (f *finding) giveReason(n *node) {
	if i := slices.IndexFunc(f.reasons, func(r *node) bool { return r.hyp == n.hyp }); i < 0 {
		f.reasons = append(f.reasons, n)
	} else if n.focus == f.node.focus {
		f.reasons[i] = n
	}
}

// leadsBy tells whether the place of a node, or one on the way to it, is that of another node, or has it as a part.
func (n *node) leadsBy(c *node) bool {
	return n.focus.Covers(c.focus) || n.isPast(c.focus)
}

// isPast tells whether a place is on the way to a node.
func (n *node) isPast(place grid.Focus) bool {
	return n.isBelow(func(p *node) bool { return p.hyp == n.hyp && p.focus == place })
}

// stake is the share of the program's active time that would be gained at most if what the node found were mended: it makes nodes
// comparable. Where the hypothesis does not tell, that of a share of time is the share. Another quantity (bytes for each operation) has
// what is left of the share of time of the nearest node above it when the deepest nodes that do not lead to it have taken theirs.
func (n *node) stake(deepest []*node) float64 {
	if !math.IsNaN(n.est.Stake) {
		return n.est.Stake
	}
	if n.hyp.Fraction {
		return n.est.Value
	}
	var of *node
	n.climb(func(p *node) bool {
		if !p.hyp.Fraction || p.state != True {
			return true
		}
		if of == nil || p.est.Value > of.est.Value {
			of = p
		}
		return false
	})
	if of == nil {
		return 0
	}
	rest := of.est.Value
	for _, d := range deepest {
		leads := func(p *node) bool { return p.focus == d.focus }
		if d != of && d.hyp == of.hyp && d.isBelow(func(p *node) bool { return p == of }) && !n.isBelow(leads) {
			rest -= d.est.Value
		}
	}
	return max(rest, 0)
}

// why is the hypothesis that says most of why the finding holds.
func (f *finding) why() string {
	if f.because != nil {
		return f.because.hyp.Name
	}
	return f.node.hyp.Name
}

// sentence is what is told. file and line are where the function is defined; stale is when it was measured last, 0 if that is not long ago.
func (f *finding) sentence(file string, line int, stale float64) string {
	found := f.node.finding(file, line)
	found.Stake, found.Stale = f.stake, stale
	found.OwnOf(f.own)
	object, rest := f.others()
	if object != "" {
		found.Object = object
	}
	if rest != "" {
		found.Reasons = append(found.Reasons, rest)
	}
	for _, c := range f.reasons {
		if !slices.ContainsFunc(f.reasons, func(d *node) bool { return d.hyp.IsBelow(c.hyp) }) {
			found.Reasons = append(found.Reasons, c.finding("", 0).Reason(c.hyp.At != ""))
		}
	}
	return found.Sentence()
}

// finding is what the sentence of the node is written from. file and line are where its function is defined.
func (n *node) finding(file string, line int) explain.Finding {
	f := explain.Finding{
		Evidence: n.evidence(), Hypothesis: n.hyp.Name, Label: n.hyp.Label, Units: n.hyp.Units, Kind: n.hyp.Samples.About, Focus: n.focus,
		Code: n.codeText(), OfCode: n.choosesCode(), Object: n.objectText(), Within: n.withinItem(), File: file, Line: line, Since: n.sinceAt,
	}
	if n.phase.index > 0 {
		f.Phase = n.phase.Name
	}
	return f
}

// evidence is what the answer of the node rests on.
func (n *node) evidence() explain.Evidence {
	return explain.Evidence{
		Estimate: n.est, Bins: n.bins, Confidence: n.confidence, Fraction: n.hyp.Fraction,
		Samples: n.measuredBy() == grid.TierSample, Shares: n.byShare(), Holds: n.state == True,
	}
}
