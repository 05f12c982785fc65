package process

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/daemon/syscalls"
)

// Transfers that a stop would cut.
//
// A blocking call that has moved a part of its data when we break into it returns that part, and the program may take it for all. So threads
// get some time in which nobody is held: those that are in such a call may end it, and stop where it is over; the kernel sees to that. Threads
// that are not in one run on meanwhile. Where the time is not enough, the transfer is cut, and counted.

const (
	transferPatience = 20 * time.Millisecond // for all threads of a process
	slowPatience     = 60 * time.Millisecond // for those that were not out of one by then, while all others go on
	computing        = 4 * time.Millisecond  // of processor time in which a running thread moves no large piece: it is in no such call
	computingFor     = time.Second           // for which that is believed
)

// Transfers knows which threads move large pieces of data, and stops them where that is over. It looks between Begin and End; of a Begin
// that was answered with false there is no End. Hold has a thread get one of some signals where its call is over, which Forget takes back; it says
// whether the thread has got it.
type Transfers interface {
	Begin(pid int) bool
	End(pid int)
	MovedAt(tid int) (at time.Duration, ok bool)
	Hold(tid int)
	Forget(tid int) (got bool)
}

// KnowTransfers sets what knows of them. Without it threads are waited for that are blocked in a transfer, and are not stopped at its end. It is
// called from any goroutine.
func (p *Process) KnowTransfers(t Transfers) { p.transfers.Store(&t) }

// cutByStops are the calls of which a signal makes a blocked one return a part.
var cutByStops = map[uint64]bool{
	unix.SYS_WRITE: true, unix.SYS_WRITEV: true, unix.SYS_PWRITE64: true, unix.SYS_PWRITEV: true, unix.SYS_PWRITEV2: true,
	unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_SENDFILE: true, unix.SYS_SPLICE: true, unix.SYS_VMSPLICE: true,
	unix.SYS_COPY_FILE_RANGE: true, unix.SYS_GETRANDOM: true,
}

// cuttable says whether a stop may cut a call that a thread is blocked in. Of those that receive only some wait for more than there is.
func (b *Blocked) cuttable() bool {
	switch b.NR {
	case unix.SYS_RECVFROM:
		return b.Args[3]&unix.MSG_WAITALL != 0
	case unix.SYS_RECVMSG:
		return b.Args[2]&unix.MSG_WAITALL != 0
	}
	return b.NR >= 0 && cutByStops[uint64(b.NR)]
}

// A transferWait is the time that threads get in one stop.
type transferWait struct {
	s     *session
	know  Transfers // nil if the kernel does not look
	began time.Duration
	open  []*tracee             // threads that are or may be within a transfer
	found bool                  // one is
	holds func(tr *tracee) bool // which of them are to stop where that is over; nil: none
}

// lookForTransfers looks whether some thread is within a transfer, while nobody is traced: to see that running threads are not takes them some
// milliseconds.
func (s *session) lookForTransfers() *transferWait {
	w := &transferWait{s: s, began: monotonic()}
	tids, _ := listTasks(s.p.pid) // without them attaching fails, and says why
	for _, tid := range tids {
		w.open = append(w.open, &tracee{tid: tid})
	}
	if w.over() {
		return w
	}
	if know := s.p.transfers.Load(); know != nil && (*know).Begin(s.p.pid) {
		w.know, w.began = *know, monotonic()
	}
	for began := w.began; !w.over() && !w.found && monotonic()-began < transferPatience && s.ctx.Err() == nil; {
		nap(betweenLooks(len(tids)))
	}
	s.p.waited += monotonic() - w.began
	return w
}

// end comes when all threads that are to stop at the end of a transfer have, or need not any more.
func (w *transferWait) end() {
	if w.know != nil {
		w.know.End(w.s.p.pid)
	}
}

// letEnd waits until no thread is known to be within a transfer, or the time is over. Threads of which one ended have stopped then. Only those that
// are within one are traced meanwhile: for who is traced the kernel keeps signals that nobody handles, and they break the waits of all threads.
//
// Threads that always are in a transfer are out of it together only if those that stop first wait for the last. They wait for one that is
// slow no longer than for others: all go on until it has stopped.
func (w *transferWait) letEnd() error {
	s := w.s
	if len(w.open) == 0 {
		return nil
	}
	s.patient = true
	defer func() { s.patient = false }()
	if err := w.lookAtAll(); err != nil {
		return err
	}
	began := monotonic()
	for try := 0; !w.wait(transferPatience, nil) && try < 2 && s.p.mayWait(monotonic()-began); try++ {
		slow := slices.DeleteFunc(w.open, func(tr *tracee) bool { return !tr.holding })
		if w.open = slow; len(slow) == 0 {
			break
		}
		w.letGo()
		w.wait(slowPatience, slow)
		if err := w.lookAtAll(); err != nil {
			return err
		}
	}
	s.p.waited += monotonic() - began
	return nil
}

// mayWait says whether the target's stops may take still more time before they begin: what was waited for long is cut in the end anyway.
func (p *Process) mayWait(more time.Duration) bool {
	const share, free = 0.1, 500 * time.Millisecond
	return p.waited+more < free+time.Duration(share*float64(monotonic()-p.opened))
}

// lookAtAll attaches the threads that are or may be within a transfer.
func (w *transferWait) lookAtAll() error {
	w.holds = nil // who is not traced is not to stop
	_, err := w.s.attachPass(func(tid int) bool { return w.isWithin(&tracee{tid: tid}) })
	w.open = slices.Collect(maps.Values(w.s.threads))
	return err
}

// wait waits until no thread is within a transfer and says so; of the only ones, if they are given, which alone are to stop.
func (w *transferWait) wait(patience time.Duration, only []*tracee) (over bool) {
	w.holds = func(tr *tracee) bool { return only == nil || slices.Contains(only, tr) }
	for began := monotonic(); monotonic()-began < patience && !w.s.execed && w.s.ctx.Err() == nil; nap(betweenLooks(len(w.s.threads))) {
		w.s.pollOnTheWay()
		if w.over() {
			return true
		}
	}
	return false
}

// letGo lets threads go on that have stopped at the end of a transfer.
func (w *transferWait) letGo() {
	for _, tr := range w.s.threads {
		if tr.phase == stopped && tr.atEnd && unix.PtraceCont(tr.tid, 0) == nil {
			tr.phase, tr.atEnd, tr.asked = running, false, 0
		}
	}
	w.s.held = false
}

// betweenLooks: threads that report something wait for the next look, which takes longer with many.
func betweenLooks(threads int) time.Duration {
	if threads < manyThreads {
		return 100 * time.Microsecond
	}
	return time.Millisecond
}

// over looks at the threads that are left and says whether none is within a transfer any more.
func (w *transferWait) over() bool {
	w.open = slices.DeleteFunc(w.open, func(tr *tracee) bool { return tr.phase != running || tr.stray || !w.isWithin(tr) })
	return len(w.open) == 0
}

func (w *transferWait) isWithin(tr *tracee) bool {
	call, err := blockedIn(w.s.p.pid, tr.tid)
	if err == nil && !call.Running {
		w.s.calls[tr.tid] = call.NR
	}
	within := err == nil && call.cuttable()
	if err == nil && call.Running {
		within = w.mayBeWithin(tr)
	}
	known := within && (!call.Running || w.know != nil && w.movedAt(tr) >= w.began)
	w.found = w.found || known
	if known && w.know != nil && !tr.holding && w.holds != nil && w.holds(tr) {
		tr.holding = true
		w.know.Hold(tr.tid)
	}
	return within
}

// mayBeWithin is for a running thread: it may compute, or be within the kernel. Where nobody tells, it computes.
func (w *transferWait) mayBeWithin(tr *tracee) bool {
	p := w.s.p
	moved := w.movedAt(tr)
	if at, known := p.computed[tr.tid]; p.transfers.Load() == nil || known && monotonic()-at < computingFor && moved < w.began {
		return false
	}
	if w.know == nil {
		return true // look
	}
	ran := processorTime(p.pid, tr.tid)
	if tr.ran == 0 || moved > tr.moved {
		tr.ran, tr.moved = ran, moved
	}
	if ran-tr.ran < computing {
		return true
	}
	p.computed[tr.tid] = monotonic()
	return false
}

// processorTime is what a thread has had of processors, from /proc/PID/task/TID/schedstat. Where the kernel does not tell, it is more each time:
// such threads are taken to compute.
func processorTime(pid, tid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	field, _, _ := bytes.Cut(b, []byte(" "))
	ns, parse := strconv.ParseInt(string(field), 10, 64)
	if err != nil || parse != nil {
		return monotonic()
	}
	return time.Duration(ns)
}

// movedAt is when a thread has moved a large piece last, 0 if that is not known.
func (w *transferWait) movedAt(tr *tracee) time.Duration {
	if w.know == nil {
		return 0
	}
	at, _ := w.know.MovedAt(tr.tid)
	return at
}

// pollOnTheWay takes in what threads report that have not been asked to stop.
func (s *session) pollOnTheWay() {
	for _, tr := range s.threads {
		if tr.phase != running {
			continue
		}
		if s.poll(tr); tr.phase == stopped && !s.held {
			s.held, s.begin = true, time.Now()
		}
	}
}

// forgetHolds comes when all threads have stopped.
func (s *session) forgetHolds() {
	know := s.p.transfers.Load()
	for _, tr := range s.threads {
		if tr.holding {
			(*know).Forget(tr.tid)
			tr.holding = false
		}
	}
}

// atTransfersEnd says whether a signal is the one that stops a thread where its transfer is over. The kernel sends it; one that somebody else
// has sent is not ours to take away.
func (s *session) atTransfersEnd(tr *tracee, sig int) bool {
	if !tr.holding || !slices.Contains(syscalls.HoldSignals, unix.Signal(sig)) {
		return false
	}
	const fromKernel = 0x80 // SI_KERNEL
	code, err := ptraceSignalCode(tr.tid)
	if err != nil || code != fromKernel || !(*s.p.transfers.Load()).Forget(tr.tid) {
		return false
	}
	tr.holding, tr.atEnd = false, true
	return true
}

// ptraceSignalCode is the si_code of the signal that a thread is about to get.
func ptraceSignalCode(tid int) (code int32, err error) {
	var info [128]byte // siginfo_t
	if err := ptrace(unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(&info))); err != nil {
		return 0, err
	}
	return int32(binary.LittleEndian.Uint32(info[8:])), nil
}
