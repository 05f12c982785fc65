package stack

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/pcl"
)

// TailCalls know what is called from where: the function that a call names, by the address behind the call; nil where that is not known.
type TailCalls struct {
	code   *program.Program
	callee map[uint64]*program.Function
	jumps  map[[2]pcl.FuncID]bool // whether the one may end in a jump to the other
	loads  int                    // of the program when it was made
}

// TailCallsOf are those of a program.
func TailCallsOf(code *program.Program) TailCalls { return TailCalls{code: code} }

// maxCallees bounds the cache; it is emptied when it is full.
const maxCallees = 1 << 16

// Restore puts those functions back on a stack that ended in a jump to the one above them: the C library's semaphores and joins wait
// behind such a jump. They stand where the call leads to that made the activation.
func (c *TailCalls) Restore(frames []Frame) []Frame {
	if c.callee == nil || c.loads != c.code.Loads() || len(c.callee)+len(c.jumps) > maxCallees {
		c.callee, c.jumps, c.loads = map[uint64]*program.Function{}, map[[2]pcl.FuncID]bool{}, c.code.Loads()
	}
	for i := len(frames) - 1; i > 0; i-- {
		g := c.calledFrom(&frames[i])
		if in := frames[i-1].Func; g != nil && in != nil && g != in && c.jumpsTo(g, in) {
			frames = slices.Insert(frames, i, Frame{Func: g, CFA: frames[i-1].CFA})
		}
	}
	return frames
}

// Forget has all be found out anew.
func (c *TailCalls) Forget() { c.callee, c.jumps = nil, nil }

// calledFrom is the function that the call names in which a frame stands.
func (c *TailCalls) calledFrom(fr *Frame) *program.Function {
	if fr.Func == nil {
		return nil
	}
	if g, ok := c.callee[fr.PC]; ok {
		return g
	}
	var g *program.Function
	if w := fr.Func.Flow(); w != nil {
		for _, call := range w.Calls {
			if call.Ret+fr.Func.Obj.Bias == fr.PC {
				g = c.code.Callee(fr.Func.Obj, call)
			}
		}
	}
	c.callee[fr.PC] = g
	return g
}

// jumpsTo is jumpsTo, kept: it is asked at every sample.
func (c *TailCalls) jumpsTo(f, to *program.Function) bool {
	k := [2]pcl.FuncID{f.ID, to.ID}
	is, ok := c.jumps[k]
	if !ok {
		is = jumpsTo(c.code, f, to, 0)
		c.jumps[k] = is
	}
	return is
}

// maxTailCalls bounds a way of jumps from function to function.
const maxTailCalls = 4

// jumpsTo reports whether a function may end in a jump to another one, also over others.
func jumpsTo(code *program.Program, f, to *program.Function, depth int) bool {
	w := f.Flow()
	if w == nil || depth > maxTailCalls {
		return false
	}
	for _, x := range w.Exits {
		if x.Kind == image.ExitRet {
			continue
		}
		if g := code.TailCallee(f.Obj, x); g == to || g != nil && g != f && jumpsTo(code, g, to, depth+1) {
			return true
		}
	}
	return false
}
