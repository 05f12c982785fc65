package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/stack"
)

// stopDeadline is how long the target may be held at most; past it everything is resumed and the batch is tried later.
const stopDeadline = 500 * time.Millisecond

// walkDeadline is how far into a stop stacks are walked: what comes behind takes milliseconds.
const walkDeadline = stopDeadline * 3 / 5

// tooLong says that the threads of a target are so many, or their stacks so deep, that walking them takes longer than it may be held.
type tooLong struct{ threads int }

// Error says what to do.
func (e *tooLong) Error() string {
	return fmt.Sprintf("deferred: walking the stacks of %d threads took longer than %v; all threads were resumed: try again when the machine is less busy", e.threads, walkDeadline)
}

// Passing has what failed be tried again.
func (e *tooLong) Passing() bool { return true }

func (e *tooLong) TooLong() bool { return true }

// late reports whether a stop has lasted so long that no more stacks may be walked.
func late(w *process.World) bool { return w.Elapsed() > walkDeadline }

// stop runs f while every thread of the target is stopped and accounts for the pause. f may be run again if it fails with *lazy.NotReady.
func (t *measured) stop(f func(*process.World) error) error {
	return t.seeing(func() error { return t.stopOnce(f) })
}

// Threads need the processor to stop, and where the machine is busy one may not get it for long, while all others stand still. So they are waited
// for shortly at first, then let go for as long, then waited for twice as long, and so on: a program stands still a little more often rather than
// for long once.
const (
	gatherTime  = 40 * time.Millisecond  // of the first try: many times what threads need on a machine that is not busy
	gatherEach  = 100 * time.Microsecond // of it for each thread
	gatherTries = 4
)

// stopOnce stops the target, runs f and accounts for the pauses.
func (t *measured) stopOnce(f func(*process.World) error) error {
	limit := gatherTime
	if info, err := t.Proc.Info(); err == nil {
		limit += time.Duration(info.Threads) * gatherEach
	}
	for try := 1; ; try++ {
		limit = min(limit, stopDeadline)
		gathered, err := t.stopWithin(limit, f)
		var late *process.Deferred
		if gathered || !errors.As(err, &late) || try == gatherTries {
			return err
		}
		time.Sleep(limit)
		if process.ThreadState(t.Proc.PID(), late.TID) == 'D' { // it waits where it cannot be interrupted: to hold the others is of no use
			return err
		}
		limit *= 2
	}
}

// stopWithin runs f if all threads of the target have stopped within limit, and says whether they have.
func (t *measured) stopWithin(limit time.Duration, f func(*process.World) error) (gathered bool, err error) {
	t.stops++
	var waiting []waiter
	pause, err := t.Proc.Stop(context.Background(), process.StopOptions{Deadline: limit}, t.seen(func(w *process.World) error {
		waiting = t.unnamedWaiters(w)
		t.noteKeyless(w)
		t.notePeers(w)
		if err := t.lookAtStacks(w); err != nil {
			return err
		}
		t.noteSequences(w)
		return f(w)
	}))
	t.d.pauses.add(pause, time.Since(t.Began))
	t.nameWaiters(waiting)
	if pause.Total > stopDeadline {
		t.Logf("%s: %s", t.Name, longPause(pause, err))
	}
	return pause.Threads > 0, err
}

// longPause says what a stop beyond its limit was spent on.
func longPause(p process.Pause, err error) string {
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	if p.Threads == 0 {
		return fmt.Sprintf("not all threads stopped within %v, and all were let go: %v", ms(p.Total), err)
	}
	text := fmt.Sprintf("%d threads were paused for %v: %v until all had stopped, %v while code was changed, the rest until all ran again",
		p.Threads, ms(p.Total), ms(p.Stopping), ms(p.Held))
	if err != nil {
		text += fmt.Sprintf(" (%v)", err)
	}
	return text
}

// A spanSet finds the spans that hold an address.
type spanSet struct {
	spans  []patch.Span // by lo
	lo, hi uint64
}

func newSpanSet(spans []patch.Span) spanSet {
	sort.Slice(spans, func(i, j int) bool { return spans[i].Lo < spans[j].Lo })
	s := spanSet{spans: spans}
	for i, sp := range spans {
		if i == 0 {
			s.lo = sp.Lo
		}
		s.hi = max(s.hi, sp.Hi)
	}
	return s
}

// owners calls f for the owner of every span around pc. Spans do not nest, or all of them are tried.
func (s *spanSet) owners(pc uint64, f func(owner int)) {
	if pc <= s.lo || pc >= s.hi {
		return
	}
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].Hi > pc })
	for ; i < len(s.spans) && s.spans[i].Lo < pc; i++ {
		if pc < s.spans[i].Hi {
			f(s.spans[i].Owner)
		}
	}
}

// standing reports for which spans some thread may go on inside: with its PC, or with one that a signal handler's frame
// keeps. Stacks are walked by their tables, so that what an earlier visit has left on a stack is not taken for a visitor;
// where a walk ends too early, every word above is taken for an address.
func (t *measured) standing(w *process.World, spans []patch.Span) (tids map[int]int, err error) {
	tids = map[int]int{}
	if len(spans) == 0 {
		return tids, nil
	}
	set := newSpanSet(spans)
	buf := make([]byte, stack.Scan)
	for i, th := range w.Threads() {
		if late(w) {
			return nil, &tooLong{len(w.Threads())}
		}
		mine := func(owner int) { tids[owner] = th.TID }
		set.owners(arch.PC(&th.Regs), mine)
		k := t.view.walk(i)
		for _, pc := range k.Kept {
			set.owners(pc, mine)
		}
		if k.Whole {
			continue
		}
		at := arch.SP(&th.Regs) &^ 7
		n := w.ReadSome(process.Addr(at), buf[:t.stackLeft(w, &th.Regs)])
		for off := int(k.End - at); off >= 0 && off+8 <= n; off += 8 {
			set.owners(binary.LittleEndian.Uint64(buf[off:]), mine)
		}
	}
	return tids, t.view.missing()
}

// stackLeft is how much of a thread's stack is worth searching: up to its control block, which every C library puts at the end of a
// stack that it makes, and not into memory of ours that happens to lie behind it. Our ledger is full of addresses of code.
func (t *measured) stackLeft(w *process.World, r *unix.PtraceRegs) int {
	sp, block := arch.SP(r), arch.ThreadPointer(r)
	end := sp&^7 + stack.Scan
	if block > sp {
		end = min(end, (block+7)&^7)
	}
	for _, at := range t.ownMemory(w) {
		if at > sp {
			end = min(end, at)
		}
	}
	return int(end - sp&^7)
}

// ownMemory is where mappings of ours begin that a target may read.
func (t *measured) ownMemory(w *process.World) (starts []uint64) {
	if t.Seg != nil {
		return []uint64{t.Seg.HeadAddr, t.Seg.DataAddr}
	}
	maps, _ := w.Maps() // of a process that is restored; what cannot be read has no starts
	for _, m := range segment.MappingsIn(t.Proc, maps) {
		starts = append(starts, uint64(m.Start))
	}
	return starts
}
