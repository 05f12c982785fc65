package process

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
	"culprit/daemon/syscalls"
)

// Threads that are left in their calls.
//
// To stop a thread that sleeps within a system call is to break into the call: a wait begins anew, a transfer is cut, a filter may see a call that the
// program did not make. But such a thread need not stop: it executes nothing of the program before the call is over, and the kernel sends it a signal
// there, at which it stops as it is traced. So it is left alone, and counts as one that stands still behind the instruction that made the call. Where the
// program goes on it is let go by the end of the thread that traces it, which wakes nobody. Should this process be killed, the signal does nothing in
// this program.

// Sleepers are threads that sleep within calls now, as a stop shows those of them that it leaves there; none where the kernel does not tell.
func (p *Process) Sleepers() (list []*raw.Stopped) {
	for tid, is := range p.asleep() {
		list = append(list, &raw.Stopped{TID: tid, Regs: is.Regs, InSyscall: true})
	}
	return list
}

// asleep are the threads that sleep within calls, as far as somebody tells.
func (p *Process) asleep() map[int]syscalls.Sleeping {
	know := p.transfers.Load()
	if know == nil {
		return nil
	}
	asleep, _ := (*know).Sleepers(p.pid) // without it each is looked at, and asked to stop
	for _, is := range asleep {
		noteWait(&is)
	}
	return asleep
}

// leave has the threads that slept before in calls of some kind be left there. Each is held first: where it is seen within a call then, it does not come
// back from that any more, and its registers, which were the same before, are those that it has.
func (s *session) leave(know Transfers, before map[int]syscalls.Sleeping, kind func(*syscalls.Sleeping) bool) {
	const twice = 2 // who has a CPU while it is looked at is not seen
	for range twice {
		if !s.holdAll(know, before, kind) {
			return
		}
		after := s.p.asleep()
		s.takeAsleep(before, after)
		raw.Fault(raw.LeftInCalls)
		before = after
	}
}

// takeAsleep takes note of the threads that are held and were within the same call before and after.
func (s *session) takeAsleep(before, after map[int]syscalls.Sleeping) {
	for tid, is := range after {
		if tr := s.threads[tid]; tr != nil && tr.Holding && !tr.Sleeps && tr.Phase == raw.Running && tr.Asked == 0 {
			tr.Regs, tr.Blocked, tr.Sleeps = is.Regs, is.Blocked, is.Regs == before[tid].Regs && is.MayBeHeld() && isWithin(&is)
		}
	}
}

// isWithin says whether a thread certainly is within its call. One that waits for a CPU may be on its way back, if the result is ENOSYS: kernels lack some
// of the calls that wait, and filters give it for whatever a program can do without. All kernels have those that move data.
//
// To break into a wait from which a thread is about to come back is to hold up the stop until it gets a CPU; and accept and io_getevents say then that they
// were interrupted though their time was over, so that they would begin anew.
func isWithin(is *syscalls.Sleeping) bool {
	if !is.Woken || needed[uint32(is.Regs.Orig_rax)] {
		return true
	}
	return !is.Filters && (raw.EnteredBy(&is.Regs).Cuttable() || isKnownWait(is))
}

// needed are calls that no program which makes them can do without.
var needed = map[uint32]bool{unix.SYS_WRITE: true, unix.SYS_WRITEV: true, unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true}

// waits are calls that wait, and give ENOSYS only where the kernel does not have them; true where a thread was seen to sleep in one: it has it then.
var waits = map[uint32]*atomic.Bool{
	unix.SYS_POLL: {}, unix.SYS_PPOLL: {}, unix.SYS_SELECT: {}, unix.SYS_PSELECT6: {}, unix.SYS_EPOLL_WAIT: {}, unix.SYS_EPOLL_PWAIT: {}, unix.SYS_EPOLL_PWAIT2: {},
	unix.SYS_NANOSLEEP: {}, unix.SYS_CLOCK_NANOSLEEP: {}, unix.SYS_FUTEX: {}, unix.SYS_SEMTIMEDOP: {}, unix.SYS_RT_SIGTIMEDWAIT: {},
	unix.SYS_ACCEPT: {}, unix.SYS_ACCEPT4: {}, unix.SYS_IO_GETEVENTS: {}, unix.SYS_IO_PGETEVENTS: {},
}

// noteWait takes note of a call in which a thread sleeps. A filter may have somebody asked before there is a call.
func noteWait(is *syscalls.Sleeping) {
	if known := waits[uint32(is.Regs.Orig_rax)]; known != nil && !is.Woken && !is.Filters {
		known.Store(true)
	}
}

// isKnownWait says whether a thread is in a wait that the kernel is known to have.
func isKnownWait(is *syscalls.Sleeping) bool {
	const command, wait, waitBitset = 0x7f, 0, 9
	nr := uint32(is.Regs.Orig_rax)
	if op := is.Regs.Rsi & command; nr == unix.SYS_FUTEX && op != wait && op != waitBitset { // it gives ENOSYS for others that it does not have
		return false
	}
	known := waits[nr]
	return known != nil && known.Load()
}

// holdAll has each thread that sleeps in a call of some kind stop where that is over, and says whether there is one.
func (s *session) holdAll(know Transfers, asleep map[int]syscalls.Sleeping, kind func(*syscalls.Sleeping) bool) (any bool) {
	for tid, is := range asleep {
		tr := s.threads[tid]
		if tr == nil || tr.Stray || tr.Sleeps || tr.Phase != raw.Running || tr.Asked != 0 || is.Regs.Fs_base == 0 || !is.MayBeHeld() || !kind(&is) {
			continue
		}
		s.hold(know, tr)
		any = any || tr.Holding
	}
	return any
}

// hold has a thread stop where a call is over.
func (s *session) hold(know Transfers, tr *raw.Tracee) { tr.Holding = tr.Holding || know.Hold(tr.TID) }

// leaveAll leaves all threads that sleep in waits, into which a stop would break. They are attached for that, and not asked to stop. Of a few threads each
// is looked at twice: one that something has come for works for some microseconds, and often sleeps on in the same call.
func (s *session) leaveAll(w *transferWait) error {
	if w.know == nil {
		return nil
	}
	s.patient = true
	defer func() { s.patient = false }()
	for pass := 0; pass < 2; pass++ {
		asleep := s.p.asleep()
		if len(asleep) == 0 {
			continue
		}
		if _, err := s.attachPass(func(tid int) bool {
			is, sleeps := asleep[tid]
			return sleeps && is.MayBeHeld() && isWait(&is)
		}); err != nil {
			return err
		}
		s.leave(w.know, asleep, isWait)
		if len(asleep) >= manyThreads || s.areAll() {
			break
		}
	}
	return nil
}

// isWait says whether a thread in a call waits for something, or goes on with a wait that was interrupted; or, whatever it is that it has called, for the
// answer of whom a filter asks (SECCOMP_RET_USER_NOTIF), who would be asked again.
func isWait(is *syscalls.Sleeping) bool {
	nr := int64(uint32(is.Regs.Orig_rax))
	return nr == unix.SYS_RESTART_SYSCALL || nr >= 0 && resume.Rewindable[uint64(nr)] || is.Filters && !is.Woken && !spawns[uint32(nr)]
}

// spawns are calls amid which other code comes to run: in the program's memory a child of vfork, in its place another program.
var spawns = map[uint32]bool{unix.SYS_CLONE: true, unix.SYS_CLONE3: true, unix.SYS_FORK: true, unix.SYS_VFORK: true, unix.SYS_EXECVE: true, unix.SYS_EXECVEAT: true,
	unix.SYS_EXIT: true, unix.SYS_EXIT_GROUP: true}

// isTransfer says whether a thread is in a call that a stop may cut.
func isTransfer(is *syscalls.Sleeping) bool { return raw.EnteredBy(&is.Regs).Cuttable() }

// areAsleep begins the part in the stop of the threads that are left in their calls. All others stand still, so that nobody changes any more what is done
// with the signal. Those that would make use of it are asked to stop.
func (s *session) areAsleep() bool {
	var left []*raw.Tracee
	for _, tr := range s.threads {
		if tr.Sleeps && tr.Phase == raw.Running {
			left = append(left, tr)
		}
	}
	caught := s.caught(left)
	all := true
	for _, tr := range left {
		if is := (syscalls.Sleeping{Blocked: tr.Blocked, Caught: caught}); is.MayBeHeld() {
			tr.Phase = raw.Asleep
		} else {
			all = false
			s.awake(tr)
		}
	}
	return all
}

// caught are the signals that the process of these threads handles, the first in the lowest bit: all where that cannot be told.
func (s *session) caught(threads []*raw.Tracee) uint64 {
	for _, tr := range threads {
		if st, err := raw.ReadStatus(s.p.pid, tr.TID); err == nil && !isDead(st.State) {
			return st.Caught
		}
	}
	return ^uint64(0)
}

// awake is for a thread that is not left in its call, or no longer: it is asked to stop like all others.
func (s *session) awake(tr *raw.Tracee) {
	tr.Sleeps, tr.Phase = false, raw.Running
	tr.Interrupt()
}

// splitPatience is for how long one of the threads, which all sleep, is waited for to come out of its call by itself.
const splitPatience = time.Second

// awaitOne waits for a thread that stops where its call is over, while all sleep in calls that must not be broken into. It holds nobody, and so does not
// hurry: the first that comes is the one that is needed.
func (s *session) awaitOne() {
	if s.holdsOthers() {
		return
	}
	for _, tr := range s.threads {
		if tr.Phase == raw.Asleep && !raw.EnteredBy(&tr.Regs).Splits() {
			return
		}
	}
	s.t.calm()
	for end := time.Now().Add(splitPatience); time.Now().Before(end) && !s.holdsOthers() && s.ctx.Err() == nil; raw.Nap(200 * time.Microsecond) {
		looked := time.Now()
		for _, tr := range s.threads {
			s.pollAsleep(tr)
		}
		s.looked = looked
	}
	s.t.begin()
	s.begin = time.Now()
}

// pollAsleep looks whether a thread that was left in its call has come out of it. Then it is on its way to its stop, and executes nothing before that.
func (s *session) pollAsleep(tr *raw.Tracee) {
	if tr.Phase == raw.Asleep {
		tr.Phase = raw.Running
	}
	if s.poll(tr); tr.Phase == raw.Running && tr.Sleeps {
		tr.Phase = raw.Asleep
	}
}

// wake breaks a thread out of the call that it was left in, because nobody else can do what is to be done in the target. It says whether that one can now.
func (s *session) wake(tr *raw.Tracee) bool {
	least := 100 * time.Millisecond // as for the call itself
	if !s.holdsOthers() {
		least = DefaultDeadline
	}
	s.looked = time.Now()
	s.awake(tr)
	for round, end := 0, time.Now().Add(max(s.limit-time.Since(s.begin), least)); tr.Phase == raw.Running && time.Now().Before(end); round++ {
		looked := time.Now()
		if s.poll(tr); tr.Phase == raw.Running {
			s.looked = looked
			raw.Backoff(round, 1)
		}
	}
	return tr.Phase == raw.AtStop
}

// holdsOthers says whether some thread stands still.
func (s *session) holdsOthers() bool {
	for _, tr := range s.threads {
		if tr.Phase == raw.AtStop {
			return true
		}
	}
	return false
}
