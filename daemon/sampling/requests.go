package sampling

import (
	"cmp"
	"slices"

	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/process"
	"culprit/daemon/readiness"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/daemon/waits"
	"culprit/pcl"
)

// A thread that waits until descriptors are ready has nothing to do, or waits for an answer within its work. Where the descriptors do not tell
// which, its stacks do: within its work it waits below a function in which it also runs, and for its next work it waits elsewhere, below a function in
// which it hardly runs.

// requests is what was found out of the threads in such calls.
type requests struct {
	reader readiness.Reader
	last   map[int]*readyWait // by thread
	paths  []waitPath
}

// A readyWait is what the last look at a thread in such a call has found.
type readyWait struct {
	call   kernel.BlockedCall
	at     float64 // session time
	wait   readiness.Wait
	within bool // within its work
}

// A waitPath is where threads have waited.
type waitPath struct {
	functions []pcl.FuncID // outermost first, without the C library
	at        float64      // session time when a thread was last seen there
}

const (
	readyFor   = 1.0 // s for which what was found is believed of a thread that waits in the same call
	maxReady   = 1 << 14
	maxPaths   = 64
	maxDepth   = 128
	fewSamples = 3.0 // of threads that ran; with fewer nothing is told
	// leastWork is the part of its time, as far as it runs, that a thread must run below a function for that to be its work. hardly is how much
	// less it must run below the other one.
	leastWork = 0.3
	hardly    = 3.0
)

func (r *requests) init(p *process.Process) {
	r.reader, r.last = readiness.Reader{PID: p.PID(), Memory: p}, map[int]*readyWait{}
}

// waitOf is what a thread waits for in a call, as it was found when it was last looked at there.
func (r *requests) waitOf(tid int, call kernel.BlockedCall) readiness.Wait {
	if w := r.last[tid]; w != nil && w.call == call {
		return w.wait
	}
	return readiness.Wait{FD: -1}
}

// asks tells whether a thread that waits until descriptors are ready waits for an answer, or for another thread. A counter that others write to is
// like a condition variable: the thread has work when it is told often.
func (p *Profile) asks(tid int, call kernel.BlockedCall, pace threads.Pace, now float64) bool {
	w := p.requests.last[tid]
	if w == nil || w.call != call || now-w.at > readyFor {
		if len(p.requests.last) >= maxReady { // most of them have ended
			clear(p.requests.last)
		}
		w = &readyWait{call: call, at: now, wait: p.requests.reader.Of(call)}
		w.within = p.within(call, w.wait.Kind, now)
		p.requests.last[tid] = w
	}
	switch {
	case w.within:
		return true
	case w.wait.Kind == readiness.Answer:
		return pace.Quiet < threads.ParkAfter
	}
	return w.wait.Kind == readiness.Events && w.wait.By == "eventfd" && !pace.IsSlow()
}

// within tells whether a thread waits in a call within its work, as far as the stacks seen so far tell.
func (p *Profile) within(call kernel.BlockedCall, kind readiness.Kind, now float64) bool {
	switch kind {
	case readiness.Answer, readiness.Events, readiness.Served:
	default:
		return false
	}
	frames := p.jumps.Restore(waits.StackOf(p.t.Proc, call).Frames(p.t.Walker))
	path := pathOf(frames)
	others := p.requests.note(path, now)
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(others, func(other waitPath) bool { return p.worksWithin(path, other.functions) })
}

// pathOf is a stack as a waitPath has it; nil if it is too deep to be told whole.
func pathOf(frames []stack.Frame) (functions []pcl.FuncID) {
	if len(frames) > maxDepth {
		return nil
	}
	for _, fr := range slices.Backward(frames) {
		if fr.Func != nil && !libc.IsC(fr.Func.Obj.Name) {
			functions = append(functions, fr.Func.ID)
		}
	}
	return functions
}

// note remembers where a thread waits, and returns where others have waited before.
func (r *requests) note(path []pcl.FuncID, now float64) (others []waitPath) {
	others = slices.Clone(r.paths)
	for i := range r.paths {
		if slices.Equal(r.paths[i].functions, path) {
			r.paths[i].at = now
			return slices.Delete(others, i, i+1)
		}
	}
	if len(r.paths) >= maxPaths {
		oldest := slices.MinFunc(r.paths, func(a, b waitPath) int { return cmp.Compare(a.at, b.at) })
		r.paths = slices.DeleteFunc(r.paths, func(w waitPath) bool { return w.at == oldest.at })
	}
	r.paths = append(r.paths, waitPath{path, now})
	return others
}

// worksWithin tells whether threads run below the function by which one way to wait parts from another, and hardly below the one by which that
// goes on. c.mu is held.
func (c *Counts) worksWithin(path, other []pcl.FuncID) bool {
	k := 0
	for k < len(path) && k < len(other) && path[k] == other[k] {
		k++
	}
	if k == 0 || k >= len(path)-1 { // of another kind of thread; or the function waits itself, as event loops do
		return false
	}
	ran := c.kinds[CPU].functions
	above, own, others := 0.0, ran[path[k]], 0.0
	for _, f := range path[:k] {
		above = max(above, ran[f])
	}
	if k < len(other) {
		others = ran[other[k]]
	}
	above = max(above, own, others)
	return above >= fewSamples && own >= leastWork*above && others*hardly <= own
}
