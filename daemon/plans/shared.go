package plans

import (
	"sync"
	"sync/atomic"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/trampoline/planner"
)

// Processes that were forked from one another have the same code at the same addresses. How the points of a function are reached is planned
// once for all of them: to decode it again for each of the servers of a database is most of what a new probe in all of them takes.

// A placed file is a file and where it is loaded.
type placed struct {
	img  *image.Object
	bias uint64
}

// A Shared is the plans that targets share. The zero value has none. Safe for use by several goroutines.
type Shared struct {
	mu     sync.Mutex
	placed map[placed]*placedPlans
}

// placedPlans are the first plans of the functions of a placed file, as long as any target maps it there. Safe for use by several goroutines.
type placedPlans struct {
	objects atomic.Int32 // of targets; for a single one nothing is kept

	mu   sync.Mutex
	made map[*image.Function]*planner.Plan
}

// join adds an object to those with the same code.
func (s *Shared) join(o *program.Object) *placedPlans {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := placed{o.Object, o.Bias}
	p := s.placed[at]
	if p == nil {
		p = &placedPlans{}
		if s.placed == nil {
			s.placed = map[placed]*placedPlans{}
		}
		s.placed[at] = p
	}
	p.objects.Add(1)
	return p
}

// leave takes an object out that is not mapped any more, or whose target has gone.
func (s *Shared) leave(o *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.common.objects.Add(-1) == 0 {
		delete(s.placed, placed{o.Object.Object, o.Bias})
	}
}

// of is a copy of a function's plan; nil if there is none.
func (p *placedPlans) of(fn *image.Function) *planner.Plan {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if plan := p.made[fn]; plan != nil {
		return plan.Copy()
	}
	return nil
}

// keep keeps a copy of the first plan of a function, which may grow.
func (p *placedPlans) keep(fn *image.Function, plan *planner.Plan) {
	if p == nil || p.objects.Load() < 2 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[*image.Function]*planner.Plan{}
	}
	p.made[fn] = plan.Copy()
}

// Kept is of how many placed files there are plans.
func (s *Shared) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.placed)
}
