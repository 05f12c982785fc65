package daemon

import (
	"sync/atomic"

	"culprit/daemon/image"
	"culprit/pcl"
)

// A function is a function of a program at its address there.
type function struct {
	id  pcl.FuncID // the address of its entry in the process
	obj *object
	fn  *image.Function

	known atomic.Pointer[image.Flow]

	calls   []pcl.FuncID // callees of its direct calls and tail calls
	callsAt int          // version of the program when they were found, 0 = never
	learnt  []pcl.FuncID // callees of its indirect calls that somebody saw

	looked  bool // for loops
	loops   []image.Loop
	noLoops string // why they are not known

	// what DWARF says of what it returns and of the arguments in registers; nil = not asked yet
	result *knownResult
	args   [6]*knownArg
}

func (f *function) addr() uint64 { return uint64(f.id) }

// names are all that the function is called.
func (f *function) names() []string {
	return append([]string{f.fn.Name, f.fn.Linkage}, f.fn.Aliases...)
}

// flow is where the function calls and leaves; nil if it is refused, or its code cannot be told. In a stop it is nil where it was not found
// before. Safe for use by several goroutines.
func (f *function) flow() *image.Flow {
	if w := f.known.Load(); w != nil || f.fn.Refuse != "" {
		return w
	}
	w, err := f.obj.BriefFlow(f.fn)
	if err != nil {
		return nil
	}
	f.known.Store(w)
	return w
}

// isGo reports whether the function's code was made by the compiler of Go.
func (f *function) isGo() bool { return f.obj.IsGoCode(f.fn) }

// neverReturns reports whether nothing of the function is where a call would come back to: what it calls ends the program, or
// throws.
func (f *function) neverReturns(site int) bool {
	w := f.flow()
	return w != nil && site < len(w.Calls) && !w.In(w.Calls[site].Ret)
}

// reachedOtherwise reports whether something may jump to where a call comes back to.
func (f *function) reachedOtherwise(site int) bool {
	w := f.flow()
	return w != nil && site < len(w.Calls) && w.Targets.Has(w.Calls[site].Ret)
}

// callsFrom reports whether a return address is that of the call site with this number.
func (f *function) callsFrom(site int, ret uint64) bool {
	w := f.flow()
	return w != nil && site < len(w.Calls) && w.Calls[site].Ret+f.obj.bias == ret
}
