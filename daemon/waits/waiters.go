package waits

import (
	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/libc"
	"culprit/daemon/process"
	"culprit/daemon/stack"
	"culprit/daemon/stops"
	"culprit/daemon/target"
)

// Locks that only their address names get a better name at the next stop: then all registers of those who wait for them are known,
// those too that the kernel does not tell of a blocked thread, and the variable that leads to the lock may be in one.

// maxWaiters is how many waiting threads are looked at in one stop.
const maxWaiters = 8

// A waiter is a stopped thread that waits for a lock without a name.
type waiter struct {
	word uint64
	regs unwind.Regs
}

// NameUnnamed gives a stops.Check that finds such locks of a target, and has them named when all threads run again.
func NameUnnamed(t *target.Target) stops.Check {
	return func(w *process.World) error {
		if list := unnamed(t, w); len(list) > 0 {
			t.Stops.View().Later(func() { rename(t, list) })
		}
		return nil
	}
}

// unnamed finds threads that wait for them while they stand still; their stacks are read afterwards.
func unnamed(t *target.Target, w *process.World) (list []waiter) {
	if t.Locks == nil || !t.Locks.WantsNames() {
		return nil
	}
	for _, th := range w.Threads() {
		if !th.InSyscall || !arch.Calls(&th.Regs, unix.SYS_FUTEX) || len(list) == maxWaiters {
			continue
		}
		word := arch.FirstArg(&th.Regs)
		if t.Locks.WantsName(word) {
			list = append(list, waiter{word, stack.RegsOf(th)})
		}
	}
	return list
}

// rename names the locks of waiters by their variables. A stack may have changed since: a variable that leads to the very
// address of the lock tells the truth nevertheless.
func rename(t *target.Target, list []waiter) {
	for _, w := range list {
		st := Stack{Regs: w.regs, Mem: stack.Words(t.Proc)}
		k, _ := In(st.Frames(t.Walker))
		addr, _ := NameLock(t.Program, w.word, k)
		if name := st.LeadsTo(addr, t.Walker); name != "" && k.Kind != libc.Thread && k.Kind != libc.Library {
			t.Locks.Rename(w.word, k.Kind, name, addr)
		}
	}
}
