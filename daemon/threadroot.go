package daemon

import (
	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/daemon/stack"
)

// noteStack learns from a walked stack: the thread's pointer, 0 if it is not known, and the function that it was started with.
func (t *measured) noteStack(tid int, fs uint64, frames []stack.Frame) {
	if !t.Threads.Meets(tid, fs) {
		return
	}
	if root := threadRoot(frames); root != nil {
		t.Threads.Began(tid, uint64(root.ID), root.Fn.Name)
	}
}

// isSyscallFunction tells whether an address is in the C library's function syscall. Locks of the C library make the call themselves.
func (t *measured) isSyscallFunction(pc uint64) bool {
	f := t.FunctionAt(pc)
	return f != nil && f.Fn.Name == libc.Syscall && libc.IsC(f.Obj.Name)
}

// threadRoot is the function a thread began with: main, or what the threads library called.
func threadRoot(frames []stack.Frame) *program.Function {
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i].Func
		if f == nil || f.Fn.Refuse != "" {
			continue
		}
		if libc.StartsThreads(f.Fn.Linkage) {
			continue
		}
		if !f.Fn.Named && len(frames) > 1 && i > 0 && libc.IsC(f.Obj.Name) {
			continue // the C library's own start-up code, stripped of its names
		}
		return f
	}
	return nil
}
