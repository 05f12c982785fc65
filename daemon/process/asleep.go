package process

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
)

// Threads that are left in their calls.
//
// To stop a thread that is within a system call is to break into the call. But such a thread need not stop: it executes nothing of the program
// before the call is over, and the kernel sends it a signal there, at which it stops as it is traced. So it is left alone, and counts as one that
// stands still behind the instruction that made the call. Where the program goes on it is let go by the end of the thread that traces it, which wakes
// nobody. Should this process be killed, the signal does nothing in this program.

// leave looks which threads are within a transfer, and leaves them there. Each is held first: where it is seen within a call then, it does not come back
// from that any more, and its registers, seen twice, are those that it has.
func (w *transferWait) leave() {
	const heldSeenAgain = 3
	for range heldSeenAgain {
		entered, err := w.know.Registers(w.s.p.pid)
		if err != nil {
			return // the time will be over
		}
		for _, tr := range w.open {
			if r, is := entered[tr.TID]; is && tr.Phase == raw.Running && r.Fs_base != 0 && (tr.Holding || raw.EnteredBy(&r).Cuttable()) {
				w.seenWithin(tr, &r)
			}
		}
	}
	raw.Fault(raw.LeftInCalls)
}

// seenWithin takes note of the registers with which a thread has entered a call that it is within.
func (w *transferWait) seenWithin(tr *raw.Tracee, r *unix.PtraceRegs) {
	w.hold(tr)
	tr.Sleeps = tr.Seen && tr.Regs == *r
	tr.Seen, tr.Regs = tr.Holding, *r
}

// hold has a thread stop where a call is over.
func (w *transferWait) hold(tr *raw.Tracee) {
	tr.Holding = tr.Holding || mayBeHeld(w.s.p.pid, tr.TID) && w.know.Hold(tr.TID)
}

// areAsleep begins the part in the stop of the threads that are left in their calls. They are asked to stop where they make use of the signals by now;
// all others stand still, so that nobody changes that any more.
func (s *session) areAsleep() bool {
	all := true
	for _, tr := range s.threads {
		switch {
		case !tr.Sleeps || tr.Phase != raw.Running:
		case mayBeHeld(s.p.pid, tr.TID):
			tr.Phase = raw.Asleep
		default:
			all = false
			s.awake(tr)
		}
	}
	return all
}

// mayBeHeld says whether one of the signals at which threads stop does nothing to a thread: it neither blocks nor catches it.
func mayBeHeld(pid, tid int) bool {
	st, err := raw.ReadStatus(pid, tid)
	return err == nil && slices.ContainsFunc(syscalls.HoldSignals, func(sig unix.Signal) bool { return (st.Blocked|st.Caught)>>(sig-1)&1 == 0 })
}

// awake is for a thread that is not left in its call, or no longer: it is asked to stop like all others.
func (s *session) awake(tr *raw.Tracee) {
	tr.Sleeps, tr.Phase = false, raw.Running
	tr.Interrupt()
}

// wake breaks a thread out of the call that it was left in, because nobody else can do what is to be done in the target. It says whether that one can now.
func (s *session) wake(tr *raw.Tracee) bool {
	s.awake(tr)
	for round := 0; tr.Phase == raw.Running && time.Since(s.begin) < s.limit; round++ {
		if s.poll(tr); tr.Phase == raw.Running {
			raw.Backoff(round, 1)
		}
	}
	return tr.Phase == raw.AtStop
}
