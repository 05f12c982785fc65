package process

import (
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
)

// release resumes and detaches every thread. Those that have not stopped yet are left to the tracer, to be released when they do.
func (s *session) release() {
	stopped := s.outOfOrder()
	for _, tr := range stopped {
		raw.Detach(tr, 0)
		raw.Fault("stop.one-released")
	}
	s.pause.Still = len(stopped)
	if len(stopped) > 0 {
		s.pause.Total = time.Since(s.still)
	}
	for _, tr := range s.threads {
		// One that has ended was collected already, or killed while it was stopped; the tracer finds out which.
		if tr.Phase != raw.Released {
			s.t.lingering[tr.TID] = tr
		}
		if tr.Phase == raw.Running && !tr.Sleeps {
			s.pause.Still++
			_ = unix.PtraceInterrupt(tr.TID) // it may not have been asked yet; only a stopped thread can be let go
		}
	}
	if !s.complete {
		s.t.adopt()
	}
	for round := 0; round < 20 && len(s.t.lingering) > 0 && !s.t.onlyLeft(); round++ {
		s.t.settle()
		raw.Backoff(round, len(s.t.lingering))
	}
}

// takeStop reads the registers of a thread at an interrupt stop and makes sure that it will repeat its call, whatever becomes of us.
func (p *Process) takeStop(tr *raw.Tracee, sig int) error {
	tr.Group = sig != int(unix.SIGTRAP)
	if err := unix.PtraceGetRegs(tr.TID, &tr.Regs); err != nil {
		return err
	}
	tr.Phase = raw.AtStop
	p.calls.ForgetEnding(tr)
	if tr.Adrift = tr.Adrift && p.known.Calls(&tr.Regs); tr.Group || tr.Adrift {
		return nil // a job-control stop breaks a call also in an undisturbed run
	}
	if p.calls.CutShort(&tr.Regs) && raw.FrozenBy(p.pid, tr.TID).By == "" { // who is frozen was broken out of its call by that
		p.cuts++
	}
	broken := resume.BrokenByUs(&tr.Regs)
	again := broken || resume.BeginsAnew(&tr.Regs)
	if again {
		tr.Regs.Rax = resume.RestartUnlessHandled
		p.calls.EndInTime(tr, raw.Monotonic(), broken)
	}
	if !p.calls.Keep(tr) && !again {
		return nil
	}
	raw.Fault("stop.broken-call")
	return unix.PtraceSetRegs(tr.TID, &tr.Regs)
}

// settleStop releases a thread that stopped only after its Stop had been given up. It reports whether the thread is off our hands.
func (t *tracer) settleStop(tr *raw.Tracee, status int) bool {
	sig, event := status&0xff, status>>8
	switch {
	case event == unix.PTRACE_EVENT_STOP && !tr.Stray:
		if t.p.takeStop(tr, sig) != nil {
			return false // killed
		}
		raw.Detach(tr, 0)
	case event == unix.PTRACE_EVENT_CLONE:
		t.settleBirth(tr)
		raw.GoOn(tr, 0)
	case event != 0 || sig == raw.SyscallStop:
		raw.Detach(tr, 0)
	case tr.Stray || tr.Adrift:
		raw.Detach(tr, sig)
	default:
		raw.GoOn(tr, sig)
	}
	return tr.Phase == raw.Released
}

// settleBirth notes a task that was attached to us at its birth by such a thread.
func (t *tracer) settleBirth(parent *raw.Tracee) {
	if msg, err := unix.PtraceGetEventMsg(parent.TID); err == nil && msg > 0 && t.lingering[int(msg)] == nil {
		t.lingering[int(msg)] = &raw.Tracee{TID: int(msg), Stray: true}
	}
}

// adopt finds threads that are attached to us without our knowing, because the thread that made them was killed before it could report it.
func (t *tracer) adopt() {
	_ = collect(t.p.pid)
	tids, _ := raw.Tasks(t.p.pid)
	for _, tid := range tids {
		if t.lingering[tid] != nil {
			continue
		}
		if st, err := raw.ReadStatus(t.p.pid, tid); err == nil && st.Tracer == t.tid {
			t.lingering[tid] = &raw.Tracee{TID: tid, Keep: t.p.keeps(tid)}
		}
	}
}
