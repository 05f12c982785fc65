package process

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
	"culprit/internal/procfs"
)

// Transfers that a stop would cut.
//
// A blocking call that has moved a part of its data when we break into it returns that part, and the program may take it for all. So a thread that
// is within such a call is left there: the kernel sees to it that it stops where the call is over, before it is back in the program (asleep.go).
// One that runs may be within one that it entered before anybody looked, and gets some time to end it or to fall asleep, in which nobody is held.
// Where that cannot be, the transfer is cut, and counted.

const (
	transferPatience = 20 * time.Millisecond // for all threads of a process
	betweenWalks     = 2 * time.Millisecond  // from one look at what threads are within to the next
	computing        = 4 * time.Millisecond  // of processor time in which a running thread moves no large piece: it computes, or is in a long call
	computingFor     = time.Second           // for which that is believed
)

// Transfers knows which threads move large pieces of data and which sleep within calls, and stops them where a call is over. It looks between Begin and
// End; of a Begin that was answered with false there is no End. Hold has a thread get one of some signals where its next call is over, or the one that it is in, if
// that is possible. Forget takes that back and says whether the thread has got it. Sleepers are the threads of a process that sleep within a call.
type Transfers interface {
	Begin(pid int) bool
	End(pid int)
	MovedAt(tid int) (at time.Duration, ok bool)
	Hold(tid int) (held bool)
	Forget(tid int) (got bool)
	Sleepers(pid int) (map[int]syscalls.Sleeping, error)
}

// KnowTransfers sets what knows of them. Without it threads are waited for that are blocked in a transfer, and are not stopped at its end. It is
// called from any goroutine.
func (p *Process) KnowTransfers(t Transfers) { p.transfers.Store(&t) }

// A transferWait is the time that threads get in one stop.
type transferWait struct {
	s     *session
	know  Transfers // nil if the kernel does not look
	began time.Duration
	open  []*raw.Tracee // threads that are or may be within a transfer
	found bool          // one is
	holds bool          // they are traced, and to stop where that is over
}

// lookForTransfers looks whether some thread is within a transfer, while nobody is traced: to see that running threads are not takes them some
// milliseconds.
func (s *session) lookForTransfers() *transferWait {
	w := &transferWait{s: s, began: raw.Monotonic()}
	asleep := s.p.asleep()
	tids, _ := raw.Tasks(s.p.pid) // without them attaching fails, and says why
	waits := false
	for _, tid := range tids {
		is, sleeps := asleep[tid]
		call := raw.EnteredBy(&is.Regs)
		if sleeps && !call.Cuttable() {
			s.calls[tid], waits = call.NR, true
		} else {
			w.open = append(w.open, &raw.Tracee{TID: tid})
		}
	}
	if w.over() && !waits {
		return w
	}
	if know := s.p.transfers.Load(); know != nil && (*know).Begin(s.p.pid) {
		w.know, w.began = *know, raw.Monotonic()
	}
	for began := w.began; !w.over() && !w.found && raw.Monotonic()-began < transferPatience && s.ctx.Err() == nil; {
		raw.Nap(betweenLooks(len(tids)))
	}
	return w
}

// end comes when all threads that are to stop at the end of a transfer have, or need not any more.
func (w *transferWait) end() {
	if w.know != nil {
		w.know.End(w.s.p.pid)
	}
}

// letEnd waits until no thread may be within a transfer but those that do not come back from it, or the time is over.
// Threads of which one ended have stopped then. Only those that are within one are traced meanwhile: for who is traced the kernel keeps signals that
// nobody handles, and they break the waits of all threads.
func (w *transferWait) letEnd() error {
	s := w.s
	if len(w.open) == 0 {
		return nil
	}
	s.patient = true
	defer func() { s.patient = false }()
	if _, err := s.attachPass(func(tid int) bool { return s.runsCode(tid) && w.isWithin(&raw.Tracee{TID: tid}) }); err != nil {
		return err
	}
	w.open, w.holds = slices.Collect(maps.Values(s.threads)), true
	var last time.Duration
	for began := raw.Monotonic(); raw.Monotonic()-began < transferPatience && !s.execed && s.ctx.Err() == nil; raw.Nap(betweenLooks(len(s.threads))) {
		s.pollOnTheWay()
		if now := raw.Monotonic(); w.know != nil && now-last >= betweenWalks {
			s.leave(w.know, s.p.asleep(), isTransfer)
			last = now
		}
		if w.over() {
			break
		}
	}
	return nil
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
	w.open = slices.DeleteFunc(w.open, func(tr *raw.Tracee) bool { return tr.Phase != raw.Running || tr.Stray || tr.Sleeps || !w.isWithin(tr) })
	return len(w.open) == 0
}

func (w *transferWait) isWithin(tr *raw.Tracee) bool {
	call, err := raw.BlockedIn(w.s.p.pid, tr.TID)
	if err == nil && !call.Running {
		w.s.calls[tr.TID] = call.NR
	}
	within := err == nil && call.Cuttable()
	known := within
	if err == nil && call.Running {
		within, known = w.mayBeWithin(tr)
	}
	w.found = w.found || known
	if known && call.Running && w.holds {
		w.s.hold(w.know, tr)
	}
	return within
}

// mayBeWithin is for a running thread: it may compute, or be within the kernel. Where nobody tells, it computes. likely says that it may well be: it has
// moved a piece while somebody looked, or it works on and on, and has most of its time in the kernel.
func (w *transferWait) mayBeWithin(tr *raw.Tracee) (may, likely bool) {
	p := w.s.p
	moved := w.movedAt(tr)
	if at, known := p.computed[tr.TID]; p.transfers.Load() == nil || known && raw.Monotonic()-at < computingFor && moved < w.began {
		return false, false
	}
	if w.know == nil {
		return true, false // look
	}
	ran := processorTime(p.pid, tr.TID)
	if tr.Ran == 0 || moved > tr.Moved {
		tr.Ran, tr.Moved = ran, moved
	}
	if ran-tr.Ran < computing {
		return true, moved >= w.began
	}
	if st, err := procfs.ReadThreadStat(p.pid, tr.TID); err == nil && st.System > st.User {
		return true, true
	}
	p.computed[tr.TID] = raw.Monotonic()
	return false, false
}

// processorTime is what a thread has had of processors, from /proc/PID/task/TID/schedstat. Where the kernel does not tell, it is more each time:
// such threads are taken to compute.
func processorTime(pid, tid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	field, _, _ := bytes.Cut(b, []byte(" "))
	ns, parse := strconv.ParseInt(string(field), 10, 64)
	if err != nil || parse != nil {
		return raw.Monotonic()
	}
	return time.Duration(ns)
}

// movedAt is when a thread has moved a large piece last, 0 if that is not known.
func (w *transferWait) movedAt(tr *raw.Tracee) time.Duration {
	if w.know == nil {
		return 0
	}
	at, _ := w.know.MovedAt(tr.TID)
	return at
}

// pollOnTheWay takes in what threads report that have not been asked to stop.
func (s *session) pollOnTheWay() {
	looked, held := time.Now(), !s.still.IsZero()
	for _, tr := range s.threads {
		if tr.Phase == raw.Running {
			s.poll(tr)
		}
	}
	if !held && !s.still.IsZero() {
		s.begin = time.Now()
	}
	s.looked = looked
}

// forgetHolds comes before threads are let go. One that was asleep and has got the signal is on its way to a stop.
func (s *session) forgetHolds() {
	know := s.p.transfers.Load()
	for _, tr := range s.threads {
		if !tr.Holding {
			continue
		}
		tr.Holding = false
		if (*know).Forget(tr.TID) && tr.Sleeps {
			s.awake(tr)
		}
	}
}

// atTransfersEnd says whether a signal is the one that stops a thread where its transfer is over. The kernel sends it; one that somebody else
// has sent is not ours to take away.
func (s *session) atTransfersEnd(tr *raw.Tracee, sig int) bool {
	if !tr.Holding || !slices.Contains(syscalls.HoldSignals, unix.Signal(sig)) {
		return false
	}
	const fromKernel = 0x80 // SI_KERNEL
	code, err := raw.SignalCode(tr.TID)
	if err != nil || code != fromKernel || !(*s.p.transfers.Load()).Forget(tr.TID) {
		return false
	}
	tr.Holding = false
	return true
}
