package sampling

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/daemon/waits"
	"culprit/pcl"
)

// Blocked threads are looked at in /proc: what they are blocked in, and where.

// Look samples up to most threads at a session time, in turn. It returns how many.
func (p *Profile) Look(now float64, most int) int {
	tids := p.t.Threads.TIDs()
	n := min(len(tids), most)
	for range n {
		p.next++
		p.lookAt(tids[p.next%len(tids)], now)
	}
	return n
}

// LookForReceiver is Look where values come of the looks: threads of which the receiver knows enough are left out.
func (p *Profile) LookForReceiver(now float64, most int) (looks int) {
	tids := p.t.Threads.TIDs()
	for range tids {
		p.next++
		tid := tids[p.next%len(tids)]
		if !p.receiver.NeedsLook(tid, now) {
			continue
		}
		p.lookAt(tid, now)
		if looks++; looks == most {
			break
		}
	}
	return looks
}

// Turns is how many threads have had their turn so far.
func (p *Profile) Turns() int { return p.next }

func (p *Profile) lookAt(tid int, now float64) {
	call, state, ok := p.t.Threads.Look(tid, now, judge{p, tid, now})
	if ok {
		p.noteIdle(tid, call, state, now)
	}
	switch {
	case !ok:
	case p.receiver != nil:
		p.pollBlocked(tid, call, state, now)
	case state == threads.Waiting:
		p.noteWaiting(tid, call, now)
	case state == threads.Idle && p.waiting != nil:
		p.waiting.Note(&Sample{TID: tid, Blocked: true, Idle: true, Call: call, At: now})
	}
}

// A judge says of a thread that waits whether it has nothing to do, at a session time; it is a threads.Judge.
type judge struct {
	*Profile
	tid int
	now float64
}

// Asks implements threads.Judge.
func (j judge) Asks(call kernel.BlockedCall, pace threads.Pace) bool {
	return j.waitsForLock(call) || call.NR != unix.SYS_FUTEX && j.asks(j.tid, call, pace, j.now)
}

// Unfed implements threads.Judge.
func (j judge) Unfed(call kernel.BlockedCall) (share float64, ok bool) {
	if j.unfed == nil || j.waitsForLock(call) {
		return 0, false
	}
	return j.unfed(j.tid, call, j.now)
}

// waitsForLock tells whether a thread waits for a lock, by the functions on its stack: whoever has that may sleep.
func (j judge) waitsForLock(call kernel.BlockedCall) bool {
	if call.NR != unix.SYS_FUTEX && !arch.IsReadiness(call.NR) { // databases wait for their locks in the call in which they wait for clients
		return false
	}
	at := placeOf(call)
	if known, ok := j.lockWaits[j.tid]; ok && known.waitPlace == at {
		return known.lock
	}
	frames := j.framesOf(j.blocked(j.tid, call))
	kind, _ := waits.In(frames)
	is := kind.Kind == libc.Mutex || kind.Kind == libc.RWLock || slices.ContainsFunc(frames, j.takesOwnLock)
	if again, err := kernel.Blocked(j.t.Proc.PID(), j.tid); err != nil || again.Running || placeOf(again) != at {
		return is // it went on meanwhile, and what was on its stack is not known
	}
	if j.lockWaits == nil || len(j.lockWaits) >= mostLockWaits {
		j.lockWaits = map[int]lockWait{}
	}
	j.lockWaits[j.tid] = lockWait{at, is}
	return is
}

// mostLockWaits bounds for how many threads it is kept whether they wait for a lock.
const mostLockWaits = 4096

// A lockWait is whether a thread waited for a lock when it was looked at last; one that waits at the same place for the same is not walked again.
type lockWait struct {
	waitPlace
	lock bool
}

// A waitPlace is the futex word that a thread waits for, and where.
type waitPlace struct{ word, sp, pc uint64 }

func placeOf(call kernel.BlockedCall) waitPlace { return waitPlace{call.Args[0], call.SP, call.PC} }

// takesOwnLock tells whether a function is one of those that wait for locks which languages and databases have made for themselves.
func (p *Profile) takesOwnLock(fr stack.Frame) bool {
	if fr.Func == nil {
		return false
	}
	if p.locks == nil {
		p.locks = map[string]bool{}
		if list := p.t.Library.List(pcl.OwnLocks); list != nil {
			for _, name := range list.Items {
				p.locks[name.Text] = true
			}
		}
	}
	return slices.ContainsFunc(fr.Func.Names(), func(name string) bool {
		if i := strings.IndexAny(name, "(."); i > 0 { // parameters, or what compilers call a copy
			name = name[:i]
		}
		return p.locks[name]
	})
}

// noteWaiting counts a look at a thread that waits.
func (p *Profile) noteWaiting(tid int, call kernel.BlockedCall, now float64) {
	w := p.blocked(tid, call)
	frames := p.framesOf(w)
	object, kind := p.addWait(tid, w, frames, now)
	if p.waiting != nil {
		p.waiting.Note(&Sample{TID: tid, Frames: frames, Blocked: true, Call: call, Object: object, Kind: kind, At: now})
	}
}

// blocked is a blocked thread, with its stack.
func (p *Profile) blocked(tid int, call kernel.BlockedCall) *waits.Thread {
	return &waits.Thread{Target: p.t, Call: call, Stack: waits.StackOf(p.t.Proc, call), Ready: p.requests.waitOf(tid, call)}
}

// framesOf are the functions on the stack of a blocked thread, with those that have ended in a jump.
func (p *Profile) framesOf(w *waits.Thread) []stack.Frame {
	return p.jumps.Restore(w.Stack.Frames(p.t.Walker))
}

// addWait counts a sample of a thread that waits, and returns what for.
func (p *Profile) addWait(tid int, w *waits.Thread, frames []stack.Frame, now float64) (object string, kind Kind) {
	object, lock := w.For(frames, now)
	if arch.IsReadiness(w.Call.NR) && slices.ContainsFunc(frames, p.takesOwnLock) {
		object, lock = "", true // a latch is no file that it waits for
	}
	kind = IO
	if lock {
		kind = Sync
	}
	p.add([]Kind{kind}, tid, frames, object)
	p.noteHolder(object, now)
	p.noteWakers(tid, w.Call, object, frames, now)
	return object, kind
}

// triesToPoll is how often the stack of a thread is read that goes on meanwhile.
const triesToPoll = 3

// pollBlocked takes a sample of a blocked thread for the receiver. The thread may go on while its stack is read: then it is read again.
func (p *Profile) pollBlocked(tid int, call kernel.BlockedCall, state threads.State, now float64) {
	for range triesToPoll {
		if call.Running {
			return
		}
		w := p.blocked(tid, call)
		frames := p.framesOf(w)
		again, err := kernel.Blocked(p.t.Proc.PID(), tid)
		if err != nil {
			return
		}
		if again == call {
			p.noteBlocked(tid, w, state, frames, now)
			return
		}
		call = again
	}
}

func (p *Profile) noteBlocked(tid int, w *waits.Thread, state threads.State, frames []stack.Frame, now float64) {
	x := Sample{TID: tid, Frames: frames, Blocked: true, Idle: state == threads.Idle || p.t.Threads.Halted(tid), Call: w.Call, At: now}
	if !x.Idle {
		x.Object, x.Kind = p.addWait(tid, w, frames, now)
	} else {
		p.t.NoteStack(tid, 0, frames)
	}
	p.receiver.Note(&x)
	if p.waiting != nil {
		p.waiting.Note(&x)
	}
}
