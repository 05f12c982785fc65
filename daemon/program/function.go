package program

import (
	"sync/atomic"

	"culprit/daemon/image"
	"culprit/pcl"
)

// A Function is a function of a program at its address there.
type Function struct {
	ID  pcl.FuncID // the address of its entry in the process
	Obj *Object
	Fn  *image.Function // what its file says of it

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

// Addr is the address of its entry in the process.
func (f *Function) Addr() uint64 { return uint64(f.ID) }

// Names are all that the function is called.
func (f *Function) Names() []string {
	return append([]string{f.Fn.Name, f.Fn.Linkage}, f.Fn.Aliases...)
}

// Flow is where the function calls and leaves; nil if it is refused, or its code cannot be told. In a stop it is nil where it was not found
// before. Safe for use by several goroutines.
func (f *Function) Flow() *image.Flow {
	if w := f.known.Load(); w != nil || f.Fn.Refuse != "" {
		return w
	}
	w, err := f.Obj.BriefFlow(f.Fn)
	if err != nil {
		return nil
	}
	f.known.Store(w)
	return w
}

// IsGo reports whether the function's code was made by the compiler of Go.
func (f *Function) IsGo() bool { return f.Obj.IsGoCode(f.Fn) }

// NeverReturns reports whether nothing of the function is where a call would come back to: what it calls ends the program, or
// throws.
func (f *Function) NeverReturns(site int) bool {
	w := f.Flow()
	return w != nil && site < len(w.Calls) && !w.In(w.Calls[site].Ret)
}

// ReachedOtherwise reports whether something may jump to where a call comes back to.
func (f *Function) ReachedOtherwise(site int) bool {
	w := f.Flow()
	return w != nil && site < len(w.Calls) && w.Targets.Has(w.Calls[site].Ret)
}

// CallsFrom reports whether a return address is that of the call site with this number.
func (f *Function) CallsFrom(site int, ret uint64) bool {
	w := f.Flow()
	return w != nil && site < len(w.Calls) && w.Calls[site].Ret+f.Obj.Bias == ret
}

// CallsOthers reports whether the function calls any.
func (f *Function) CallsOthers() bool {
	w := f.Flow()
	return w != nil && len(w.Calls) > 0
}
