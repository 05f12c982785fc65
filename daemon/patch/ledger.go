package patch

import (
	"fmt"

	"culprit/trampoline"
)

// ledgerRoom refuses a batch for which the ledger has no room, before anything of it is written.
func (t *Text) ledgerRoom(sites []*Site) error {
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
	return fmt.Errorf("%s: this needs %d patch-ledger entries and only %d are free: select fewer functions", t.Name, need, t.seg.Ledger.Room())
}

// enter writes a ledger entry for every piece that is about to change.
func (t *Text) enter(changes []*change) error {
	for _, c := range changes {
		for i := range c.pieces {
			p := &c.pieces[i]
			if c.base == nil {
				continue // the entry that was written when it was patched stays until the old bytes are back
			}
			e := trampoline.Entry{Addr: p.Addr, Len: len(p.New)}
			copy(e.New[:], p.New)
			copy(e.Old[:], p.Old)
			if c.s.base != nil {
				copy(e.Old[:], c.s.pieces[i].Old)
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
func (t *Text) cancel(changes []*change) {
	for _, c := range changes {
		for i := range c.pieces {
			if c.base != nil && c.pieces[i].ledger >= 0 {
				t.seg.Ledger.Free(c.pieces[i].ledger)
			}
		}
	}
}

// settle marks entries as patched, and frees those whose bytes were replaced or restored.
func (t *Text) settle(changes []*change) {
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
