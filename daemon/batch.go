package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"time"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline"
)

// A change is what one batch does to one site.
type change struct {
	s      *site
	base   *trampoline.Base // nil: the original bytes come back
	room   segment.Room
	pieces []patched // what is written, with what is there before
}

// A busyError says that a thread stands where bytes would change under it.
type busyError struct {
	s   *site
	tid int
}

func (e *busyError) Error() string {
	return fmt.Sprintf("thread %d stands inside the bytes to be replaced at %#x", e.tid, e.s.Addr)
}

// errMoved says that code is not mapped where it was found.
var errMoved = errors.New("the target has unloaded the code")

// A siteError says that the bytes at one site are not what they should be.
type siteError struct {
	s   *site
	err error
}

func (e *siteError) Error() string { return e.err.Error() }

func (e *siteError) Unwrap() error { return e.err }

// retries is how often a stop is repeated because a thread stood in a window: each one is a new chance.
const retries = 25

// pagesPerStop bounds how much text is written while the target is stopped: 5 to 10 us a page, where the stop itself takes some 500.
const pagesPerStop = 96

// apply brings sites to what is wanted at them: new trampolines first, then the ledger, then the bytes of the text, then
// catch-up. A large batch takes several short stops; the last one starts all of its pairs together. Sites in whose windows
// threads stand again and again are returned as busy and left alone.
func (t *target) apply(sites []*site, fresh []*part) (busy map[*site]error, err error) {
	busy = map[*site]error{}
	sort.Slice(sites, func(i, j int) bool { return sites[i].Addr < sites[j].Addr })
	if err := t.ledgerRoom(sites); err != nil {
		return busy, err
	}
	grows := len(fresh) > 0
	if err := t.canPay(sites, fresh, grows); err != nil {
		return busy, err
	}
	for len(sites) > 0 || len(fresh) > 0 {
		n := chunk(sites)
		var last []*part
		if n == len(sites) {
			last, fresh = fresh, nil
		}
		if err := t.pay(sites[:n], last, grows); err != nil { // the program may have grown meanwhile
			return busy, err
		}
		if err := t.applySome(sites[:n], last, busy); err != nil {
			return busy, err
		}
		sites = sites[n:]
	}
	return busy, nil
}

// ledgerRoom refuses a batch for which the ledger has no room, before anything of it is written.
func (t *target) ledgerRoom(sites []*site) error {
	need := 0
	for _, s := range sites {
		if s.base != nil || s.isBare() {
			continue
		}
		need++
		if _, _, two := s.Landing(); two {
			need++
		}
	}
	if t.seg == nil || need <= t.seg.Ledger.Room() {
		return nil
	}
	return fmt.Errorf("%s: this needs %d patch-ledger entries and only %d are free: select fewer functions", t.name, need, t.seg.Ledger.Room())
}

// isBare tells that there is nothing of ours at a site, and nothing wanted.
func (s *site) isBare() bool { return s.gone || s.empty() && s.base == nil }

// chunk counts the sites that fit into one stop.
func chunk(sites []*site) int {
	pages, at := 0, uint64(0)
	for i, s := range sites {
		if s.isBare() {
			continue
		}
		if p := s.Addr / trampoline.PageSize; p != at {
			pages, at = pages+1, p
		}
		if pages > pagesPerStop {
			return i
		}
	}
	return len(sites)
}

func (t *target) applySome(sites []*site, fresh []*part, busy map[*site]error) error {
	for try := 0; ; try++ {
		changes := t.prepare(sites, busy)
		if len(changes) == 0 && len(fresh) == 0 {
			return nil
		}
		err := t.commit(changes, fresh)
		if err == nil {
			return nil
		}
		if !t.again(err, &try, busy) {
			return err
		}
	}
}

// again decides what becomes of a batch that failed: it is tried once more where waiting helps, or without what does not fit.
func (t *target) again(err error, try *int, busy map[*site]error) bool {
	var be *busyError
	var se *siteError
	switch {
	case errors.As(err, &be):
		if *try >= retries {
			busy[be.s] = be
			*try = 0
		}
		time.Sleep(time.Duration(1+*try) * time.Millisecond)
		return true
	case errors.Is(err, errMoved):
		if *try >= retries {
			return false
		}
		_, err := t.refreshCode()
		return err == nil
	case errors.As(err, &se):
		again := t.reloaded()
		if len(again) == 0 {
			busy[se.s] = se.err
		}
		t.fallen = append(t.fallen, again...)
		return true
	}
	return false
}

// prepare generates the trampolines of a batch and works out the bytes. A site for which that cannot be done is busy; the others need not wait for it.
func (t *target) prepare(sites []*site, busy map[*site]error) (changes []*change) {
	for _, s := range sites {
		if busy[s] != nil || s.isBare() {
			continue
		}
		c := &change{s: s}
		if err := c.prepare(); err != nil {
			busy[s] = err
			continue
		}
		changes = append(changes, c)
	}
	return changes
}

// prepare makes the trampoline of a change, where there is to be one, and its pieces.
func (c *change) prepare() (err error) {
	if !c.s.empty() {
		if c.base, c.room, err = c.s.generate(); err != nil {
			return err
		}
	}
	if err = c.layOut(); err != nil {
		c.s.t.discard([]*change{c})
	}
	return err
}

// layOut fills the pieces of a change.
func (c *change) layOut() error {
	s := c.s
	if c.base == nil {
		for i := len(s.pieces) - 1; i >= 0; i-- { // the way in first, then what it led to
			p := s.pieces[i]
			c.pieces = append(c.pieces, patched{s: s, addr: p.addr, old: p.new, new: p.old, ledger: p.ledger})
		}
		return nil
	}
	pieces, err := s.Patch(s.way(c.base, c.room))
	if err != nil {
		return err
	}
	for i, p := range pieces {
		old := s.original(p)
		if s.base != nil {
			old = s.pieces[i].new
		}
		if old == nil {
			return fmt.Errorf("the bytes at %#x cannot be read from the file", p.Addr)
		}
		c.pieces = append(c.pieces, patched{s: s, addr: p.Addr, old: old, new: p.Bytes, ledger: -1})
	}
	return nil
}

// original is what the file has at a piece.
func (s *site) original(p trampoline.Piece) []byte {
	return s.t.fileBytes(p.Addr, len(p.Bytes))
}

// discard gives back the trampolines of changes that were not made.
func (t *target) discard(changes []*change) {
	for _, c := range changes {
		if c.base != nil {
			c.s.rooms.Give(c.room)
		}
	}
}

// commit stops the target and makes the changes; on an error none is made.
func (t *target) commit(changes []*change, fresh []*part) error {
	pages := pagesOf(changes)
	if err := t.touch(pages); err != nil {
		t.discard(changes)
		return err
	}
	if err := faultPrepared.Hit(t.proc.PID()); err != nil {
		t.discard(changes)
		return err
	}
	t.readyFor(fresh)
	wrote := false
	err := t.stop(func(w *process.World) error {
		if err := faultStopped.Hit(t.proc.PID()); err != nil {
			return err
		}
		if err := t.inPlace(w, pages); err != nil {
			return err
		}
		if err := t.checkAgain(changes); err != nil {
			return err
		}
		if err := t.checkSequences(changes); err != nil {
			return err
		}
		t.watch(patchStopped, pages)
		if err := t.checkWindows(changes); err != nil {
			return err
		}
		if err := t.checkPCs(w, changes); err != nil {
			return err
		}
		inside, err := t.inside(w, fresh)
		if err != nil {
			return err
		}
		if err := t.write(w, changes, pages); err != nil {
			return err
		}
		wrote = true
		for _, c := range changes {
			if c.base != nil {
				c.s.aim(c.base, c.room)
			}
		}
		t.zero(fresh...)
		t.linkRows()
		catchUp(inside)
		t.reclaim(w)
		return faultCaughtUp.Hit(t.proc.PID())
	})
	switch {
	case wrote:
		t.adopt(changes)
	case t.writing: // something may lead to the trampolines
		t.writing, t.unsure = false, true
	default:
		t.discard(changes)
	}
	return err
}

// adopt remembers what is patched now.
func (t *target) adopt(changes []*change) {
	t.contexts.patched = t.contexts.patched || len(changes) > 0
	for _, c := range changes {
		s := c.s
		if s.base != nil {
			t.retire(s)
		} else {
			t.d.inserted++
		}
		if c.base == nil {
			t.d.removed++
			s.pieces = nil
		} else {
			orig := s.pieces
			s.pieces = nil
			for i, p := range c.pieces {
				if len(orig) > 0 {
					p.old = orig[i].old
				}
				s.pieces = append(s.pieces, p)
			}
		}
		s.base, s.room, s.baseAddr = c.base, c.room, c.room.Addr
	}
}

// A pageEdit is what a batch changes in one page of text. Pages of rank 0 are written before those of rank 1: what a jump
// leads to before the jump, and the other way round when it is taken away, so that being killed between two pages harms nobody.
type pageEdit struct {
	rank   int
	addr   uint64
	pieces []patched
}

const pageMask = trampoline.PageSize - 1

// pagesOf groups the bytes of a batch by page, in the order in which changes are given within a page.
func pagesOf(changes []*change) []*pageEdit {
	type place struct {
		rank int
		addr uint64
	}
	pages := map[place]*pageEdit{}
	var order []*pageEdit
	for _, c := range changes {
		for i, p := range c.pieces {
			at := place{c.rank(i), p.addr &^ pageMask}
			if pages[at] == nil {
				pages[at] = &pageEdit{rank: at.rank, addr: at.addr}
				order = append(order, pages[at])
			}
			pages[at].pieces = append(pages[at].pieces, p)
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
func (t *target) touch(pages []*pageEdit) error {
	for _, pg := range pages {
		if t.ownPages[pg.addr] || !t.ObjectAt(pg.addr).Resident() {
			continue
		}
		if err := t.proc.Touch(process.Addr(pg.addr)); err != nil {
			return fmt.Errorf("preparing the page at %#x: %w", pg.addr, err)
		}
		t.ownPages[pg.addr] = true
	}
	return nil
}

// write puts the ledger entries, then the bytes page by page. If a page cannot be written, those before it are put back.
func (t *target) write(w *process.World, changes []*change, pages []*pageEdit) error {
	if err := t.enter(changes); err != nil {
		return err
	}
	t.writing = true
	t.watch(patchWriting, pages)
	done, err := t.writePages(w, pages)
	t.watch(patchWritten, pages[:done])
	if err == nil {
		t.settle(changes)
		t.writing = false
		return nil
	}
	var undo error
	for k := done - 1; k >= 0; k-- {
		undo = errors.Join(undo, pages[k].undo(w))
	}
	if undo == nil {
		t.cancel(changes)
		t.writing = false
	}
	return errors.Join(err, undo)
}

// writePages writes the pages and returns how many may have been changed.
func (t *target) writePages(w *process.World, pages []*pageEdit) (done int, err error) {
	if err := faultLedger.Hit(t.proc.PID()); err != nil {
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
		if err := faultPage.Hit(t.proc.PID()); err != nil {
			return i + 1, err
		}
	}
	return len(pages), faultSettle.Hit(t.proc.PID())
}

// edited reads the page, compares what is to be replaced with what is expected, and returns the new contents.
func (pg *pageEdit) edited(w *process.World) ([]byte, error) {
	page := make([]byte, trampoline.PageSize)
	if err := w.ReadMem(process.Addr(pg.addr), page); err != nil {
		return nil, fmt.Errorf("reading the target's code at %#x: %w", pg.addr, err)
	}
	for _, p := range pg.pieces {
		now := page[p.addr&pageMask:][:len(p.old)]
		if !bytes.Equal(now, p.old) {
			return nil, &siteError{p.s, &process.Refused{Point: "code at " + hex(p.addr),
				Reason: fmt.Sprintf("it holds % x where % x was expected: somebody else has changed it", now, p.old)}}
		}
		copy(now, p.new)
	}
	return page, nil
}

// writeTo writes from the first to the last changed byte of the page.
func (pg *pageEdit) writeTo(w *process.World, page []byte) error {
	lo, hi := pg.extent()
	return w.WriteText(process.Addr(pg.addr+lo), page[lo:hi])
}

func (pg *pageEdit) extent() (lo, hi uint64) {
	lo = trampoline.PageSize
	for _, p := range pg.pieces {
		lo = min(lo, p.addr&pageMask)
		hi = max(hi, p.addr&pageMask+uint64(len(p.new)))
	}
	return lo, hi
}

// undo puts back what was there before the batch.
func (pg *pageEdit) undo(w *process.World) (err error) {
	for i := len(pg.pieces) - 1; i >= 0; i-- {
		p := pg.pieces[i]
		err = errors.Join(err, w.WriteText(process.Addr(p.addr), p.old))
	}
	return err
}

// enter writes a ledger entry for every piece that is about to change.
func (t *target) enter(changes []*change) error {
	for _, c := range changes {
		for i := range c.pieces {
			p := &c.pieces[i]
			if c.base == nil {
				continue // the entry that was written when it was patched stays until the old bytes are back
			}
			e := trampoline.Entry{Addr: p.addr, Len: len(p.new)}
			copy(e.New[:], p.new)
			copy(e.Old[:], p.old)
			if c.s.base != nil {
				copy(e.Old[:], c.s.pieces[i].old)
			}
			n, err := t.seg.Ledger.Put(e)
			if err != nil {
				t.cancel(changes)
				return err
			}
			p.ledger = n
		}
	}
	return nil
}

// cancel takes back the entries of a batch that was not made.
func (t *target) cancel(changes []*change) {
	for _, c := range changes {
		for i := range c.pieces {
			if c.base != nil && c.pieces[i].ledger >= 0 {
				t.seg.Ledger.Free(c.pieces[i].ledger)
			}
		}
	}
}

// settle marks entries as patched, and frees those whose bytes were replaced or restored.
func (t *target) settle(changes []*change) {
	for _, c := range changes {
		for i := range c.pieces {
			if c.base != nil {
				t.seg.Ledger.Patched(c.pieces[i].ledger)
			}
		}
		if c.s.base != nil {
			for _, p := range c.s.pieces {
				t.seg.Ledger.Free(p.ledger)
			}
		}
	}
}

func hex(a uint64) string { return fmt.Sprintf("%#x", a) }
