package plans

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"culprit/daemon/program"
	"culprit/trampoline/planner"
)

// A Set is the plans of the functions of one target.
type Set struct {
	shared  *Shared
	single  atomic.Pointer[string] // see OneInstruction
	objects map[*program.Object]*object
}

// An object is what is planned for the functions of one.
type object struct {
	*program.Object
	common *placedPlans            // nil of a file that is only looked at
	single *atomic.Pointer[string] // that of the set; nil of a file that is only looked at
	funcs  map[*program.Function]*Function

	padMu     sync.Mutex
	padsTaken map[uint64]bool // by end of the padding
}

// NewSet is the set of a target that shares plans with others. It has to be closed.
func NewSet(shared *Shared) *Set {
	return &Set{shared: shared, objects: map[*program.Object]*object{}}
}

// Add begins to plan for objects.
func (s *Set) Add(objects ...*program.Object) {
	for _, o := range objects {
		s.objects[o] = &object{Object: o, common: s.shared.join(o), single: &s.single, funcs: map[*program.Function]*Function{}}
	}
}

// Drop forgets the plans of an object that is not mapped any more.
func (s *Set) Drop(o *program.Object) {
	if own := s.objects[o]; own != nil {
		s.shared.leave(own)
		delete(s.objects, o)
	}
}

// Close drops all objects. Without it their plans are kept for targets that never come.
func (s *Set) Close() {
	for o := range s.objects {
		s.Drop(o)
	}
}

// OneInstruction has all plans that are made from now on replace single instructions only; why is what is said of a point that has no such way.
// It may be called while plans are made.
func (s *Set) OneInstruction(why string) { s.single.Store(&why) }

// oneInstruction is why only single instructions are replaced; "" if windows of several may be.
func (o *object) oneInstruction() string {
	if o.single == nil {
		return ""
	}
	if why := o.single.Load(); why != nil {
		return *why
	}
	return ""
}

// WhyGone is why a function of an object that was unloaded has no points.
const WhyGone = "its code is not mapped any more"

// Of is the plan of a function, which Make makes.
func (s *Set) Of(f *program.Function) *Function {
	o := s.objects[f.Obj]
	if o == nil {
		return &Function{Function: f, of: &object{Object: f.Obj}, reason: WhyGone}
	}
	pl := o.funcs[f]
	if pl == nil {
		pl = &Function{Function: f, of: o}
		o.funcs[f] = pl
	}
	return pl
}

// Made is Of with the plan made.
func (s *Set) Made(f *program.Function) *Function {
	pl := s.Of(f)
	pl.Make()
	return pl
}

// Forget forgets the plans that are not used, so that they are made anew.
func (s *Set) Forget(used func(*planner.Plan) bool) {
	for _, o := range s.objects {
		for f, pl := range o.funcs {
			if pl.plan != nil && !used(pl.plan) {
				delete(o.funcs, f)
			}
		}
	}
}

// MakeAll makes the plans of functions on all processors. Neighbours go to one of them: what is asked about one is near what is asked about the
// next. One that comes several times in a row is made once.
func MakeAll(fns []*Function) {
	fns = slices.Compact(fns)
	if len(fns) < 2 {
		for _, f := range fns {
			f.Make()
		}
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	const stretch = 16
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				hi := int(next.Add(stretch))
				for _, f := range fns[min(hi-stretch, len(fns)):min(hi, len(fns))] {
					f.Make()
				}
				if hi >= len(fns) {
					return
				}
			}
		})
	}
	wg.Wait()
}
