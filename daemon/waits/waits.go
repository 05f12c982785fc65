package waits

import (
	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/locks"
	"culprit/daemon/program"
	"culprit/daemon/readiness"
	"culprit/daemon/stack"
	"culprit/daemon/target"
)

// A Thread is a blocked thread of a target.
type Thread struct {
	Target *target.Target
	Call   kernel.BlockedCall // that it is in
	Stack  Stack
	Ready  readiness.Wait // where it waits until descriptors are ready
}

// For names what the thread waits for at a session time, and makes it a resource when it is first seen; "" where that is not known. frames are
// its activations. lock says that it waits for another thread, and not for a device.
func (t *Thread) For(frames []stack.Frame, now float64) (part string, lock bool) {
	switch {
	case t.Call.NR == unix.SYS_FUTEX:
		return t.Target.Locks.Waited(t.forLock(frames), now), true
	case t.Call.NR == unix.SYS_SEMOP, t.Call.NR == unix.SYS_SEMTIMEDOP:
		return "", true
	case arch.IsReadiness(t.Call.NR):
		if t.Ready.Kind == readiness.Events || t.Ready.FD < 0 {
			return "", t.Ready.Kind == readiness.Events
		}
		return t.Target.Files.At(t.Ready.FD, now), false
	case arch.WaitsForFileLock(t.Call.NR, t.Call.Args[1]):
		return t.Target.Files.LockAt(int(int32(t.Call.Args[0])), now), true
	case arch.WaitsForDescriptor(t.Call.NR):
		return t.Target.Files.At(int(int32(t.Call.Args[0])), now), false
	}
	return "", false
}

// forLock is the wait of a thread that is in a futex call.
func (t *Thread) forLock(frames []stack.Frame) locks.Wait {
	k, user := In(frames)
	w := locks.Wait{Word: t.Call.Args[0], Kind: k, HeldBy: func(addr uint64) string { return t.Stack.LeadsTo(addr, t.Target.Walker) }}
	if user != nil {
		w.User = user.Fn.Name
	}
	if k.Kind == libc.Library {
		through := throughLibrary(frames)
		if n := len(through); n > 0 {
			w.User = through[n-1]
		}
		w.HeldBy = func(addr uint64) string { return t.guarded(addr, through) }
	}
	return w
}

// In finds the innermost waiting function on a stack, and who called it or what it is a part of in the library. What a lock of POSIX threads has the
// C library wait for is that lock.
func In(frames []stack.Frame) (k libc.Wait, user *program.Function) {
	k = libc.Other
	found := false
	for _, fr := range frames {
		if fr.Func == nil {
			continue
		}
		switch named, ok := kindOfWait(fr.Func); {
		case ok && (!found || k.Kind == libc.Library):
			k, found = named, true
		case !ok && found:
			return k, fr.Func
		}
	}
	return k, nil
}

// kindOfWait is what a function waits for, if it is one of those that wait.
func kindOfWait(f *program.Function) (libc.Wait, bool) {
	for _, n := range f.Names() {
		if w, ok := libc.WaitIn(n); ok {
			return w, true
		}
	}
	return libc.Wait{}, false
}
