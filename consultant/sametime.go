package consultant

import (
	"cmp"
	"math"
	"slices"

	"culprit/consultant/explain"
	"culprit/consultant/foci"
	"culprit/grid"
)

// Two findings of one hypothesis may be the same time, seen once by its function and once by its lock. How much of two shares of a whole
// is the same is known as far as they do not fit into it side by side.

// sameTime is the part of the smaller of two shares that must also be in the larger one for both to be one finding.
const sameTime = 0.8

// join makes one finding of those that are the same time. That of the code is told, and the others along with it.
func (s *Search) join(all []*finding, dropped map[*finding]bool) {
	order := slices.DeleteFunc(slices.Clone(all), func(f *finding) bool { return dropped[f] || math.IsNaN(f.node.time()) })
	slices.SortStableFunc(order, func(a, b *finding) int { return before(a.node, b.node) })
	for i, a := range order {
		for _, b := range order[i+1:] {
			if dropped[a] || dropped[b] || a.node.group != b.node.group || a.node.over() != b.node.over() || !s.sameTime(a.node, b.node) && !a.node.isMostOf(b.node) {
				continue
			}
			a.take(b)
			if dropped[b] = true; !foci.OnlyCode(b.node.focus) && !b.node.focus.IsWhole() {
				a.parts = append(a.parts, b.node)
			}
			a.parts = append(a.parts, b.parts...)
		}
	}
}

// isMostOf tells whether a node is at a function further down than another one, for the same object and thread, and has most of its value.
func (n *node) isMostOf(caller *node) bool {
	function := foci.CodeOf(caller.focus)
	return !function.IsWhole() && function != caller.focus && function != foci.CodeOf(n.focus) && n.isPast(function) &&
		n.focus.Refine(grid.Code) == caller.focus.Refine(grid.Code) && n.est.Value >= sameTime*caller.est.Value
}

// time is the share of time that a node is about: its value, or what is at stake where that is another quantity; NaN if neither tells.
func (n *node) time() float64 {
	if n.hyp.Fraction && n.hyp.Additive() {
		return n.est.Value
	}
	return n.est.Stake
}

// sameWork makes one finding of those that say in two ways why one hypothesis of the first level holds, if they are the same time at the same code:
// system calls, and that they are small; and of a wait in system calls and what the kernel computes there, which is told with the wait.
func (s *Search) sameWork(list []finding) (told []finding) {
	for _, b := range list {
		waits := false
		into := slices.IndexFunc(told, func(a finding) bool {
			waits = computesFor(&a, &b)
			return waits || computesFor(&b, &a) || s.isSameWork(a.node, b.node)
		})
		if into < 0 {
			told = append(told, b)
			continue
		}
		a := &told[into]
		if waits {
			*a, b = b, *a
		}
		a.take(&b)
		a.giveReason(b.naming())
	}
	return told
}

// computesFor tells whether a finding says that the kernel computes in the system calls in which, as another one says, code waits for input and output.
func computesFor(work, wait *finding) bool {
	a, b := work.node, wait.node
	return a.hyp.Samples.About == "cpu" && !a.hyp.IsFirst() && b.hyp.Samples.About == "io" && a.hyp.First() != b.hyp.First() && a.phase == b.phase && a.over() == b.over() &&
		foci.CodeOf(a.focus) == foci.CodeOf(b.focus) && !foci.CodeOf(a.focus).IsWhole() && min(work.stake, wait.stake) >= explains*max(work.stake, wait.stake)
}

func (s *Search) isSameWork(a, b *node) bool {
	first := a.hyp.First()
	if a.hyp == b.hyp || a.hyp == first || b.hyp == first || b.hyp.First() != first || a.phase != b.phase || a.over() != b.over() {
		return false
	}
	whole := s.graph.index[nodeKey{hyp: first, focus: grid.Whole(), phase: a.phase}]
	return (foci.CodeOf(a.focus) == foci.CodeOf(b.focus) || foci.CodeOf(a.focus).IsWhole() || foci.CodeOf(b.focus).IsWhole()) && whole != nil && a.est.Stake+b.est.Stake-whole.est.Stake >= sameTime*min(a.est.Stake, b.est.Stake)
}

// naming is the node of a finding, or of its parts, that names the object.
func (f *finding) naming() *node {
	if i := slices.IndexFunc(f.parts, func(p *node) bool { return p.objectText() != "" }); i >= 0 && f.node.objectText() == "" {
		return f.parts[i]
	}
	return f.node
}

// manyObjects is how many objects of one place are told as one finding.
const manyObjects = 3

// gather makes one finding of those at one place that differ in their objects alone, if the place holds by itself, and if they are many or have not
// most of its time: four files of which each has a quarter are one place, also while only some of them are known to hold.
func (s *Search) gather(deepest []*node) (rest []*node, gathered []*finding) {
	byPlace := map[*node][]*node{}
	for _, n := range deepest {
		if p := s.placeOf(n); p != nil {
			byPlace[p] = append(byPlace[p], n)
		}
	}
	for _, n := range deepest {
		p := s.placeOf(n)
		switch objects := byPlace[p]; {
		case p == nil || len(objects) < manyObjects && (p.focus.IsWhole() || valuesOf(objects) >= sameTime*p.est.Value):
			rest = append(rest, n)
		case n == objects[0]:
			parts := slices.Clone(objects)
			slices.SortStableFunc(parts, func(a, b *node) int { return cmp.Compare(b.est.Value, a.est.Value) })
			gathered = append(gathered, &finding{node: p, parts: parts})
		}
	}
	return rest, gathered
}

func valuesOf(nodes []*node) (sum float64) {
	for _, n := range nodes {
		sum += n.est.Value
	}
	return sum
}

// placeOf is the true node without the object of a node; nil if the node chooses no object, or there is none such. The thread in which a
// function has all of its waits for an object is a part of the object.
func (s *Search) placeOf(n *node) *node {
	if !n.hyp.Fraction || !n.hyp.Additive() || n.focus.Depth(grid.SyncObject)+n.focus.Depth(grid.IO) == 0 {
		return nil
	}
	focus := n.focus
	if m := s.trueAt(n, focus.Refine(grid.Process)); m != nil && focus.Depth(grid.Code) > 0 && n.est.Value >= wholeShare*m.est.Value {
		focus = m.focus
	}
	return s.trueAt(n, focus.Refine(grid.SyncObject).Refine(grid.IO))
}

// trueAt is the true node of the hypothesis and phase of another node at a focus; nil if there is none.
func (s *Search) trueAt(n *node, focus grid.Focus) *node {
	p := s.graph.index[nodeKey{hyp: n.hyp, focus: focus, phase: n.phase}]
	if p == nil || p.state != True {
		return nil
	}
	return p
}

// mostOfIt is the part of the waits for one object from which on one function is told alone.
const mostOfIt = 0.7

// inSeveral makes one finding of those of one object in several functions, if the object holds by itself: two threads that pass something on to
// each other wait for one condition variable, each in a function of its own.
func (s *Search) inSeveral(all []*finding, dropped map[*finding]bool) (told []*finding) {
	for _, o := range s.graph.holding {
		if !o.hyp.Fraction || !o.hyp.Additive() || explain.ObjectName(o.focus) == "" || o.focus.Depth(grid.Code)+o.focus.Depth(grid.Process) > 0 {
			continue
		}
		one, sum := &finding{node: o}, 0.0
		var parts []*finding
		for _, f := range all {
			object := f.node.focus.Refine(grid.Code).Refine(grid.Process)
			its := object == o.focus || object.IsWhole() && s.sameTime(f.node, o)
			if its && !dropped[f] && f.node.group == o.group && f.node.focus.Depth(grid.Code) > 0 && f.node.est.Value < mostOfIt*o.est.Value {
				parts, sum = append(parts, f), sum+f.node.est.Value
			}
		}
		if len(parts) < 2 || sum < sameTime*o.est.Value {
			continue
		}
		for _, f := range all {
			dropped[f] = dropped[f] || f.node == o || slices.Contains(parts, f)
		}
		for _, f := range parts {
			one.take(f)
			one.parts = append(one.parts, f.node)
		}
		told = append(told, one)
	}
	return told
}

// take has the reasons of another finding told with this one.
func (f *finding) take(other *finding) {
	f.reasons = append(f.reasons, slices.DeleteFunc(other.reasons, func(n *node) bool { return slices.Contains(f.reasons, n) })...)
	f.because = cmp.Or(f.because, other.because)
}

// before orders nodes by how well they tell what they have in common: code before objects before threads; of code the callee, which has no
// more time than its caller, and is further down.
func before(a, b *node) int {
	if d := foci.Rank(a.focus) - foci.Rank(b.focus); d != 0 {
		return d
	}
	if foci.Rank(a.focus) != 0 {
		return 0
	}
	return cmp.Or(a.leavesOff()-b.leavesOff(), len(b.chain())-len(a.chain()))
}

// leavesOff is 1 for a node at a function of which it is not known that it does the work itself: it calls another one back that it was called from, or
// another that has most of its samples and was not ruled out.
func (n *node) leavesOff() int {
	m := n.graph.index[nodeKey{hyp: n.hyp, focus: foci.CodeOf(n.focus), phase: n.phase}]
	has := func(k *node) bool { return k.state != False && k.Weight > 0 && k.Weight >= sameTime*m.Weight }
	if m != nil && (slices.ContainsFunc(m.back, has) || slices.ContainsFunc(m.kids[step{h: grid.Code}], has)) {
		return 1
	}
	return 0
}

// sameMoment is by how much the values of two nodes may lie apart for them to be compared, in s: what was measured at different times has nothing in common.
const sameMoment = 6.0

// sameTime tells whether most of the smaller of the values of two nodes is also in the larger one.
func (s *Search) sameTime(a, b *node) bool {
	whole := s.graph.index[nodeKey{hyp: a.hyp, focus: grid.Whole(), phase: a.phase}]
	to := min(a.hist.Last(), b.hist.Last())
	if whole == nil || whole.state != True {
		return false
	}
	if whole == a || whole == b {
		return max(a.hist.Last(), b.hist.Last())-to <= sameMoment && min(a.time(), b.time()) >= sameTime*whole.time()
	}
	if !a.hyp.Fraction {
		return max(a.hist.Last(), b.hist.Last())-to <= sameMoment && a.time()+b.time()-whole.time() >= sameTime*min(a.time(), b.time())
	}
	all, va, vb := whole.around(to), a.around(to), b.around(to)
	return va > 0 && vb > 0 && va+vb-cmp.Or(all, whole.est.Value) >= sameTime*min(va, vb)
}

// around is what the value of a node was at a time, in s; 0 if it was not measured then.
func (n *node) around(at float64) float64 {
	if n.hist.Last()-at <= sameMoment && !n.focus.IsWhole() {
		return n.est.Value
	}
	mean, _ := n.hist.Mean(at-sameMoment, at+sameMoment)
	return mean
}

// objectFocus is the focus that chooses the lock or file of a finding: its own, or that of the part that has all of its time; else its own.
func (f *finding) objectFocus() grid.Focus {
	if explain.ObjectName(f.node.focus) != "" {
		return f.node.focus
	}
	for _, p := range f.parts {
		if explain.ObjectName(p.focus) != "" && p.time() >= sameTime*f.node.time() {
			return p.focus
		}
	}
	return f.node.focus
}

// others says which objects and threads the time of a finding is about; the object that has all of it is named in the sentence itself.
func (f *finding) others() (object, rest string) {
	var parts []explain.Part
	for _, p := range f.parts {
		part := explain.Part{Object: p.objectText(), Thread: explain.Process(p.focus), All: p.time() >= sameTime*f.node.time()}
		if part.Object == "" && part.Thread != "" && part.Thread == explain.Process(f.node.focus) {
			continue // it is named with the place
		}
		if p.choosesCode() && !f.node.choosesCode() {
			part.Code = p.codeText()
		}
		if p.hyp.Fraction { // how many bytes says nothing of how much of it that is
			part.Value = p.evidence().Value(p.est.Value)
		}
		parts = append(parts, part)
	}
	return explain.Others(f.node.objectText(), parts)
}
