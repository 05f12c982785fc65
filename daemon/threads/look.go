package threads

import (
	"encoding/binary"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/process"
)

// A State is what a thread was seen doing.
type State int

const (
	Active  State = iota // it runs, or is ready to
	Waiting              // it waits for something
	Idle                 // it waits with nothing to do
	unfed                // it waits for another thread that has nothing to do
	nStates
)

// A Judge knows more of a thread that waits than the call that it is in.
type Judge interface {
	// Asks tells whether one that waits until descriptors are ready waits for an answer, or for another thread; and one that waits in a futex call for a
	// lock.
	Asks(call kernel.BlockedCall, p Pace) bool
	// Unfed is what part of the waits of one that waits for others to tell it to go on nobody ends but time, or threads that have nothing to do
	// themselves, 0 to 1; ok is false if that is not known.
	Unfed(call kernel.BlockedCall) (share float64, ok bool)
}

// mostlyUnfed is what part of its waits must be so for a thread to have nothing to do.
const mostlyUnfed = 0.5

// A Pace is how often a thread has run lately.
type Pace struct {
	Quiet float64 // s for which it has not run
	Wakes float64 // how often a second it is put on a CPU
}

// IsSlow tells whether a thread that waits for others to give it work has nothing to do.
func (p Pace) IsSlow() bool { return signalled(p.Quiet, p.Wakes) }

// A wait is one wait of a thread: the call, its descriptor, and since when.
type wait struct {
	nr    int
	fd    uint64
	since float64
}

// Look reads in /proc what one thread does at a session time, and notes it. ok is false if the thread has ended, or is not known yet. The
// judge is asked without a lock of the table; where there is none (nil) the call alone tells.
func (t *Table) Look(tid int, at float64, j Judge) (call kernel.BlockedCall, state State, ok bool) {
	call, err := kernel.Blocked(t.cfg.PID, tid)
	if err != nil {
		return call, 0, false
	}
	call = t.asMade(tid, call)
	if t.hasNoGoroutine(call) {
		j = nil
	}
	asked := false
	if j != nil && !call.Running && (arch.IsReadiness(call.NR) || call.NR == unix.SYS_FUTEX && toldByThreads(call)) {
		if r, known := t.Get(tid); known {
			asked = j.Asks(call, Pace{at - r.quietSince, r.wakes})
		}
	}
	state = t.stateOf(tid, call, asked, at)
	if state == Waiting && j != nil && t.isTold(tid, call) {
		if share, known := j.Unfed(call); known && share >= mostlyUnfed {
			state = unfed
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	if r == nil {
		return call, 0, false
	}
	r.parked = state == Idle || state == unfed
	r.looked = true
	r.looks[state]++
	if state == unfed {
		state = Idle
	}
	return call, state, true
}

// LookAtNew looks at up to most threads that nobody has looked at yet, by their calls alone: the regular looks may have to wait for tables of the code, and
// a thread that was never looked at would count as waiting for something.
func (t *Table) LookAtNew(at float64, most int) {
	var tids []int
	t.Each(func(r *Row) {
		if !r.looked && len(tids) < most {
			tids = append(tids, r.TID)
		}
	})
	for _, tid := range tids {
		t.Look(tid, at, nil)
	}
}

// asMade is the call that a thread made itself, where a stop has broken into it and it goes on with restart_syscall: the arguments are still those.
func (t *Table) asMade(tid int, call kernel.BlockedCall) kernel.BlockedCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	switch {
	case r == nil || call.Running:
	case call.NR != unix.SYS_RESTART_SYSCALL:
		r.made = call
	case call.PC == r.made.PC && call.SP == r.made.SP && call.Args == r.made.Args:
		call.NR = r.made.NR
	case call.Args[0] > 0 && call.Args[0]%4 == 0 && (call.Args[1] == futexWaitBitset || call.Args[1] == futexWaitBitset|futexClockRealtime):
		call.NR = unix.SYS_FUTEX // nobody polls exactly so many descriptors
	}
	return call
}

// stateOf is what a thread does as far as the call that it is in tells. asked says that it waits for an answer.
func (t *Table) stateOf(tid int, call kernel.BlockedCall, asked bool, at float64) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	switch {
	case r == nil, call.Running:
		return Active
	case r.Times.State == 'T', t.frozen:
		return Idle // whatever it waited for before somebody has stopped it
	case t.hasNoGoroutine(call), !asked && (idles(call, at-r.quietSince, r.wakes) || t.polls(r, call, at)):
		return Idle
	}
	return Waiting
}

// hasNoGoroutine tells whether a thread waits, in code of Go, for a goroutine to run: one that waits for another one, or for the network, has no thread.
func (t *Table) hasNoGoroutine(call kernel.BlockedCall) bool {
	return !call.Running && (call.NR == unix.SYS_FUTEX || arch.IsReadiness(call.NR)) && t.cfg.IsGo(call.PC)
}

// isTold tells whether a thread waits in a call for others to tell it to go on. Where a library has made a lock of futex calls of its own, what it waits
// for may as well be the lock, and who has that may sleep.
func (t *Table) isTold(tid int, call kernel.BlockedCall) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	if r == nil || call.NR == unix.SYS_FUTEX && t.cfg.IsSyscallFunction(call.PC) {
		return false
	}
	return toldByThreads(call) || r.asked.nr == call.NR && r.counting
}

// ShareLooks turns the looks since it was called last into shares of time; without any look the last shares stay.
func (t *Table) ShareLooks() {
	t.Each(func(r *Row) {
		n := 0
		for _, k := range r.looks {
			n += k
		}
		if n == 0 {
			return
		}
		for k := range r.looks {
			r.share[k] = float64(r.looks[k]) / float64(n)
		}
		r.looks = [nStates]int{}
	})
}

// Parked lists the threads that wait with nothing to do.
func (t *Table) Parked() map[int]bool {
	parked := map[int]bool{}
	t.Each(func(r *Row) {
		if r.parked {
			parked[r.TID] = true
		}
	})
	return parked
}

// longPoll is the longest time after which a wait may give up and still be a look whether there is something to do, rather than waiting for
// an answer.
const longPoll = time.Second

// polls tells whether a thread waits for something that gives up after a moment, again and again, as others do with poll; or for what
// is no input: for a timer, a signal, a change of a directory, or, now and then, for an event of another thread. mu is held.
func (t *Table) polls(r *Row, call kernel.BlockedCall, at float64) bool {
	if w := (wait{call.NR, call.Args[0], r.quietSince}); w != r.asked { // once for each wait
		timeout := t.timeout(call)
		r.asked, r.polling, r.counting, r.spinning = w, timeout > 0 && timeout <= longPoll, false, false
		if readsDescriptor[call.NR] {
			r.polling, r.counting = t.eventKind(int(int32(call.Args[0])))
		}
		if IsFutexWait(call) { // by way of the function syscall, as std::atomic::wait: for a value that another thread will store
			r.counting = t.cfg.IsSyscallFunction(call.PC)
			r.spinning = r.counting
		}
	}
	wakes := r.wakes
	if r.spinning {
		wakes = min(wakes, r.sleeps)
	}
	return r.polling || r.counting && signalled(at-r.quietSince, wakes)
}

// eventKind tells whether a descriptor is none for input: one that tells of time, signals or changes, or a counter (eventfd) by which
// other threads give work.
func (t *Table) eventKind(fd int) (tells, counts bool) {
	link, err := kernel.FDLink(t.cfg.PID, fd)
	if err != nil {
		return false, false
	}
	for _, word := range []string{"timerfd", "signalfd", "inotify", "fanotify"} {
		tells = tells || strings.HasPrefix(link, "anon_inode:["+word) || link == "anon_inode:"+word
	}
	return tells, strings.HasPrefix(link, "anon_inode:[eventfd")
}

// timeout is after what time a blocked call gives up, as far as its arguments say; 0 if it never does.
func (t *Table) timeout(call kernel.BlockedCall) time.Duration {
	switch {
	case receives[call.NR]:
		d, err := kernel.ReceiveTimeout(t.cfg.PID, int(int32(call.Args[0])))
		if err != nil {
			return 0
		}
		return d
	case hasTimespec[call.NR] && call.Args[3] != 0:
		var b [16]byte // struct timespec
		if t.cfg.Memory.ReadMem(process.Addr(call.Args[3]), b[:]) != nil {
			return 0
		}
		sec, ns := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
		return time.Duration(min(sec, 3600))*time.Second + time.Duration(min(ns, 1e9))
	}
	return 0
}
