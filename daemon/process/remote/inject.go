package remote

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
	faults "culprit/internal/fault"
)

// System calls made by a thread of the target on our behalf.
//
// Nothing is written to text: the thread is sent to an existing `syscall; ret`. On the stack waits the address of an existing rt_sigreturn
// and a frame with its whole state: should we be killed at any instant, the thread makes the call, returns, restores itself and goes on.
// As long as we live it is caught at the exit of the call and put back by us. Signals stay blocked meanwhile, and pending.
//
// Calls that one thread makes follow one another where the frame may stay (place): the thread stands at the exit of the last call until the next one,
// another thread's turn or the end of the stop (parked). A call lets it go on twice then, and not thrice with a frame of its own.

const noSyscall = ^uint64(0) // orig_rax of a thread that is in no system call

// faultGoing is where a thread goes on in a call that it makes for us, thrice in each; an error there means that it does not get a processor in time.
var faultGoing = faults.New("call.going")

var errNotOurCall = errors.New("the thread did not make the call it was sent to make")

// Syscall makes a system call in the target and gives its result. A failure of the call itself is a unix.Errno. At most six arguments.
// Other errors: *Unsupported (seccomp without CAP_SYS_ADMIN, shadow stacks, no place to stand), ErrTargetExited.
func (w *Caller) Syscall(nr uint64, args ...uint64) (uint64, error) {
	return w.syscall(nil, nr, args...)
}

// syscall can put bytes (a name) into the target first; then the first argument is replaced by their address.
func (w *Caller) syscall(name []byte, nr uint64, args ...uint64) (uint64, error) {
	if w.over {
		return 0, ErrOver
	}
	if len(args) > 6 || len(name) >= maxName {
		panic("BUG: injected call with too many arguments or too long a name")
	}
	c, err := w.prepare(name)
	if err != nil {
		return 0, err
	}
	var a [6]uint64
	copy(a[:], args)
	if name != nil {
		a[0] = uint64(c.name)
	}
	return c.call(nr, a)
}

// A call is one system call on its way.
type call struct {
	w     *Caller
	tr    *raw.Tracee
	mask  uint64 // signals the thread blocks by itself
	area  raw.Addr
	stays bool   // the frame may stay there between calls
	saved []byte // what the area held
	name  raw.Addr
	reply []byte // to be filled from where the name is, behind the call
	frame callFrame
	until time.Time

	unfiltered func() // gives the thread its filter back
	sent       bool   // the thread has left its place for the frame
}

// prepare chooses a thread and a place, and writes the frame. While a thread has yet to complete a call none is made: what the late call unmaps
// or closes might be something else by then.
func (w *Caller) prepare(name []byte) (*call, error) {
	if err := w.ready(); err != nil {
		return nil, err
	}
	var tried []int
	var noRoom error
	for {
		tr, err := w.ChooseThread(tried...)
		if err != nil {
			return nil, w.gone(cmp.Or(noRoom, err))
		}
		c, err := w.prepareOn(tr, name)
		if !passes(err) || len(tried) == lookAtThreads {
			return c, err
		}
		tried, noRoom = append(tried, tr.TID), err // another one may have room on its stack
	}
}

// ready makes sure that calls can be made at all.
func (w *Caller) ready() error {
	if err := w.Pending(); err != nil {
		return w.gone(err)
	}
	if !w.known.gadgets.found() {
		return w.gone(&raw.Unsupported{What: "a program without the instructions `syscall; ret` and rt_sigreturn in its files", Needs: "a C library or the Go runtime"})
	}
	return nil
}

// passes tells that something cannot be done only because of where threads stand.
func passes(err error) bool {
	var unsupported *raw.Unsupported
	return errors.As(err, &unsupported) && unsupported.Passes
}

// prepareOn chooses a place for a call of one thread, and writes the frame. One that is parked has both.
func (w *Caller) prepareOn(tr *raw.Tracee, name []byte) (_ *call, err error) {
	if c := w.parked; c != nil && c.tr == tr {
		c.until, c.reply = w.patience(), nil
		return c, c.writeName(name)
	}
	if err := w.unpark(); err != nil {
		return nil, err
	}
	c := &call{w: w, tr: tr, until: w.patience()}
	if c.mask, err = raw.GetMask(tr.TID); err != nil {
		return nil, w.gone(err)
	}
	image, err := raw.RegisterSet(tr.TID, unix.NT_X86_XSTATE, make([]byte, maxXsave))
	if err != nil {
		return nil, w.gone(fmt.Errorf("vector registers of thread %d: %w", tr.TID, err))
	}
	vectors := signalXsave(image)
	c.saved = make([]byte, frameRoom+len(vectors))
	if c.area, c.stays, err = w.place(tr.TID, len(c.saved)); err != nil {
		return nil, w.gone(err)
	}
	back := resume.Rewound(tr.Regs)
	c.frame = buildFrame(c.area+raw.Addr(len(c.saved)), &back, c.mask, vectors, w.known.gadgets.sigreturn)
	return c, c.write(name)
}

// Room for a call's memory: maxName bytes at the low end, the frame without the vector state behind them.
const (
	maxName   = 512
	frameRoom = maxName + 8 + frameLength + 16 + 64
)

// patience is how long one call may take before its thread is left to complete it alone.
func (w *Caller) patience() time.Time {
	left := max(w.limit-time.Since(w.begin), 100*time.Millisecond)
	return time.Now().Add(left)
}

// write fills the area: name, frame.
func (c *call) write(name []byte) error {
	if err := c.w.mem.Read(c.area, c.saved); err != nil {
		return c.w.gone(err)
	}
	c.name = c.area
	if _, err := c.w.mem.Pwrite(c.frame.data, c.frame.sp); err != nil {
		return c.w.gone(&raw.WriteError{Addr: c.frame.sp, Err: err})
	}
	return c.writeName(name)
}

func (c *call) writeName(name []byte) error {
	if name == nil {
		return nil
	}
	if _, err := c.w.mem.Pwrite(append(name[:len(name):len(name)], 0), c.name); err != nil {
		return c.w.gone(&raw.WriteError{Addr: c.name, Err: err})
	}
	return nil
}

// clear puts the old bytes back. In a page of our own there are none, and what was made by the call stays readable (madePair).
func (c *call) clear() {
	if c.area != c.w.own {
		_, _ = c.w.mem.Pwrite(c.saved, c.area)
	}
}

// ChooseThread prefers a thread that was running in user mode: it has no call to repeat. It takes none of those that have been tried; who has
// made a call can make another one.
func (w *Caller) ChooseThread(tried ...int) (*raw.Tracee, error) {
	if tr := w.caller; tr != nil && tr.Phase == raw.AtStop && !slices.Contains(tried, tr.TID) {
		return tr, nil
	}
	w.await()
	var candidates []*raw.Tracee
	for _, t := range w.threads {
		if tr := w.tracees[t.TID]; tr != nil && (tr.Phase == raw.AtStop || tr.Phase == raw.Asleep) && !slices.Contains(tried, t.TID) {
			candidates = append(candidates, tr)
		}
	}
	sort.SliceStable(candidates, func(i, j int) bool { return burden(candidates[i]) < burden(candidates[j]) })
	passes := false
	for _, tr := range candidates {
		if tr.Phase == raw.Asleep && !w.wake(tr) {
			if tr.Phase == raw.Running {
				return nil, raw.Late(w.pid, tr.TID, time.Since(w.begin), false)
			}
			continue // it has ended
		}
		switch able, later := w.canCall(tr); {
		case able:
			w.caller = tr
			return tr, nil
		case later:
			passes = true
		}
	}
	return nil, &raw.Unsupported{What: "no thread of the target can make a system call for us",
		Needs: "a thread without a shadow stack, outside of a restartable sequence, and whose system calls are no signal (PR_SET_SYSCALL_USER_DISPATCH)", Passes: passes}
}

// canCall reports whether a thread can make a call and come back by itself, and if not, whether it may be able to at another time.
func (w *Caller) canCall(tr *raw.Tracee) (able, later bool) {
	switch {
	case hasShadowStack(tr.TID):
		return false, false
	case dispatched(tr):
		return false, true // also where its selector lets calls pass now: a handler may change that before the thread is back, should we be killed
	case w.InRseq(tr):
		return false, true
	}
	return true, true
}

// dispatched reports whether a call of a thread would not be made but be a signal for it, perhaps its end, and the return from that as well. A
// thread does not change that while it stands still.
func dispatched(tr *raw.Tracee) bool {
	if tr.Dispatched == nil {
		is := raw.Dispatches(tr.TID)
		tr.Dispatched = &is
	}
	return *tr.Dispatched
}

// Dispatched is a thread whose system calls are a signal for it (prctl(2), PR_SET_SYSCALL_USER_DISPATCH); 0 if there is none, or the kernel
// cannot say (before Linux 6.4).
func (w *Caller) Dispatched() (tid int) {
	for _, t := range w.threads {
		if tr := w.tracees[t.TID]; tr != nil && tr.Phase == raw.AtStop && dispatched(tr) {
			return t.TID
		}
	}
	return 0
}

// MayReadTSC has a thread ask the kernel whether it may read the time-stamp counter (prctl(2), PR_GET_TSC). asked is false where that one cannot
// make a call now.
func (w *Caller) MayReadTSC(tid int) (may, asked bool, err error) {
	if w.over {
		return false, false, ErrOver
	}
	tr := w.tracees[tid]
	if tr == nil || tr.Phase != raw.AtStop {
		return false, false, nil
	}
	if able, _ := w.canCall(tr); !able {
		return false, false, nil
	}
	if err := w.ready(); err != nil {
		return false, false, err
	}
	c, err := w.prepareOn(tr, nil)
	if passes(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	const getTSC, enabled = 25, 1 // PR_GET_TSC, PR_TSC_ENABLE
	c.reply = make([]byte, 4)
	if _, err := c.call(unix.SYS_PRCTL, [6]uint64{getTSC, uint64(c.name)}); err != nil {
		return false, false, err
	}
	return binary.LittleEndian.Uint32(c.reply) == enabled, true, nil
}

// inOurCall reports whether a thread has yet to complete a call that it was sent to make in an earlier stop: one of a process that is frozen does
// not, and what it comes back by must stay. To send it once more would stack frames for as long as it is frozen.
func (w *Caller) inOurCall(t *raw.Stopped) bool {
	g, rip := &w.known.gadgets, raw.Addr(t.Regs.Rip)
	if rip != g.syscall && rip != g.syscall+raw.SyscallLength {
		return false
	}
	b := make([]byte, frameStack+16)
	n, _ := w.mem.Pread(b, raw.Addr(t.Regs.Rsp))
	return n == len(b) && isCallFrame(b, g.sigreturn)
}

// Pending is an error while some thread has yet to complete a call that it was sent to make in an earlier stop, and that was not waited for
// any longer: what the call does is still to come, or is not known. It is a *Deferred.
func (w *Caller) Pending() error {
	if w.over {
		return ErrOver
	}
	w.known.Search(w.pid, w.mem) // again, where the text was changed in this stop: restored, for example
	if !w.looked {
		w.looked = true
		for _, t := range w.threads {
			if tr := w.tracees[t.TID]; tr != nil && tr.Adrift || w.inOurCall(t) {
				w.late = raw.Late(w.pid, t.TID, time.Since(w.begin), true)
				break
			}
		}
	}
	if w.late != nil {
		return w.late
	}
	return nil
}

// burden orders threads by how much has to be put right behind a call.
func burden(tr *raw.Tracee) int {
	n := 0
	switch {
	case tr.Phase == raw.Asleep && raw.EnteredBy(&tr.Regs).Splits(): // it would do less than it was to
		n = 10
	case tr.Phase == raw.Asleep: // it would wait anew
		n = 6
	case resume.HasRest(&tr.Regs): // which is lost should it come back by its frame
		n = 5
	case resume.InSyscall(&tr.Regs):
		n = 2
	case tr.Regs.Orig_rax != noSyscall:
		n = 1
	}
	if tr.Group {
		n += 3
	}
	return n
}

// hasShadowStack: the frame's return would not be on the shadow stack.
func hasShadowStack(tid int) bool {
	_, err := raw.RegisterSet(tid, unix.NT_X86_SHSTK, make([]byte, 8))
	return err == nil
}

// call sends the thread. Where its frame may stay it may be sent again; another place it leaves at once.
func (c *call) call(nr uint64, args [6]uint64) (uint64, error) {
	result, err := c.roundTrip(nr, args)
	if c.isLost() {
		c.w.parked = nil
		return 0, err
	}
	if err == nil && len(c.reply) > 0 {
		err = c.w.gone(c.w.mem.Read(c.name, c.reply))
	}
	if c.w.parked = c; err != nil || !c.stays {
		err = errors.Join(err, c.w.unpark())
	}
	if err != nil {
		return 0, err
	}
	if e := -int64(result); e > 0 && e < 4096 {
		return 0, unix.Errno(e)
	}
	return result, nil
}

// isLost says that the thread completes the call alone, or has ended.
func (c *call) isLost() bool { return c.tr.Adrift || c.tr.Phase != raw.AtStop }

// unpark brings back the thread that made the last call, if it was not brought back yet.
func (w *Caller) unpark() (err error) {
	c := w.parked
	if w.parked = nil; c == nil || c.isLost() {
		return nil
	}
	if c.sent {
		err = c.bringBack()
	}
	if c.isLost() {
		return err
	}
	if c.unfiltered != nil {
		c.unfiltered()
	}
	raw.Fault("call.brought-back")
	c.clear()
	return err
}

// suspendSeccomp lifts the filter of the one thread until it is brought back: a filter may kill the process for a call it does not expect.
func (c *call) suspendSeccomp() (restore func(), err error) {
	mode, err := c.w.filtered(c.tr)
	if err != nil {
		return nil, err
	}
	switch mode {
	case 0:
		return func() {}, nil
	case 1:
		return nil, &raw.Unsupported{What: "target in strict seccomp mode", Needs: "a target without it"}
	}
	if err := unix.PtraceSetOptions(c.tr.TID, raw.SeizeOptions|unix.PTRACE_O_SUSPEND_SECCOMP); err != nil {
		return nil, &raw.Unsupported{What: "target under a seccomp filter", Needs: "CAP_SYS_ADMIN"}
	}
	return func() { _ = unix.PtraceSetOptions(c.tr.TID, raw.SeizeOptions) }, nil
}

// filtered is the thread's seccomp mode, which it does not change while it stands still: 0 none, 1 strict, 2 filter.
func (w *Caller) filtered(tr *raw.Tracee) (mode int, err error) {
	if tr.Seccomp == nil {
		s, err := raw.ReadStatus(w.pid, tr.TID)
		if err != nil {
			return 0, w.gone(unix.ESRCH)
		}
		tr.Seccomp = &s.Seccomp
	}
	return *tr.Seccomp, nil
}

// roundTrip: at every instant in here our death leaves a thread that completes the call by itself, or has not begun it.
func (c *call) roundTrip(nr uint64, args [6]uint64) (_ uint64, err error) {
	if c.unfiltered == nil {
		if c.unfiltered, err = c.suspendSeccomp(); err != nil {
			c.unfiltered = func() {}
			return 0, err
		}
	}
	c.w.called = true
	regs := c.tr.Regs
	regs.Orig_rax, regs.Rax = noSyscall, nr
	regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9 = args[0], args[1], args[2], args[3], args[4], args[5]
	regs.Rip, regs.Rsp = uint64(c.w.known.gadgets.syscall), uint64(c.frame.sp)
	raw.Fault("call.frame-written")
	if err := unix.PtraceSetRegs(c.tr.TID, &regs); err != nil {
		return 0, c.dying(err)
	}
	raw.Fault("call.registers-set")
	if !c.sent {
		// Only now: the frame is what restores the mask if we die.
		c.sent = true
		if err := raw.SetMask(c.tr.TID, ^uint64(0)); err != nil {
			return 0, c.dying(err)
		}
		raw.Fault("call.signals-blocked")
	}
	result, err := c.run(nr)
	raw.Fault("call.made")
	return result, err
}

// run resumes the thread until it has left the call.
func (c *call) run(nr uint64) (uint64, error) {
	entered := false
	for {
		status, err := c.resume(unix.PtraceSyscall, 0)
		if err != nil {
			return 0, err
		}
		for status&0xff != raw.SyscallStop {
			sig, ok := injectSignal(status)
			if !ok {
				return 0, fmt.Errorf("thread %d: %w (signal %d)", c.tr.TID, errNotOurCall, sig)
			}
			if status, err = c.resume(unix.PtraceSyscall, sig); err != nil {
				return 0, err
			}
		}
		var now unix.PtraceRegs
		if err := unix.PtraceGetRegs(c.tr.TID, &now); err != nil {
			return 0, c.dying(err)
		}
		if now.Orig_rax != nr {
			return 0, fmt.Errorf("thread %d: %w (call %d)", c.tr.TID, errNotOurCall, int64(now.Orig_rax))
		}
		if entered {
			return now.Rax, nil
		}
		entered = true
		raw.Fault("call.entered")
	}
}

// injectSignal says with which signal to go on after a stop other than that of the call. All signals are blocked; what can still come is a
// job-control stop, and a fault of the instruction itself, which must not be.
func injectSignal(status int) (sig int, ok bool) {
	sig, event := status&0xff, status>>8
	if event != 0 {
		return 0, true
	}
	return sig, sig == int(unix.SIGSTOP)
}

// bringBack makes the thread what it was: at an interrupt stop with its own registers and mask. The interrupt is asked for first, so that
// the kernel looks after the restart of its own call even if we die right behind the registers.
func (c *call) bringBack() error {
	tid := c.tr.TID
	if err := unix.PtraceInterrupt(tid); err != nil {
		return c.dying(err)
	}
	raw.Fault("call.interrupted")
	if err := raw.SetMask(tid, c.mask); err != nil {
		return c.dying(err)
	}
	raw.Fault("call.signals-restored")
	if err := unix.PtraceSetRegs(tid, &c.tr.Regs); err != nil {
		return c.dying(err)
	}
	raw.Fault("call.registers-restored")
	for sig := 0; ; {
		status, err := c.resume(unix.PtraceCont, sig)
		if err != nil {
			return err
		}
		if status>>8 == unix.PTRACE_EVENT_STOP {
			c.tr.Group = status&0xff != int(unix.SIGTRAP)
			return nil
		}
		if sig = 0; status>>8 == 0 && status&0xff != raw.SyscallStop {
			sig = status & 0xff // none is expected before the interrupt; if one comes it is not lost
		}
		_ = unix.PtraceInterrupt(tid) // every stop takes back one that was pending
	}
}

// resume lets the thread go on and waits for its next stop.
func (c *call) resume(how func(int, int) error, sig int) (status int, err error) {
	c.w.runs.add(c.tr.TID)
	if err := how(c.tr.TID, sig); err != nil {
		return 0, c.dying(err)
	}
	if faultGoing.Hit(c.w.pid) != nil {
		return 0, c.abandon()
	}
	for round := 0; ; round++ {
		result, status := raw.WaitThread(c.tr.TID, c.tr.Keep)
		switch {
		case result == raw.WaitStopped:
			return status, nil
		case result.Gone():
			c.tr.Phase = raw.Ended
			return 0, c.dying(unix.ESRCH)
		case time.Now().After(c.until):
			return 0, c.abandon()
		}
		raw.Backoff(round, 1)
	}
}

// abandon leaves the thread to complete the call alone; the tracer releases it when it next stops.
func (c *call) abandon() error {
	c.tr.Phase, c.tr.Adrift = raw.Running, true
	_ = unix.PtraceInterrupt(c.tr.TID)
	c.w.late = raw.Late(c.w.pid, c.tr.TID, time.Since(c.w.begin), true)
	return c.w.late
}

// dying handles a thread that vanished under us: it was killed, with the whole process.
func (c *call) dying(err error) error {
	c.tr.Phase = raw.Ended
	return c.w.gone(err)
}
