package process

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
)

// Threads that sleep through a stop.
//
// To stop a thread that sleeps in a system call is to break into the call. But such a thread need not stop: it executes nothing of the program
// before the call is over, and the kernel sends it a signal there, at which it stops as it is traced. So it is left asleep, and counts as one that
// stands still behind the instruction that made the call. Where the program goes on it is let go by the end of the thread that traces it, which wakes
// nobody. Should this process be killed, the signal does nothing in this program.

// readAsleep reads the registers of the threads that sleep, while the others run: they stay as they are.
func (w *transferWait) readAsleep() {
	for _, tr := range w.s.threads {
		if tr.Sleeps && tr.Phase == raw.Running {
			w.s.entered, _ = w.know.Registers(w.s.p.pid) // without them none is known to sleep
			raw.Fault("stop.asleep")
			return
		}
	}
}

// areAsleep looks whether all threads that are to sleep through this stop do, which begins their part in it; those that do not are asked to stop.
// All others stand still: nobody changes what becomes of signals any more.
func (s *session) areAsleep() bool {
	all := true
	for _, tr := range s.threads {
		switch {
		case !tr.Sleeps || tr.Phase != raw.Running:
		case s.isAsleep(tr):
			tr.Phase = raw.Asleep
		default:
			all = false
			s.awake(tr)
		}
	}
	return all
}

// isAsleep says whether a thread sleeps in the call that it was seen to have entered, and with which registers it has.
func (s *session) isAsleep(tr *raw.Tracee) bool {
	r, known := s.entered[tr.TID]
	call, err := raw.BlockedIn(s.p.pid, tr.TID)
	if !known || r.Fs_base == 0 || err != nil || call.Running || !call.Cuttable() || !mayBeHeld(s.p.pid, tr.TID) {
		return false
	}
	if uint64(call.NR) != uint64(uint32(r.Orig_rax)) || uint64(call.SP) != r.Rsp || uint64(call.PC) != r.Rip || call.Args != [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9} {
		return false
	}
	tr.Regs = r
	return true
}

// mayBeHeld says whether one of the signals at which threads stop does nothing to a thread: it neither blocks nor catches it.
func mayBeHeld(pid, tid int) bool {
	st, err := raw.ReadStatus(pid, tid)
	return err == nil && slices.ContainsFunc(syscalls.HoldSignals, func(sig unix.Signal) bool { return (st.Blocked|st.Caught)>>(sig-1)&1 == 0 })
}

// awake is for a thread that does not sleep through this stop, or no longer: it is asked to stop like all others.
func (s *session) awake(tr *raw.Tracee) {
	tr.Sleeps, tr.Phase = false, raw.Running
	tr.Interrupt()
}

// wake breaks a thread out of the call that it sleeps in, because nobody else can do what is to be done in the target. It says whether that one can now.
func (s *session) wake(tr *raw.Tracee) bool {
	s.awake(tr)
	for round := 0; tr.Phase == raw.Running && time.Since(s.begin) < s.limit; round++ {
		if s.poll(tr); tr.Phase == raw.Running {
			raw.Backoff(round, 1)
		}
	}
	return tr.Phase == raw.AtStop
}
