package consultant

import (
	"math"

	"culprit/consultant/refine"
	"culprit/grid"
)

// False nodes that stack samples speak for, and true ones that are not watched and that they speak against.

const (
	suspectEvery = 2.0 // s between two comparisons of false nodes with the stack samples
	maxSuspects  = 256 // nodes compared at once
	suspectMore  = 1.2 // times the threshold: what the samples must promise
)

// suspect compares with the stack samples the false and needless children of true nodes whose true children leave enough of their value, where a part has a part
// of the value. Where these now promise a true node the test is repeated, at growing intervals. A child that waits for CPU time waits no longer then.
// It takes the lock itself.
func (s *Search) suspect(now float64) {
	s.mu.Lock()
	var jobs []*sampleJob
	if now-s.suspectedAt >= suspectEvery {
		s.suspectedAt = now
		jobs = s.suspicions(now)
	}
	s.mu.Unlock()
	s.readShares(jobs)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range jobs {
		if j.known && j.n.state == Queued && j.base.est.Value*j.shares[0] >= refine.HotShare*j.base.est.Threshold {
			j.n.Hot, j.n.Cool = true, false
		}
		if j.known && j.n.suspended && j.n.state == True && suspectMore*j.base.est.Value*j.shares[0] < j.n.est.Threshold {
			j.n.retests++
			j.n.doubt()
		}
		if j.known && j.base.est.Value*j.shares[0] > suspectMore*j.base.est.Threshold {
			s.askAgain(j.n)
		}
	}
}

func (s *Search) suspicions(now float64) []*sampleJob {
	var jobs []*sampleJob
	for _, n := range s.graph.holding {
		if !n.hyp.Sampled() || !n.hyp.Additive() || n.phase.over() {
			continue
		}
		if bases := s.measuredAbove(n); n.suspended && bases != nil && now-n.started > n.retestAfter(retestPause) && len(jobs) < maxSuspects {
			jobs = append(jobs, &sampleJob{n: n, bases: bases})
		}
		have := n.explainedBy()
		for _, k := range n.children {
			if k.hyp == n.hyp && s.postponed(k) != "" && len(jobs) < maxSuspects {
				jobs = append(jobs, &sampleJob{n: k, bases: []*node{n}})
			}
			if k.hyp == n.hyp && n.est.Value-have[k.via] > suspectMore*n.est.Threshold && k.mayHaveBegun(now) && len(jobs) < maxSuspects {
				jobs = append(jobs, &sampleJob{n: k, bases: []*node{n}})
			}
		}
	}
	return jobs
}

// mayHaveBegun tells that what a node says is old enough to be compared with the stack samples: that it is false, or that its test was needless.
func (n *node) mayHaveBegun(now float64) bool {
	return n.state == False && !n.watched && now-n.decidedAt > n.retestAfter(2*retestPause) || n.state == Never && n.needless
}

// askAgain has a node tested that is false, or whose test was needless.
func (s *Search) askAgain(n *node) {
	if n.state == False {
		n.retests++
		s.requeue(n, "tested again: stack samples show more than was measured")
		return
	}
	n.Left = false
	s.revive(n)
}

// explainedBy is what of the value of a node its true children along each hierarchy have: a part that has begun since may have the rest.
func (n *node) explainedBy() map[grid.Hierarchy]float64 {
	have := map[grid.Hierarchy]float64{}
	for _, k := range n.children {
		if k.hyp == n.hyp && k.state == True {
			have[k.via] += k.est.Value
		}
	}
	return have
}

// retestAfter is how long an answer stands at least before samples have it tested again, in s: it doubles each time.
func (n *node) retestAfter(first float64) float64 {
	return first * math.Exp2(float64(min(n.retests, 10)))
}
