package stops

import (
	"encoding/binary"
	"fmt"
	"sort"

	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/stack"
)

// walkDeadline is how far into a stop stacks are walked: what comes behind takes milliseconds.
const walkDeadline = Deadline * 3 / 5

// TooLong says that the threads of a process are so many, or their stacks so deep, that walking them takes longer than it may be held.
type TooLong struct{ threads int }

// Error says what to do.
func (e *TooLong) Error() string {
	return fmt.Sprintf("deferred: walking the stacks of %d threads took longer than %v; all threads were resumed: try again when the machine is less busy", e.threads, walkDeadline)
}

// Passing has what failed be tried again.
func (e *TooLong) Passing() bool { return true }

// InTime is a *TooLong if a stop has lasted so long that no more stacks may be walked.
func InTime(w *process.World) error {
	if w.Elapsed() > walkDeadline {
		return &TooLong{len(w.Threads())}
	}
	return nil
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

// Standing reports for which spans some thread may go on inside: with its PC, or with one that a signal handler's frame
// keeps. Stacks are walked by their tables, so that what an earlier visit has left on a stack is not taken for a visitor;
// where a walk ends too early, every word above is taken for an address.
func (s *Stopper) Standing(w *process.World, spans []patch.Span) (tids map[int]int, err error) {
	tids = map[int]int{}
	if len(spans) == 0 {
		return tids, nil
	}
	set := newSpanSet(spans)
	buf := make([]byte, stack.Scan)
	for i, th := range w.Threads() {
		if err := InTime(w); err != nil {
			return nil, err
		}
		mine := func(owner int) { tids[owner] = th.TID }
		set.owners(arch.PC(&th.Regs), mine)
		k := s.view.Walk(i)
		for _, pc := range k.Kept {
			set.owners(pc, mine)
		}
		if k.Whole {
			continue
		}
		at := arch.SP(&th.Regs) &^ 7
		n := w.ReadSome(process.Addr(at), buf[:s.stackLeft(w, &th.Regs)])
		for off := int(k.End - at); off >= 0 && off+8 <= n; off += 8 {
			set.owners(binary.LittleEndian.Uint64(buf[off:]), mine)
		}
	}
	return tids, s.view.Missing()
}

// stackLeft is how much of a thread's stack is worth searching: up to its control block, which every C library puts at the end of a
// stack that it makes, and not into memory of ours that happens to lie behind it. Our ledger is full of addresses of code.
func (s *Stopper) stackLeft(w *process.World, r *unix.PtraceRegs) int {
	sp, block := arch.SP(r), arch.ThreadPointer(r)
	end := sp&^7 + stack.Scan
	if block > sp {
		end = min(end, (block+7)&^7)
	}
	for _, at := range s.ownMemory(w) {
		if at > sp {
			end = min(end, at)
		}
	}
	return int(end - sp&^7)
}

// ownMemory is where mappings of ours begin that a process may read.
func (s *Stopper) ownMemory(w *process.World) (starts []uint64) {
	if s.seg != nil {
		return []uint64{s.seg.HeadAddr, s.seg.DataAddr}
	}
	maps, _ := w.Maps() // of a process that is restored; what cannot be read has no starts
	for _, m := range segment.MappingsIn(s.cfg.Proc, maps) {
		starts = append(starts, uint64(m.Start))
	}
	return starts
}
