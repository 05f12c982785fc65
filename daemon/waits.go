package daemon

import (
	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/locks"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stack"
)

// What blocked threads wait for, by the system call that they are in and by their stacks.

// waitedFor names what a blocked thread waits for at a session time, and makes it a resource when it is first seen. kind says whether it is
// another thread or a device.
func (t *measured) waitedFor(call kernel.BlockedCall, frames []stack.Frame, st blockedStack, now float64) (part string, kind int) {
	if call.NR == unix.SYS_FUTEX {
		k, user := waitingIn(frames)
		w := locks.Wait{Word: call.Args[0], Kind: k, HeldBy: func(addr uint64) string { return t.heldBy(addr, st) }}
		if user != nil {
			w.User = user.Fn.Name
		}
		return t.Locks.Waited(w, now), kindSync
	}
	if arch.WaitsForDescriptor(call.NR) {
		return t.Files.At(int(int32(call.Args[0])), now), kindIO
	}
	return "", kindIO
}

// waitingIn finds the innermost waiting function on a stack, and who called it or what it is a part of in the library.
func waitingIn(frames []stack.Frame) (k libc.Wait, user *program.Function) {
	k = libc.Other
	found := false
	for _, fr := range frames {
		if fr.Func == nil {
			continue
		}
		switch named, ok := kindOfWait(fr.Func); {
		case ok && !found:
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

// mapped reports whether an address is. Mappings are in order.
func mapped(maps []process.Mapping, addr uint64) bool {
	for _, m := range maps {
		if m.Contains(process.Addr(addr)) {
			return true
		}
	}
	return false
}
