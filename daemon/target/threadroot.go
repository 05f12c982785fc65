package target

import (
	"culprit/daemon/libc"
	"culprit/daemon/stack"
)

// NoteStack learns from a walked stack: the thread's pointer, 0 if it is not known, and the function that the thread was started with.
func (t *Target) NoteStack(tid int, fs uint64, frames []stack.Frame) {
	if !t.Threads.Meets(tid, fs) {
		return
	}
	if root := stack.ThreadRoot(frames); root != nil {
		t.Threads.Began(tid, uint64(root.ID), root.Fn.Name)
	}
}

// MayBeGo tells whether code of Go is at an address, as far as that is known without making tables.
func (t *Target) MayBeGo(pc uint64) bool {
	o := t.ObjectAt(pc)
	return o != nil && o.MayBeGoAt(pc-o.Bias)
}

// IsSyscallFunction tells whether an address is in the C library's function syscall. Locks of the C library make the call themselves.
func (t *Target) IsSyscallFunction(pc uint64) bool {
	f := t.FunctionAt(pc)
	return f != nil && f.Fn.Name == libc.Syscall && libc.IsC(f.Obj.Name)
}
