package consultant

import (
	"cmp"
	"slices"

	"culprit/consultant/earlier"
)

// What held, and is over. A node that is false again keeps no evidence of the time before: what was told of it then is kept beside the graph.

// toldEvery is how often the search notes what it would tell, in s.
const toldEvery = 1.0

// reading takes one that was beyond the threshold or not. from and to are s since session start.
func (n *node) reading(from, to float64, beyond bool) {
	if n.run.Add(from, beyond); beyond {
		n.past.To = to
	}
}

// noteTold notes what is told of the nodes that hold. What says of a finding why it holds, or is a part of it, is told with it.
func (s *Search) noteTold(now float64) {
	if now-s.toldAt < toldEvery-1e-9 {
		return
	}
	s.toldAt = now
	for _, n := range s.graph.holding {
		n.past.Told = n.past.Told && n.over()
	}
	list := s.findings()
	for _, f := range list {
		p, above := &f.node.past, func(g finding) bool { return f.node.hyp.IsBelow(g.node.hyp) && f.node.phase == g.node.phase }
		if f.node.over() || f.node.hyp.At != "" && slices.ContainsFunc(list, above) { // a reason for another one, which is about to be told with it
			continue
		}
		object, _ := f.others()
		p.Tell(f.stake, f.why(), object)
	}
}

// keepEarlier keeps what was told of a true node that is about to become false.
func (s *Search) keepEarlier(n *node) {
	if a, ok := s.pastAnswer(n); ok {
		above := []int{}
		n.climb(func(p *node) bool { above = append(above, p.id); return true })
		s.earlier.Add(a, n.sinceAt, above[1:])
	}
}

// pastAnswer is what was told of a node; ok is false if it was no bottleneck, or one of a phase: what is over in that is over in the session.
func (s *Search) pastAnswer(n *node) (a earlier.Answer, ok bool) {
	p := n.past
	if !p.Told || p.Note || n.phase.index > 0 || p.Stake < s.cfg.LeastStake() {
		return a, false
	}
	from, times := s.earlier.Before(n.id)
	if times == 0 {
		from = n.sinceAt
	}
	f := n.finding("", 0)
	f.Estimate, f.Confidence, f.Since, f.Until, f.Times, f.Stake, f.Object = p.Surest, p.Sure, from, p.To, times+1, p.Stake, cmp.Or(p.Object, f.Object)
	return earlier.Answer{Node: n.id, From: from, To: p.To, Times: f.Times, Severity: p.Stake, Why: p.Why, Sentence: f.Sentence()}, true
}

// isFading tells that hardly anything is at stake any longer at a node that is not ruled out yet.
func (s *Search) isFading(f *finding) bool { return f.node.over() && f.stake < s.cfg.LeastStake() }

// Earlier returns what was found and does not hold any longer, what ended last first; at most earlier.Most answers of nodes that are false. What holds
// again is a bottleneck, and not among them.
func (s *Search) Earlier() []earlier.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.earlier.All(func(id int) bool { n := s.graph.nodes[id-1]; return n.state == True || n.state == Pruned }) // what was pruned may hold
	for _, f := range s.findings() {
		if a, ok := s.pastAnswer(f.node); ok && s.isFading(&f) {
			list = append([]earlier.Answer{a}, list...)
		}
	}
	slices.SortStableFunc(list, earlier.Newest)
	return list
}
