package patch

import (
	"bytes"
	"errors"
	"fmt"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline"
)

// The ledger in a process, as somebody else reads it.

// mostOfASite is how many entries of one address are believed: a site has two while it is patched anew.
const mostOfASite = 2

// ledgerOf reads the ledger of a process; none is no error, as the segment may have been half built, or half unmapped. That of a version
// that is not known counts as damaged.
func ledgerOf(p *process.Process, r *RestoreReport) (entries []trampoline.Entry, err error) {
	of, damaged := map[uint64]int{}, 0
	err = eachLedgerChunk(p, func(chunk []byte) {
		some, bad := trampoline.Entries(chunk)
		damaged += bad
		for _, e := range some {
			if of[e.Addr]++; of[e.Addr] > mostOfASite {
				damaged++
				continue
			}
			entries = append(entries, e)
		}
	})
	r.Sites, r.Damaged = len(entries), damaged
	return entries, err
}

// ledgerHistory is what the ledger of a process holds and has held, as far as that was not written over; none is no error.
func ledgerHistory(p *process.Process) (entries []trampoline.Entry, err error) {
	err = eachLedgerChunk(p, func(chunk []byte) { entries = append(entries, trampoline.History(chunk)...) })
	if errors.Is(err, trampoline.ErrNoSegment) {
		return nil, nil // that of a version that is not known: the files say what was there
	}
	return entries, err
}

// eachLedgerChunk reads the ledger up to the first chunk that never held anything, so that a sparse file stays sparse.
func eachLedgerChunk(p *process.Process, take func(chunk []byte)) error {
	h, m, err := segment.ReadHeader(p)
	switch {
	case h != nil && errors.Is(err, trampoline.ErrNoSegment):
		return err
	case errors.Is(err, segment.ErrNone), errors.Is(err, trampoline.ErrNoSegment):
		return nil
	case err != nil:
		return err
	case m.Len() < uint64(h.LedgerOff()):
		return nil
	}
	capacity := min(h.LedgerCap, int(m.Len()-uint64(h.LedgerOff()))/trampoline.EntrySize) // the head may say what it likes
	at, chunk := m.Start+process.Addr(h.LedgerOff()), make([]byte, 64<<10)
	for left := capacity * trampoline.EntrySize; left > 0; left -= len(chunk) {
		chunk = chunk[:min(len(chunk), left)]
		if err := p.ReadMem(at, chunk); err != nil {
			if _, _, again := segment.ReadHeader(p); errors.Is(again, segment.ErrNone) {
				return nil // its owner has just unmapped it
			}
			return fmt.Errorf("reading the ledger: %w", err)
		}
		if bytes.Count(chunk, []byte{0}) == len(chunk) {
			return nil
		}
		take(chunk)
		at += process.Addr(len(chunk))
	}
	return nil
}
