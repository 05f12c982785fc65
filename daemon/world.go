package daemon

import (
	"context"
	"encoding/binary"
	"sort"
	"time"

	"culprit/daemon/process"
)

// stopDeadline is how long the target may be held at most; past it everything is resumed and the batch is tried later.
const stopDeadline = 500 * time.Millisecond

// stop runs f while every thread of the target is stopped and accounts for the pause.
func (t *target) stop(f func(*process.World) error) error {
	pause, err := t.proc.Stop(context.Background(), process.StopOptions{Deadline: stopDeadline}, f)
	t.d.pauses.add(pause)
	return err
}

// A retired trampoline is not reached any more, but a thread may still be inside it.
type retired struct {
	space *codeSpace
	addr  uint64
	size  int
}

// stackScan is how much of each stack is searched for addresses inside code that is about to change or to be freed: a signal
// handler's frame keeps the address that it interrupted.
const stackScan = 64 << 10

// A span of addresses, both ends exclusive for windows: lo < pc < hi.
type addrSpan struct {
	lo, hi uint64
	owner  int
}

// standing reports for which spans some thread has its PC, or a word of its stack that may be a saved PC, inside.
func standing(w *process.World, spans []addrSpan) (tids map[int]int) {
	tids = map[int]int{}
	if len(spans) == 0 {
		return tids
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].lo < spans[j].lo })
	lo, hi := spans[0].lo, spans[0].hi
	for _, s := range spans {
		hi = max(hi, s.hi)
	}
	buf := make([]byte, stackScan)
	for _, th := range w.Threads() {
		hit := func(pc uint64) {
			if pc <= lo || pc >= hi {
				return
			}
			for i := sort.Search(len(spans), func(i int) bool { return spans[i].hi > pc }); i < len(spans) && spans[i].lo < pc; i++ {
				if pc < spans[i].hi {
					tids[spans[i].owner] = th.TID
				}
			}
		}
		hit(th.Regs.Rip)
		n := readStack(w, th.Regs.Rsp, buf)
		for at := 0; at+8 <= n; at += 8 {
			hit(binary.LittleEndian.Uint64(buf[at:]))
		}
	}
	return tids
}

// readStack reads what is mapped of the stack from sp on.
func readStack(w *process.World, sp uint64, buf []byte) int {
	sp &^= 7
	for n := len(buf); n >= 4096; n /= 2 {
		if w.ReadMem(process.Addr(sp), buf[:n]) == nil {
			return n
		}
	}
	n := min(len(buf), int(4096-sp&4095))
	if w.ReadMem(process.Addr(sp), buf[:n]) == nil {
		return n
	}
	return 0
}

// checkPCs refuses the batch if a thread stands inside a window whose bytes change.
func (t *target) checkPCs(w *process.World, changes []*change) error {
	var spans []addrSpan
	for i, c := range changes {
		if c.s.base == nil && len(c.s.Insts) > 1 {
			spans = append(spans, addrSpan{c.s.Addr, c.s.End(), i})
		}
	}
	for i, tid := range standing(w, spans) {
		return &busyError{changes[i].s, tid}
	}
	return nil
}

// reclaim frees the quarantined trampolines that no thread is in or can return into.
func (t *target) reclaim(w *process.World) {
	if len(t.quarantine) == 0 {
		return
	}
	var spans []addrSpan
	for i, r := range t.quarantine {
		spans = append(spans, addrSpan{r.addr - 1, r.addr + uint64(r.size), i})
	}
	inside := standing(w, spans)
	kept := t.quarantine[:0]
	for i, r := range t.quarantine {
		if _, busy := inside[i]; busy {
			kept = append(kept, r)
			continue
		}
		r.space.release(r.addr, r.size)
	}
	t.quarantine = kept
}
