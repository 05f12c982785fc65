package patch

import (
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
	s      *Site
	base   *trampoline.Base // nil: the original bytes come back
	room   segment.Room
	pieces []Piece // what is written, with what is there before
}

// retries is how often a stop is repeated because a thread stood in a window: each one is a new chance.
const retries = 25

// pagesPerStop bounds how much text is written while the target is stopped: 5 to 10 us a page, where the stop itself takes some 500.
const pagesPerStop = 96

// Along is what is done along with a batch: what starts with it, in the stop of its last part. Its methods are told whether it is the last.
type Along interface {
	// Grows reports whether the batch adds code.
	Grows() bool
	// Cost is how much of the process's memory it takes besides what is patched, in bytes.
	Cost(last bool) uint64
	// Ready prepares what is to be done in the stop.
	Ready(last bool)
	// Before is called in the stopped process before anything is changed; an error keeps it from being changed.
	Before(w *process.World, last bool) error
	// After is called in the stopped process when everything is changed.
	After(last bool)
}

// Apply brings sites to what is wanted at them: new trampolines first, then the ledger, then the bytes of the text, then
// what is done along. A large batch takes several short stops; the last one starts all that is to start together. Sites in whose windows
// threads stand again and again are returned as busy and left alone.
func (t *Text) Apply(sites []*Site, a Along) (busy map[*Site]error, err error) {
	busy = map[*Site]error{}
	sort.Slice(sites, func(i, j int) bool { return sites[i].Addr < sites[j].Addr })
	if err := t.ledgerRoom(sites); err != nil {
		return busy, err
	}
	if err := t.mayTake(t.costOf(sites, a, true)); err != nil {
		return busy, err
	}
	for last := false; len(sites) > 0 || a.Grows() && !last; {
		n := chunk(sites)
		last = n == len(sites)
		if err := t.pay(t.costOf(sites[:n], a, last)); err != nil { // the program may have grown meanwhile
			return busy, err
		}
		if err := t.applySome(sites[:n], a, last, busy); err != nil {
			return busy, err
		}
		sites = sites[n:]
	}
	return busy, nil
}

// chunk counts the sites that fit into one stop.
func chunk(sites []*Site) int {
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

func (t *Text) applySome(sites []*Site, a Along, last bool, busy map[*Site]error) error {
	for try := 0; ; try++ {
		changes := t.prepare(sites, busy)
		if len(changes) == 0 && !(last && a.Grows()) {
			return nil
		}
		err := t.commit(changes, a, last)
		if err == nil {
			return nil
		}
		if !t.again(err, &try, busy) {
			return err
		}
	}
}

// again decides what becomes of a batch that failed: it is tried once more where waiting helps, or without what does not fit.
func (t *Text) again(err error, try *int, busy map[*Site]error) bool {
	var be *BusyError
	var se *SiteError
	switch {
	case errors.As(err, &be):
		if *try >= retries {
			busy[be.Site] = be
			*try = 0
		}
		time.Sleep(time.Duration(1+*try) * time.Millisecond)
		return true
	case errors.Is(err, ErrMoved):
		return *try < retries && t.Host.Refresh() == nil
	case errors.As(err, &se):
		again := t.reloaded(t.Patched())
		if len(again) == 0 {
			busy[se.Site] = se.Err
		}
		t.fallen = append(t.fallen, again...)
		return true
	}
	return false
}

// prepare generates the trampolines of a batch and works out the bytes. A site for which that cannot be done is busy; the others need not wait for it.
func (t *Text) prepare(sites []*Site, busy map[*Site]error) (changes []*change) {
	t.leaveShared(sites, busy)
	for _, s := range sites {
		if busy[s] != nil || s.isBare() {
			continue
		}
		c := &change{s: s}
		if err := t.complete(c); err != nil {
			busy[s] = err
			continue
		}
		changes = append(changes, c)
	}
	return changes
}

// complete makes the trampoline of a change, where there is to be one, and its pieces.
func (t *Text) complete(c *change) (err error) {
	if !c.s.Empty() {
		if c.base, c.room, err = t.generate(c.s); err != nil {
			return err
		}
	}
	if err = t.layOut(c); err != nil {
		t.discard([]*change{c})
	}
	return err
}

// layOut fills the pieces of a change.
func (t *Text) layOut(c *change) error {
	s := c.s
	if c.base == nil {
		for i := len(s.pieces) - 1; i >= 0; i-- { // the way in first, then what it led to
			p := s.pieces[i]
			c.pieces = append(c.pieces, Piece{site: s, Addr: p.Addr, Old: p.New, New: p.Old, ledger: p.ledger})
		}
		return nil
	}
	pieces, err := s.Patch(s.way(c.base, c.room))
	if err != nil {
		return err
	}
	for i, p := range pieces {
		old := t.Host.FileBytes(p.Addr, len(p.Bytes)) // where nothing is patched yet
		if s.base != nil {
			old = s.pieces[i].New
		}
		if old == nil {
			return fmt.Errorf("the bytes at %#x cannot be read from the file", p.Addr)
		}
		c.pieces = append(c.pieces, Piece{site: s, Addr: p.Addr, Old: old, New: p.Bytes, ledger: -1})
	}
	return nil
}

// discard gives back the trampolines of changes that were not made.
func (t *Text) discard(changes []*change) {
	for _, c := range changes {
		if c.base != nil {
			c.s.rooms.Give(c.room)
		}
	}
}

// commit stops the target and makes the changes; on an error none is made.
func (t *Text) commit(changes []*change, a Along, last bool) error {
	pages := pagesOf(changes)
	if err := t.touch(pages); err != nil {
		t.discard(changes)
		return err
	}
	if err := faultPrepared.Hit(t.Proc.PID()); err != nil {
		t.discard(changes)
		return err
	}
	a.Ready(last)
	wrote := false
	err := t.Host.Stop(func(w *process.World) error {
		if err := faultStopped.Hit(t.Proc.PID()); err != nil {
			return err
		}
		if err := t.inPlace(w, pages); err != nil {
			return err
		}
		if err := t.Host.Refuse(added(changes)); err != nil {
			return err
		}
		t.watch(Stopped, pages)
		if err := t.checkPCs(w, changes); err != nil {
			return err
		}
		if err := a.Before(w, last); err != nil {
			return err
		}
		if err := t.write(w, changes, pages); err != nil {
			return err
		}
		wrote = true
		for _, c := range changes {
			if c.base != nil {
				t.aim(c.s, c.base, c.room)
			}
		}
		a.After(last)
		t.Reclaim(w)
		return faultCaughtUp.Hit(t.Proc.PID())
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

// added are the sites of changes that put code in.
func added(changes []*change) (sites []*Site) {
	for _, c := range changes {
		if c.base != nil {
			sites = append(sites, c.s)
		}
	}
	return sites
}

// adopt remembers what is patched now.
func (t *Text) adopt(changes []*change) {
	t.ever = t.ever || len(changes) > 0
	for _, c := range changes {
		s := c.s
		if s.base != nil {
			t.retire(s)
		} else {
			t.Count.Inserted.Add(1)
		}
		if c.base == nil {
			t.Count.Removed.Add(1)
			s.pieces = nil
		} else {
			orig := s.pieces
			s.pieces = nil
			for i, p := range c.pieces {
				if len(orig) > 0 {
					p.Old = orig[i].Old
				}
				s.pieces = append(s.pieces, p)
			}
		}
		s.base, s.room, s.baseAddr = c.base, c.room, c.room.Addr
	}
}
