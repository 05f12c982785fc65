package daemon

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

// twins are the plans that targets share. Safe for use by several goroutines.
type twins struct {
	mu     sync.Mutex
	placed map[placed]*twinPlans
}

// twinPlans are the first plans of the functions of a placed file, as long as any target maps it there. Safe for use by several goroutines.
type twinPlans struct {
	objects atomic.Int32 // of targets; for a single one nothing is kept

	mu   sync.Mutex
	made map[*image.Function]*planner.Plan
}

// join adds an object to those with the same code.
func (s *twins) join(o *program.Object) *twinPlans {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := placed{o.Object, o.Bias}
	tp := s.placed[at]
	if tp == nil {
		tp = &twinPlans{}
		if s.placed == nil {
			s.placed = map[placed]*twinPlans{}
		}
		s.placed[at] = tp
	}
	tp.objects.Add(1)
	return tp
}

// leave takes an object out that is not mapped any more, or whose target has gone.
func (s *twins) leave(c *codePlan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.twins.objects.Add(-1) == 0 {
		delete(s.placed, placed{c.obj.Object, c.obj.Bias})
	}
}

// of is a copy of a function's plan; nil if there is none.
func (tp *twinPlans) of(fn *image.Function) *planner.Plan {
	if tp == nil {
		return nil
	}
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if plan := tp.made[fn]; plan != nil {
		return plan.Copy()
	}
	return nil
}

// keep keeps a copy of the first plan of a function, which may grow.
func (tp *twinPlans) keep(fn *image.Function, plan *planner.Plan) {
	if tp == nil || tp.objects.Load() < 2 {
		return
	}
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if tp.made == nil {
		tp.made = map[*image.Function]*planner.Plan{}
	}
	tp.made[fn] = plan.Copy()
}
