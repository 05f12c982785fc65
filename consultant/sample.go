package consultant

import (
	"fmt"
	"math"
	"slices"

	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/consultant/links"
	"culprit/grid"
)

// sampleEvery is the time between two readings of what is judged by stack samples, in s.
const sampleEvery = 0.2

// A sampleJob is one node whose share of stack samples is to be read.
type sampleJob struct {
	n, base *node
	shares  []float64 // of the samples at base that are at n, by kind
	known   bool
}

// judgeSamples reads the stack samples for all nodes that are too expensive to measure. It takes the lock itself.
func (s *Search) judgeSamples(now float64) {
	s.mu.Lock()
	var jobs []*sampleJob
	if now-s.sampledAt >= sampleEvery-1e-9 {
		jobs = s.sampleJobs()
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

// readShare reads the shares of one job. Nothing is known of a ratio where no sample was seen.
func (s *Search) readShare(j *sampleJob) (known bool) {
	kinds := j.n.hyp.Samples.Kinds
	j.shares = make([]float64, len(kinds))
	for i, k := range kinds {
		part, whole := s.cfg.World.Weight(j.n.focus, k), s.cfg.World.Weight(j.base.focus, k)
		if !(part >= 0 && whole > 0) {
			return false
		}
		j.shares[i] = math.Min(part/whole, 1)
	}
	return len(kinds) == 1 || slices.Max(j.shares) > 0
}

// byShare tells whether the node was judged by its share of stack samples, since it is too expensive to measure. A node whose
// pairs themselves come from samples is measured like any other.
func (n *node) byShare() bool { return n.tier == grid.TierSample && len(n.shares) > 0 }

// judgedByShare tells whether readings of its share conclude about the node, now that it is in the state that it is in.
func (n *node) judgedByShare() bool {
	bySample := n.state == OverBudget || n.byShare() && (n.state == True || n.state == False)
	return bySample && !n.phase.over() && n.hyp.Sampled()
}

// sampleJobs finds for each node over budget the nearest ancestor of its hypothesis that is measured.
func (s *Search) sampleJobs() []*sampleJob {
	var jobs []*sampleJob
	for _, n := range s.graph.nodes {
		if !n.judgedByShare() {
			continue
		}
		if base := s.measuredAbove(n); base != nil {
			jobs = append(jobs, &sampleJob{n: n, base: base})
		}
	}
	return jobs
}

// measuredAbove is the nearest ancestor with a measured value of the same hypothesis; nil if there is none.
func (s *Search) measuredAbove(n *node) *node {
	base, _ := links.Nearest(n, func(p *node) bool { return p.hyp == n.hyp && p.state == True && !p.byShare() && p.est.Bins > 0 }, up)
	return base
}

// judgeShare takes one reading and concludes when there are enough. A node judged so stays under observation.
func (s *Search) judgeShare(j *sampleJob, now float64) {
	n := j.n
	if n.shares = append(n.shares, j.shares); len(n.shares) > 2*decide.ShareReadings {
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
	if n.first == 0 || n.state == OverBudget {
		n.first = now
	}
	n.reading(now, now, n.est.Margin > 0)
	if s.settle(n, c.Holds, now); n.reason != "" {
		return // as before
	}
	why := "measuring it would take"
	if n.starved {
		why = "others use the budget and it would take"
	}
	n.reason = fmt.Sprintf("judged from stack samples, since %s %s of the program's time and the budget is %s", why,
		explain.Percent(n.cost), explain.Percent(s.budget.Limit()))
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
