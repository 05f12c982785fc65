package resume

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// Calls that read what is left of their time from the program's memory.
//
// select, pselect and ppoll write there what is left when they are broken off, and read it when they are made again. While the thread stands still
// that time goes on. Where they cannot write, since that memory is read-only, or the program does not want it (STICKY_TIMEOUTS), they return EINTR: then
// what stands there is the program's, and is left alone.

// WroteRest says whether a thread has stopped in such a call, which has written what is left of its time.
func WroteRest(r *unix.PtraceRegs) bool {
	at, _ := restAt(r)
	return int64(r.Orig_rax) >= 0 && int64(r.Rax) == errRestartHand && at != 0
}

// TakeOff takes a time that a thread has stood still off what is left of a call of which WroteRest was true when it had stopped. Should we be killed behind
// that, the thread goes on all the same.
func (c *Calls) TakeOff(tr *raw.Tracee, stood time.Duration) {
	at, unit := restAt(&tr.Regs)
	left, ok := c.span(at, unit)
	if !ok {
		return
	}
	left = (max(left-stood, 0) + unit - 1).Truncate(unit) // never early
	b := binary.LittleEndian.AppendUint64(nil, uint64(left/time.Second))
	b = binary.LittleEndian.AppendUint64(b, uint64(left%time.Second/unit))
	// As the program itself would write, unlike /proc/PID/mem: what has become read-only meanwhile stays. Where it fails the call is late by that time.
	_, _ = unix.ProcessVMWritev(tr.TID, []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
}

// restAt is where a call has what is left of its time, and the unit of the part of a second there; 0 for other calls.
func restAt(r *unix.PtraceRegs) (at uint64, unit time.Duration) {
	switch uint64(uint32(r.Orig_rax)) {
	case unix.SYS_SELECT:
		return r.R8, time.Microsecond
	case unix.SYS_PSELECT6:
		return r.R8, time.Nanosecond
	case unix.SYS_PPOLL:
		return r.Rdx, time.Nanosecond
	}
	return 0, time.Nanosecond
}
