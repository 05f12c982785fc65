package consultant

import (
	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/consultant/links"
	"culprit/consultant/samples"
	"culprit/grid"
)

const (
	sampleEvery = 0.2 // s between two readings of what is judged by stack samples
	answerEvery = 3   // readings of which one is taken of what was concluded already
)

// A sampleJob is one node whose share of stack samples is to be read.
type sampleJob struct {
	n, base *node
	bases   []*node   // that base may be, the nearest first
	shares  []float64 // of the samples at base that are at n, by kind
	known   bool
}

// judgeSamples reads the stack samples for all nodes that are too expensive to measure. It takes the lock itself.
func (s *Search) judgeSamples(now float64) {
	s.mu.Lock()
	var jobs []*sampleJob
	if now-s.sampledAt >= sampleEvery-1e-9 {
		s.samplings++
		jobs = s.sampleJobs(s.samplings%answerEvery == 0)
		s.sampledAt = now
	}
	s.mu.Unlock()
	s.readShares(jobs)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range jobs {
		if j.known && j.n.judgedByShare() { // the user may have pruned it meanwhile
			s.judgeShare(j, now)
		}
	}
}

// readShares asks for the share of the stack samples that each node has of its base. The lock is not held.
func (s *Search) readShares(jobs []*sampleJob) {
	for _, j := range jobs {
		j.known = s.readShare(j)
	}
}

// readShare reads the shares of one job. What has more samples than a caller has other callers, too: its base is further up.
func (s *Search) readShare(j *sampleJob) (known bool) {
	within := false
	for i := 0; i < len(j.bases) && !within; i++ {
		j.base = j.bases[i]
		j.shares, known, within = samples.Shares(j.n.hyp.Samples.Kinds, func(kind string) (part, whole float64) {
			return s.cfg.World.Weight(j.n.focus, kind), s.cfg.World.Weight(j.base.focus, kind)
		})
	}
	return known
}

// byShare tells whether the node was judged by its share of stack samples, since it is too expensive to measure. A node whose
// pairs themselves come from samples is measured like any other.
func (n *node) byShare() bool { return n.tier == grid.TierSample && len(n.shares) > 0 }

// judgedByShare tells whether readings of its share conclude about the node, now that it is in the state that it is in.
func (n *node) judgedByShare() bool {
	bySample := n.isSampled() || n.byShare() && (n.state == True || n.state == False)
	return bySample && !n.phase.over() && n.hyp.Sampled()
}

// isSampled tells that only stack samples can say something of a node: measuring it costs too much, or is not possible.
func (n *node) isSampled() bool {
	return n.state == OverBudget || n.state == Refused
}

// sampleJobs finds for each node over budget the nearest ancestor of its hypothesis that is measured. answers says whether those are read too that were
// concluded.
func (s *Search) sampleJobs(answers bool) []*sampleJob {
	var jobs []*sampleJob
	for _, n := range s.graph.nodes {
		if !answers && !n.isSampled() || !n.judgedByShare() {
			continue
		}
		if bases := s.measuredAbove(n); bases != nil {
			jobs = append(jobs, &sampleJob{n: n, bases: bases})
		}
	}
	return jobs
}

// measuredAbove are the ancestors with a measured value of the same hypothesis, the nearest first.
func (s *Search) measuredAbove(n *node) []*node {
	return links.Nearest(n, func(p *node) bool { return p.hyp == n.hyp && p.state == True && !p.byShare() && p.est.Bins > 0 }, up)
}

// judgeShare takes one reading and concludes when there are enough. A node judged so stays under observation.
func (s *Search) judgeShare(j *sampleJob, now float64) {
	n := j.n
	if n.shares = append(n.shares, j.shares); len(n.shares) > decide.MostShares {
		n.shares = n.shares[1:]
	}
	n.est = decide.FromShares(n.hyp.Test, j.base.est, n.hyp.Samples.Follows, n.shares)
	n.hist.Add(now, n.est.Value)
	n.tests.Read(now-sampleEvery, now, 0)
	n.bins++
	c := n.est.ConcludeShares(n.answered())
	if !c.Settled {
		return
	}
	n.confidence, n.tier = c.Confidence, grid.TierSample
	if n.first == 0 || n.isSampled() {
		n.first = now
	}
	n.reading(now, now, n.est.Margin > 0)
	if s.settle(n, c.Holds, now); n.reason != "" {
		return // as before
	}
	n.reason = explain.Sampled(n.refused, n.starved, n.cost, s.budget.Limit())
}

// answered is what was concluded at the node, if anything was.
func (n *node) answered() decide.Answer {
	switch n.state {
	case True:
		return decide.Yes
	case False:
		return decide.No
	}
	return decide.None
}
