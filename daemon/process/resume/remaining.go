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
// that time goes on.

// TakeOff takes a time that a thread has stood still off what is left of such a call. It writes to the target's memory, where the kernel has just
// written. Should we be killed behind that, the thread goes on all the same.
func (c *Calls) TakeOff(tr *raw.Tracee, stood time.Duration) {
	r := &tr.Regs
	at, unit := remainingAt(r)
	if int64(r.Orig_rax) < 0 || int64(r.Rax) != errRestartHand || at == 0 || stood <= 0 {
		return
	}
	var b [16]byte // struct timeval or timespec
	if c.mem.Read(raw.Addr(at), b[:]) != nil {
		return
	}
	seconds, part := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
	if seconds < 0 || seconds > int64(longestRun/time.Second) || part < 0 || part >= int64(time.Second/unit) {
		return
	}
	left := max(time.Duration(seconds)*time.Second+time.Duration(part)*unit-stood, 0)
	left = (left + unit - 1).Truncate(unit) // never early
	binary.LittleEndian.PutUint64(b[:], uint64(left/time.Second))
	binary.LittleEndian.PutUint64(b[8:], uint64(left%time.Second/unit))
	_, _ = c.mem.Pwrite(b[:], raw.Addr(at)) // else it is late by that time
}

// remainingAt is where a call has what is left of its time, and the unit of the part of a second there; 0 for other calls.
func remainingAt(r *unix.PtraceRegs) (at uint64, unit time.Duration) {
	switch uint64(uint32(r.Orig_rax)) {
	case unix.SYS_SELECT:
		return r.R8, time.Microsecond
	case unix.SYS_PSELECT6:
		return r.R8, time.Nanosecond
	case unix.SYS_PPOLL:
		return r.Rdx, time.Nanosecond
	}
	return 0, 0
}
