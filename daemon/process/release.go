package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// release resumes and detaches every thread. Those that have not stopped yet are left to the tracer, to be released when they do.
func (s *session) release() {
	for _, tr := range s.outOfOrder() {
		detach(tr, 0)
		fault("stop.one-released")
	}
	s.pause.Total = time.Since(s.begin)
	for _, tr := range s.threads {
		// One that has ended was collected already, or killed while it was stopped; the tracer finds out which.
		if tr.phase != released {
			s.t.lingering[tr.tid] = tr
		}
		if tr.phase == running {
			_ = unix.PtraceInterrupt(tr.tid) // it may not have been asked yet; only a stopped thread can be let go
		}
	}
	if !s.complete {
		s.t.adopt()
	}
	for round := 0; round < 20 && len(s.t.lingering) > 0; round++ {
		s.t.settle()
		backoff(round, len(s.t.lingering))
	}
}

// takeStop reads the registers of a thread at an interrupt stop and makes sure that it will repeat its call, whatever becomes of us.
func (p *Process) takeStop(tr *tracee, sig int) error {
	tr.group = sig != int(unix.SIGTRAP)
	if err := unix.PtraceGetRegs(tr.tid, &tr.regs); err != nil {
		return err
	}
	tr.phase = stopped
	p.forgetEnding(tr)
	if tr.group || tr.adrift {
		return nil // a job-control stop breaks a call also in an undisturbed run
	}
	if p.cutShort(&tr.regs) {
		p.cuts++
	}
	broken := brokenByUs(&tr.regs) || stillBroken(&tr.regs)
	if broken {
		tr.regs.Rax = restartUnlessHandled
		p.endInTime(tr, monotonic())
	}
	if !p.keepCall(tr) && !broken {
		return nil
	}
	fault("stop.broken-call")
	return unix.PtraceSetRegs(tr.tid, &tr.regs)
}

// settleStop releases a thread that stopped only after its Stop had been given up. It reports whether the thread is off our hands.
func (t *tracer) settleStop(tr *tracee, status int) bool {
	sig, event := status&0xff, status>>8
	switch {
	case event == unix.PTRACE_EVENT_STOP && !tr.stray:
		if t.p.takeStop(tr, sig) != nil {
			return false // killed
		}
		detach(tr, 0)
	case event == unix.PTRACE_EVENT_CLONE:
		t.settleBirth(tr)
		goOn(tr, 0)
	case event != 0 || sig == syscallStop:
		detach(tr, 0)
	case tr.stray || tr.adrift:
		detach(tr, sig)
	default:
		goOn(tr, sig)
	}
	return tr.phase == released
}

// settleBirth notes a task that was attached to us at its birth by such a thread.
func (t *tracer) settleBirth(parent *tracee) {
	if msg, err := unix.PtraceGetEventMsg(parent.tid); err == nil && msg > 0 && t.lingering[int(msg)] == nil {
		t.lingering[int(msg)] = &tracee{tid: int(msg), stray: true}
	}
}

// adopt finds threads that are attached to us without our knowing, because the thread that made them was killed before it could report it.
func (t *tracer) adopt() {
	_ = collect(t.p.pid)
	tids, _ := listTasks(t.p.pid)
	for _, tid := range tids {
		if t.lingering[tid] != nil {
			continue
		}
		if st, err := readStatus(t.p.pid, tid); err == nil && st.tracer == t.tid {
			t.lingering[tid] = &tracee{tid: tid, keep: t.p.keeps(tid)}
		}
	}
}
