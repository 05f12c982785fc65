package target

import (
	"slices"

	"culprit/pcl"
)

// Go code is not patched. Its scheduler takes a goroutine off its thread at nearly any instruction (asynchronous preemption, since Go 1.14) and
// keeps the place on the goroutine's own stack, where no thread stands: to look at all threads does not tell whether somebody will go on
// in the middle of a jump that is written now, or in a trampoline that is freed. And it goes on on another thread: what began to count in one
// thread's block ends in another's. So functions of Go code are measured by stack samples.
//
// C code in the same process keeps its probes. A goroutine that calls C does so on the stack of the thread itself, which the call holds until
// it returns, even where C calls back into Go and that goroutine waits (runtime.cgocallbackg locks it to its thread); Go's signal
// handler leaves a thread alone whose PC is not in Go's text (runtime.isAsyncSafePoint).

// IsSampled reports whether samples tell of a function what probes do of others: of Go code, of generated code, of code that is
// mapped MAP_SHARED, and of what is out of the reach of probes.
func (t *Target) IsSampled(id pcl.FuncID) bool {
	f := t.Func(id)
	return f != nil && (f.Generated() || f.Obj.IsGoCode(f.Fn) || f.Obj.Shared || t.Contexts.Scheduled() && t.Sites.OutOfReach(f))
}

// SomeSampled reports whether a plan asks for points that only samples tell of.
func (t *Target) SomeSampled(plan *pcl.Plan) bool {
	return slices.ContainsFunc(plan.Requests, func(r pcl.Request) bool { return t.IsSampled(r.Func) })
}

// AllSampled reports whether a plan asks for no others.
func (t *Target) AllSampled(plan *pcl.Plan) bool {
	return !slices.ContainsFunc(plan.Requests, func(r pcl.Request) bool { return !t.IsSampled(r.Func) })
}
