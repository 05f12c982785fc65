package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
	"culprit/daemon/process/resume"
	"culprit/internal/procfs"
)

// DefaultDeadline is how long Stop waits for all threads to stop if StopOptions does not say: 500 ms.
const DefaultDeadline = 500 * time.Millisecond

// manyThreads is from how many threads on it counts what is done for each.
const manyThreads = 128

// StopOptions are the limits of one Stop.
type StopOptions struct {
	Deadline time.Duration // until all threads must have stopped; 0 means DefaultDeadline
}

// A Pause tells what one Stop cost the target.
type Pause struct {
	Threads  int           // of the target, that could not execute anything of it
	Still    int           // of these, threads that stood still for some of the time: the others slept in calls all the while
	Stopping time.Duration // from the first interrupt until the last thread had stopped
	Held     time.Duration // for which the function given to Stop ran
	Total    time.Duration // from when none stood still yet until the last thread was released: no thread stood still for longer
	Cuts     int           // blocking calls that moved less than they were to, because of this stop or what was seen behind the last
}

// Stop stops every thread of the target, calls f, and resumes and releases every thread before it returns; then the target is untraced.
// An error of f is returned as it is. Other errors: ErrTargetExited, ErrTargetExeced, *Deferred (a thread did not stop within the deadline:
// everything runs again and f was not called), *Traced, *NotPermitted, ctx.Err(). A panic of f reaches the caller after the threads were released.
// Calls of Stop on one Process follow one another.
func (p *Process) Stop(ctx context.Context, opts StopOptions, f func(w *World) error) (Pause, error) {
	if err := p.onlyLooking("stopping"); err != nil {
		return Pause{}, err
	}
	if opts.Deadline <= 0 {
		opts.Deadline = DefaultDeadline
	}
	p.calls.LookFirst()
	defer p.calls.LookForDeadlines()()
	for {
		t, err := p.startTracer()
		if err != nil {
			return Pause{}, err
		}
		s := &session{p: p, t: t, ctx: ctx, limit: opts.Deadline, threads: map[int]*raw.Tracee{}, calls: map[int]int64{}}
		var fault any
		var where []byte
		returned := false
		var runErr error
		err = t.do(func() {
			defer func() {
				if fault = recover(); fault != nil {
					where = debug.Stack()
				}
			}()
			runErr = s.run(f)
			returned = true
		})
		p.calls.Learn()
		switch {
		case errors.Is(err, errTracerDead):
			continue // it ended to let go of a zombie; another one starts afresh
		case err != nil:
			return Pause{}, err
		case fault != nil:
			panic(fmt.Sprintf("%v\n%s", fault, where)) // the stack of the goroutine that it happened in
		case !returned:
			return s.pause, errors.New("the function given to Stop ended its goroutine instead of returning")
		}
		return s.pause, runErr
	}
}

// A session is one Stop.
type session struct {
	p        *Process
	t        *tracer
	ctx      context.Context
	limit    time.Duration
	threads  map[int]*raw.Tracee
	calls    map[int]int64 // numbers of the calls that threads were in when they were looked at last
	begin    time.Time
	looked   time.Time // before it was looked last whether threads have stopped
	still    time.Time // when none had; zero as long as none has
	execed   bool
	pause    Pause
	complete bool // every thread of the target is known and has stopped
	keep     bool
	passes   int
	refusals int
	nextLook time.Time  // before which no ends are looked for that no wait reports
	peers    []*session // of processes that share the target's memory

	patient bool // threads that report something run on: they have not been asked to stop yet
}

// run does one Stop on the tracer's thread.
func (s *session) run(f func(*World) error) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.t.settle()
	s.p.known.Search(s.p.pid, &s.p.mem) // before anything stops: it may take a while
	for tid, tr := range s.t.lingering {
		tr.Seccomp, tr.Dispatched, tr.Asked = nil, nil, 0 // it ran meanwhile
		if tr.Sleeps = false; tr.Phase == raw.Asleep {
			tr.Phase = raw.Running
		}
		s.threads[tid] = tr
		delete(s.t.lingering, tid)
	}
	s.keep = s.p.ownChild()
	last := lastPID()
	shared := len(raw.PeersOf(s.p.pid)) > 0 // looked for while everything runs: with many processes it takes some milliseconds
	transfers := s.lookForTransfers()
	defer transfers.end()
	s.begin = time.Now()
	s.looked = s.begin
	s.t.begin()
	defer s.t.end()
	defer s.forgetWaits()
	defer s.release()
	defer s.releasePeers()
	defer func() { s.pause.Cuts, s.p.cuts = s.p.cuts, 0 }()
	defer s.forgetHolds()
	if err := transfers.letEnd(); err != nil {
		return err
	}
	if err := s.leaveAll(transfers); err != nil {
		return err
	}
	if s.still.IsZero() {
		s.begin = time.Now()
	}
	s.looked = time.Now()
	if err := s.attachAll(); err != nil {
		return err
	}
	raw.Fault("stop.seized")
	s.interruptAll()
	raw.Fault("stop.interrupted")
	for all := false; !all; all = s.areAsleep() {
		if err := s.waitAll(); err != nil {
			return err
		}
	}
	if shared || last == "" || lastPID() != last {
		if err := s.stopPeers(); err != nil {
			return err
		}
	}
	s.pause.Stopping = time.Since(s.begin)
	raw.Fault("stop.stopped")
	if err := s.p.checkExec(); err != nil {
		return err
	}
	s.complete = true
	return s.call(f)
}

func (s *session) call(f func(*World) error) error {
	w := &World{s: s}
	w.add(s)
	if len(w.threads) == 0 {
		return s.p.gone(unix.ESRCH)
	}
	for _, one := range s.peers {
		if one.complete {
			w.add(one)
		}
	}
	w.sort()
	w.calls = remote.New(remote.Stop{PID: s.p.pid, Mem: &s.p.mem, Known: &s.p.known, Runs: &s.p.driven, Threads: w.threads, Tracees: s.threads, Gone: s.p.gone, Wake: s.wake, Await: s.awaitOne, Begin: s.begin, Limit: s.limit})
	s.pause.Threads = len(w.threads)
	held := time.Now()
	defer func() {
		s.pause.Held = time.Since(held)
	}()
	return w.run(f)
}

// run calls f and removes what its calls needed, whatever becomes of it. What cannot be removed is for the next one: f has done its work.
func (w *World) run(f func(*World) error) error {
	defer func() {
		w.calls.End()
		w.over = true
	}()
	return f(w)
}

func (w *World) add(s *session) {
	for _, tr := range s.threads {
		if (tr.Phase == raw.AtStop || tr.Phase == raw.Asleep) && !tr.Stray {
			w.threads = append(w.threads, seen(tr))
		}
	}
}

// seen is what users of a World see of a thread: without what we keep in a register.
func seen(tr *raw.Tracee) *raw.Stopped {
	t := &raw.Stopped{TID: tr.TID, Regs: tr.Regs, InSyscall: tr.Phase == raw.Asleep || resume.InSyscall(&tr.Regs)}
	if int64(t.Regs.Orig_rax) >= 0 {
		t.Regs.Orig_rax = uint64(uint32(t.Regs.Orig_rax))
	}
	return t
}

// attachAll seizes threads until a pass over the list finds no new one. Threads born by seized threads are attached by the kernel.
//
// Each is asked to stop at once, so that none runs on while it is traced (order.go). With very many that is done when all are attached: those that stop
// first would stand still for as long as it takes to attach the others.
func (s *session) attachAll() error {
	for {
		s.passes++
		fresh, err := s.attachPass(s.runsCode)
		if err != nil || fresh == 0 {
			return err
		}
		if err := s.expired(); err != nil {
			return err
		}
	}
}

// runsCode says whether a task is a thread of the program and not a worker of the kernel.
func (s *session) runsCode(tid int) bool { return tid == s.p.pid || !raw.IsWorker(s.p.pid, tid) }

// attachPass attaches the threads that are wanted, and returns how many were new or could not be decided yet.
func (s *session) attachPass(wanted func(tid int) bool) (fresh int, err error) {
	tids, err := raw.Tasks(s.p.pid)
	if err != nil {
		return 0, s.p.gone(fmt.Errorf("threads of process %d: %w", s.p.pid, unix.ESRCH))
	}
	g := newGuard(s.p.pid)
	defer func() { s.bury(g.end()) }()
	for _, tid := range s.inOrder(tids) {
		if s.threads[tid] != nil && s.threads[tid].Phase != raw.Ended || !wanted(tid) {
			continue
		}
		attached, err := s.seize(tid)
		if err != nil {
			return fresh, err
		}
		if attached {
			fresh++
		}
		if tr := s.threads[tid]; attached && tr != nil && !s.patient && len(tids) < manyThreads {
			tr.Interrupt()
		}
	}
	return fresh, nil
}

// bury takes note of threads that have been collected.
func (s *session) bury(tids []int) {
	for _, tid := range tids {
		if tr := s.threads[tid]; tr != nil {
			tr.Phase = raw.Ended
		}
	}
}

// seize attaches one thread and says whether the list must be looked at again. A thread that is ending answers ESRCH or EPERM, as does one that
// the kernel has attached to us at its birth; the latter is looked up first, since PTRACE_SEIZE may have to wait.
func (s *session) seize(tid int) (bool, error) {
	if s.passes > 1 {
		if st, err := raw.ReadStatus(s.p.pid, tid); err != nil || isDead(st.State) {
			return false, nil
		} else if st.Tracer == s.t.tid {
			s.add(tid)
			return true, nil
		}
	}
	err := raw.Seize(tid, raw.SeizeOptions)
	switch err {
	case nil:
		s.add(tid)
		raw.Fault("stop.one-seized")
		return true, nil
	case unix.ESRCH:
		return false, nil
	case unix.EPERM:
		return s.refused(tid)
	}
	return false, s.p.gone(fmt.Errorf("thread %d: %w", tid, err))
}

// refused finds out why a thread could not be attached.
func (s *session) refused(tid int) (bool, error) {
	st, err := raw.ReadStatus(s.p.pid, tid)
	switch {
	case err != nil || isDead(st.State):
		return false, nil
	case st.Tracer == s.t.tid:
		s.add(tid)
		return true, nil
	case st.Tracer != 0 && s.refusals < 100 && (isOurThread(st.Tracer) || !stillTraces(st.Tracer, s.p.pid, tid)):
		s.refusals++
		raw.Nap(100 * time.Microsecond) // of a tracer that has ended, and that the kernel has not taken its threads from yet
		return true, s.expired()
	case st.Tracer != 0:
		return false, traced(s.p.pid, st.Tracer)
	}
	if err := s.p.checkExec(); err != nil {
		return false, err
	}
	s.refusals++
	if s.refusals < 100 || time.Since(s.begin) < s.limit/2 {
		raw.Nap(100 * time.Microsecond)
		return true, s.expired() // perhaps it is just ending, or amid an exec: look again
	}
	return false, explainDenied(gatherFacts(s.p.pid))
}

// isOurThread says whether a thread, of whichever process, is one of this process.
func isOurThread(tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
	return err == nil
}

// stillTraces says whether a thread traces another one, after it was seen to. A thread of ours that has ended meanwhile does not.
func stillTraces(tracer, pid, tid int) bool {
	st, err := raw.ReadStatus(pid, tid)
	return err == nil && st.Tracer == tracer
}

func (s *session) add(tid int) *raw.Tracee {
	tr := &raw.Tracee{TID: tid, Keep: s.keep && tid == s.p.pid}
	s.threads[tid] = tr
	return tr
}

func (s *session) interruptAll() {
	for _, tr := range s.threads {
		if tr.Phase == raw.Running && tr.Asked == 0 && !tr.Sleeps {
			tr.Interrupt()
		}
	}
}

// waitAll waits until every thread has stopped and no unknown one is left.
func (s *session) waitAll() error {
	for round := 0; ; round++ {
		pending, n := s.pollAll(round)
		if s.execed {
			return s.p.execed()
		}
		if pending == nil && s.areAll() {
			return nil
		}
		if pending == nil {
			s.passes++
			fresh, err := s.attachPass(s.runsCode)
			if err != nil {
				return err
			}
			if fresh == 0 {
				return nil
			}
			if err := s.expired(); err != nil {
				return err
			}
			s.interruptAll()
			continue
		}
		if time.Since(s.begin) > s.limit {
			return raw.Late(s.p.pid, pending.TID, time.Since(s.begin), false)
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		raw.Backoff(round, n)
	}
}

// areAll reports whether the threads that have stopped are all that the kernel counts: then nobody is left who could make another one. To list
// thousands takes milliseconds. Threads that have ended and were not collected count too, as do workers of the kernel: then the list tells.
func (s *session) areAll() bool {
	st, err := procfs.ReadStat(s.p.pid)
	n := 0
	for _, tr := range s.threads {
		if (tr.Phase == raw.AtStop || tr.Sleeps) && !tr.Stray {
			n++
		}
	}
	return err == nil && st.Threads == n
}

// expired is for the loops that have no single thread to blame.
func (s *session) expired() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if waited := time.Since(s.begin); waited > s.limit {
		return raw.Late(s.p.pid, s.p.pid, waited, false)
	}
	return nil
}

// pollAll looks at threads that have not stopped yet, until it has met so many that still have not; every thoroughly rounds at all of them. It
// returns one that has not, or nil, and how many may not have. While thousands are on their way they need the processor, not we. Once in a
// while, for a twentieth of the time at most, it looks for ends that no wait reports: an exec in another thread waits until those are collected.
func (s *session) pollAll(round int) (pending *raw.Tracee, n int) {
	const thoroughly, enough = 16, 8
	began := time.Now()
	defer func() { s.looked = began }()
	thorough := round%thoroughly == thoroughly-1 && began.After(s.nextLook)
	if thorough {
		s.bury(collect(s.p.pid))
		defer func() {
			const share = 20
			now := time.Now()
			s.nextLook = now.Add(share * now.Sub(began))
		}()
	}
	met := 0
	for _, tr := range s.threads {
		if tr.Phase != raw.Running || tr.Sleeps {
			continue
		}
		if n++; met == enough && !thorough {
			continue
		}
		s.poll(tr)
		if tr.Phase == raw.Running && thorough && s.t.lost(tr) {
			tr.Phase = raw.Ended
		}
		if tr.Phase != raw.Running {
			n--
		} else if !tr.Stray {
			pending = tr
			met++
		}
	}
	return pending, n
}

func isDead(state byte) bool { return state == 'Z' || state == 'X' }

// poll takes in all that one thread has to report on its way to the interrupt stop.
func (s *session) poll(tr *raw.Tracee) {
	for tr.Phase == raw.Running {
		result, status := raw.WaitThread(tr.TID, tr.Keep)
		switch result {
		case raw.WaitNothing:
			return
		case raw.WaitEnded, raw.WaitNotOurs:
			tr.Phase = raw.Ended
			return
		}
		tr.Sleeps = false
		if s.onStop(tr, status); tr.Phase == raw.AtStop && s.still.IsZero() {
			s.still = s.looked
		}
		raw.Fault("stop.one-stopped")
	}
}

// onStop handles one report. Signals are passed on at once: the handler's frame is set up, and the interrupt stop comes right behind it.
func (s *session) onStop(tr *raw.Tracee, status int) {
	sig, event := status&0xff, status>>8
	switch {
	case event == unix.PTRACE_EVENT_STOP && tr.Stray:
		raw.Detach(tr, 0)
	case event == unix.PTRACE_EVENT_STOP && s.patient && tr.Asked == 0 && sig == int(unix.SIGTRAP):
		s.goOn(tr, 0) // it was just born
	case event == unix.PTRACE_EVENT_STOP:
		if s.p.takeStop(tr, sig) != nil {
			tr.Phase = raw.Ended // killed while stopped
		}
	case event == unix.PTRACE_EVENT_EXEC:
		s.execed = true
		raw.Detach(tr, 0)
	case event == unix.PTRACE_EVENT_CLONE || event == unix.PTRACE_EVENT_FORK || event == unix.PTRACE_EVENT_VFORK:
		s.born(tr)
		s.goOn(tr, 0)
	case event != 0 || sig == raw.SyscallStop:
		s.goOn(tr, 0)
	case s.atTransfersEnd(tr, sig):
		raw.Fault(raw.AtTransfersEnd)
		raw.GoOn(tr, 0)
	case s.patient && isBroken(tr):
		raw.GoOn(tr, sig) // its interrupt stop puts the call right: a signal that nobody handles would not have reached it without us
	default:
		s.goOn(tr, sig)
	}
}

// isBroken says whether a thread that is about to get a signal was broken out of a call by it which returns EINTR whoever handles the signal.
func isBroken(tr *raw.Tracee) bool {
	var regs unix.PtraceRegs
	return unix.PtraceGetRegs(tr.TID, &regs) == nil && resume.BrokenByUs(&regs)
}

// goOn resumes a thread: on its way to the interrupt stop, or just so if it has not been asked to stop yet.
func (s *session) goOn(tr *raw.Tracee, sig int) {
	if s.patient {
		_ = unix.PtraceCont(tr.TID, sig)
		return
	}
	raw.GoOn(tr, sig)
}

// born notes a task that the kernel has attached to us at its birth: a thread, or a process made by clone without a SIGCHLD.
func (s *session) born(parent *raw.Tracee) {
	msg, err := unix.PtraceGetEventMsg(parent.TID)
	tid := int(msg)
	if err != nil || tid <= 0 || s.threads[tid] != nil && s.threads[tid].Phase != raw.Ended {
		return
	}
	tr := s.add(tid)
	if st, err := raw.ReadStatus(tid, 0); err == nil && st.TGID != s.p.pid {
		tr.Stray = true
	}
}
