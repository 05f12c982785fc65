package remote

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// Where a program is deeper on its main stack than it ever was, that has no room for the frame of a call below the stack pointer, and
// need not have any for as long as the program stays there. But it is not at its end: the kernel lengthens it, up to RLIMIT_STACK, wherever
// somebody touches what lies below. A look through /proc/PID/mem is such a touch. It changes no byte; what comes so holds zeros, nobody has
// ever had anything there, and it is what the program would get itself with its next call or signal. The stack stays as long as it is then.
//
// The kernel asks for our limits, not for the target's, which are therefore looked at here.

// lengthen makes the main stack longer by as much as n bytes take, and gives their low end. No other thread than the caller may be on it: it would
// go down, right into the frame, should we be killed. own says that the caller is.
func (w *Caller) lengthen(caller, n int) (at raw.Addr, own, ok bool) {
	maps, err := w.Maps() // where there is something now, nothing may be touched
	if err != nil {
		return 0, false, false
	}
	i := slices.IndexFunc(maps, func(m raw.Mapping) bool {
		return m.Path == "[stack]" && m.Perms&(raw.Read|raw.Write) == raw.Read|raw.Write
	})
	if i < 0 {
		return 0, false, false
	}
	stack, below := maps[i], raw.Addr(0)
	if i > 0 {
		below = maps[i-1].End
	}
	for _, t := range w.threads {
		if sp := raw.Addr(t.Regs.Rsp); t.TID != caller && sp >= below && sp < stack.End {
			return 0, false, false
		}
	}
	hi, _ := w.lowest(caller, below, stack.Start) // it may have gone down without having touched anything yet
	if hi < below+raw.Addr(n)+raw.PageSize {
		return 0, false, false
	}
	at = (hi - raw.Addr(n)) &^ 15
	from := at &^ (raw.PageSize - 1)
	if !w.mayLengthen(stack, from) || !touchBelow(w.mem, at, uint64(stack.End-from)) {
		return 0, false, false
	}
	w.maps = nil
	if maps, err = w.stackMaps(); err != nil {
		return 0, false, false
	}
	now, ok := raw.FindMapping(maps, at)
	ok = ok && now.Path == "[stack]" && now.End == stack.End && w.unoccupied(at, n)
	return at, w.isAlone(caller, now.Start, now.End), ok
}

// handlerRoom is what must be left of the limit below a frame. Should we be killed right before signals are blocked, a handler may run below it
// that would else have run where the frame is.
const handlerRoom = 32 << 10

// mayLengthen asks the target's own limits whether its main stack may begin there.
func (w *Caller) mayLengthen(stack raw.Mapping, from raw.Addr) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid))
	if err != nil {
		return false
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", w.pid))
	if err != nil {
		return false
	}
	more := uint64(stack.Start - from)
	h := raw.HeadroomIn(status, limits)
	return uint64(stack.End-from)+handlerRoom <= raw.LimitOf(limits, "Max stack size") && more <= h.AddressSpace && (h.Locked == 0 || more <= h.Lockable)
}

// touchBelow reads a byte below a stack, which has the kernel lengthen it to this many bytes.
func touchBelow(mem *raw.File, at raw.Addr, length uint64) bool {
	ownStackLimit.Lock()
	defer ownStackLimit.Unlock()
	var ours unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &ours); err != nil {
		return false
	}
	if ours.Cur < length {
		syscall.ForkLock.RLock() // nobody is born meanwhile who would have the lifted limit, too
		defer syscall.ForkLock.RUnlock()
		if ours.Max < length || unix.Setrlimit(unix.RLIMIT_STACK, &unix.Rlimit{Cur: ours.Max, Max: ours.Max}) != nil {
			return false
		}
		defer func() { _ = unix.Setrlimit(unix.RLIMIT_STACK, &ours) }()
	}
	n, err := mem.Pread(make([]byte, 1), at)
	return err == nil && n == 1
}

// ownStackLimit is held by whoever looks at our own limit or changes it.
var ownStackLimit sync.Mutex
