package patch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// A PageEdit is what a batch changes in one page of text. Pages of rank 0 are written before those of rank 1: what a jump
// leads to before the jump, and the other way round when it is taken away, so that being killed between two pages harms nobody.
type PageEdit struct {
	rank   int
	addr   uint64
	Pieces []Piece
}

const pageMask = trampoline.PageSize - 1

// pagesOf groups the bytes of a batch by page, in the order in which changes are given within a page.
func pagesOf(changes []*change) []*PageEdit {
	type place struct {
		rank int
		addr uint64
	}
	pages := map[place]*PageEdit{}
	var order []*PageEdit
	for _, c := range changes {
		for i, p := range c.pieces {
			at := place{c.rank(i), p.Addr &^ pageMask}
			if pages[at] == nil {
				pages[at] = &PageEdit{rank: at.rank, addr: at.addr}
				order = append(order, pages[at])
			}
			pages[at].Pieces = append(pages[at].Pieces, p)
		}
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return a.rank < b.rank || a.rank == b.rank && a.addr < b.addr
	})
	return order
}

// rank orders the pieces of a change. A piece never crosses a page: the planner sees to it.
func (c *change) rank(i int) int {
	if last := len(c.pieces) - 1; c.base != nil && i == last || c.base == nil && i > 0 {
		return 1
	}
	return 0
}

// touch has the kernel make the target's own copy of every page before the target is stopped, which is the costly part of a
// first write: one byte is written over itself. Only for code that cannot go away in between.
func (t *Text) touch(pages []*PageEdit) error {
	for _, pg := range pages {
		if m := t.Host.ModuleAt(pg.addr); t.own[pg.addr] || m == nil || !m.Resident() {
			continue
		}
		if err := t.Proc.Touch(process.Addr(pg.addr)); err != nil {
			return fmt.Errorf("preparing the page at %#x: %w", pg.addr, err)
		}
		t.own[pg.addr] = true
	}
	return nil
}

// write puts the ledger entries, then the bytes page by page. If a page cannot be written, those before it are put back.
func (t *Text) write(w *process.World, changes []*change, pages []*PageEdit) error {
	if err := t.enter(changes); err != nil {
		return err
	}
	t.writing = true
	t.watch(Writing, pages)
	done, err := t.writePages(w, pages)
	t.watch(Written, pages[:done])
	if err == nil {
		t.settle(changes)
		t.writing = false
		return nil
	}
	undo := undoPages(w, pages[:done])
	if undo == nil {
		t.cancel(changes)
		t.writing = false
	}
	return errors.Join(err, undo)
}

// writePages writes the pages and returns how many may have been changed.
func (t *Text) writePages(w *process.World, pages []*PageEdit) (done int, err error) {
	if err := faultLedger.Hit(t.Proc.PID()); err != nil {
		return 0, err
	}
	for i, pg := range pages {
		page, err := pg.edited(w)
		if err != nil {
			return i, err
		}
		if err := pg.writeTo(w, page); err != nil {
			return i + 1, err
		}
		if err := faultPage.Hit(t.Proc.PID()); err != nil {
			return i + 1, err
		}
	}
	return len(pages), faultSettle.Hit(t.Proc.PID())
}

// edited reads the page, compares what is to be replaced with what is expected, and returns the new contents.
func (pg *PageEdit) edited(w *process.World) ([]byte, error) {
	page := make([]byte, trampoline.PageSize)
	if err := w.ReadMem(process.Addr(pg.addr), page); err != nil {
		return nil, fmt.Errorf("reading the target's code at %#x: %w", pg.addr, err)
	}
	for _, p := range pg.Pieces {
		now := page[p.Addr&pageMask:][:len(p.Old)]
		if !bytes.Equal(now, p.Old) {
			return nil, &SiteError{p.site, &process.Refused{Point: At(p.Addr),
				Reason: fmt.Sprintf("it holds % x where % x was expected: somebody else has changed it", now, p.Old)}}
		}
		copy(now, p.New)
	}
	return page, nil
}

// writeTo writes from the first to the last changed byte of the page.
func (pg *PageEdit) writeTo(w *process.World, page []byte) error {
	lo, hi := pg.extent()
	return w.WriteText(process.Addr(pg.addr+lo), page[lo:hi])
}

func (pg *PageEdit) extent() (lo, hi uint64) {
	lo = trampoline.PageSize
	for _, p := range pg.Pieces {
		lo = min(lo, p.Addr&pageMask)
		hi = max(hi, p.Addr&pageMask+uint64(len(p.New)))
	}
	return lo, hi
}

// undoPages puts back what was there before the batch, the last first. A piece that cannot be put back does not keep the others from it, unless the
// process has ended or runs another program: nothing of it is left then, and to be sure of that takes a while each time.
func undoPages(w *process.World, pages []*PageEdit) (err error) {
	for _, pg := range slices.Backward(pages) {
		for _, p := range slices.Backward(pg.Pieces) {
			failed := w.WriteText(process.Addr(p.Addr), p.Old)
			if err = errors.Join(err, failed); process.SaysGone(failed) {
				return err
			}
		}
	}
	return err
}
