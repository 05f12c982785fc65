package consultant

import (
	"fmt"
	"math"

	"culprit/grid"
)

// What is too hot to be timed is judged by stack samples. How many samples a share was taken from is not known, so it
// is trusted like one of sampleCount, and the confidence is bounded.
const (
	sampleCount      = 50
	sampleReadings   = 5   // at least as many readings of the share
	sampleEvery      = 0.2 // s between two readings
	sampleConfidence = 0.9 // at most
)

// A sampleJob is one node whose share of stack samples is to be read.
type sampleJob struct {
	n, base *node
	share   float64 // of the samples at base that are at n
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
	for _, j := range jobs {
		whole := s.cfg.Axis.Weight(j.base.focus, j.n.hyp.kind)
		if whole > 0 {
			j.share, j.known = s.cfg.Axis.Weight(j.n.focus, j.n.hyp.kind)/whole, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range jobs {
		if j.known && !math.IsNaN(j.share) {
			s.judgeShare(j, math.Min(math.Max(j.share, 0), 1), now)
		}
	}
}

// byShare reports whether the node was judged by its share of stack samples, since it is too expensive to measure. A node whose pairs
// themselves come from samples is measured as any other.
func (n *node) byShare() bool { return n.tier == grid.TierSample && len(n.shares) > 0 }

// sampleJobs finds for each node over budget the nearest ancestor of its hypothesis that is measured.
func (s *Search) sampleJobs() []*sampleJob {
	var jobs []*sampleJob
	for _, n := range s.graph.nodes {
		bySample := n.state == OverBudget || n.byShare() && (n.state == True || n.state == False)
		if !bySample || n.phase.over() || !n.hyp.sampled() {
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
	level, seen := n.parents, map[*node]bool{}
	for len(level) > 0 {
		var next []*node
		for _, p := range level {
			if p.hyp == n.hyp && p.state == True && !p.byShare() && p.est.n > 0 {
				return p
			}
			if !seen[p] {
				seen[p] = true
				next = append(next, p.parents...)
			}
		}
		level = next
	}
	return nil
}

// judgeShare takes one reading and concludes when there are enough. A node judged so stays under observation.
func (s *Search) judgeShare(j *sampleJob, share, now float64) {
	n := j.n
	if n.shares = append(n.shares, share); len(n.shares) > 2*sampleReadings {
		n.shares = n.shares[1:]
	}
	mean := 0.0
	for _, v := range n.shares {
		mean += v / float64(len(n.shares))
	}
	value, threshold := j.base.est.value*mean, j.base.est.threshold
	n.est = estimate{n: len(n.shares), value: value, threshold: threshold, margin: n.hyp.margin(value, threshold)}
	n.hist.add(now, value)
	n.bins++
	if len(n.shares) < sampleReadings {
		return
	}
	margin := n.est.margin
	switch n.state {
	case True:
		margin += hysteresis * math.Abs(threshold)
	case False:
		margin -= hysteresis * math.Abs(threshold)
	}
	// Laplace's rule keeps the error of a share of none or all above zero.
	p := (mean*sampleCount + 1) / (sampleCount + 2)
	n.est.err = math.Abs(j.base.est.value)*math.Sqrt(p*(1-p)/sampleCount) + 1e-12
	n.confidence = math.Min(1-studentTail(math.Abs(n.est.margin)/n.est.err, sampleCount-1), sampleConfidence)
	n.tier = grid.TierSample
	if n.first == 0 || n.state == OverBudget {
		n.first = now
	}
	n.run.add(now, n.est.margin > 0)
	s.settle(n, margin > 0, now)
	why := "measuring it would take"
	if n.starved {
		why = "others use the budget and it would take"
	}
	n.reason = fmt.Sprintf("judged from stack samples, since %s %s of the program's time and the budget is %s", why,
		percent(n.cost), percent(s.cfg.Budget))
}
