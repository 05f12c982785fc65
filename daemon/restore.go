package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/daemon/openfiles"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/grid"
	"culprit/internal/fault"
	"culprit/trampoline"
)

// A VerifyReport says what of ours is left in a process.
type VerifyReport struct {
	DifferingBytes int      // bytes of text that are not as in its files, where it lies in memory of the program's own, too
	Leads          int      // places in code that is no file's from where it goes into mappings of ours
	Mappings       int      // mappings of ours
	Staying        int      // of them those that stay on purpose: contexts of the program may come back to them
	Descriptors    int      // open descriptors of ours
	TracerPID      int      // who traces it, 0 = nobody
	Details        []string // one line per difference, at most 20
}

// Clean reports whether nothing is left.
func (r VerifyReport) Clean() bool {
	return r.DifferingBytes == 0 && r.Leads == 0 && r.Mappings == r.Staying && r.Descriptors == 0 && r.TracerPID == 0
}

// Verify compares every executable page of a process with its file and looks for mappings and tracers.
func Verify(pid int) (r VerifyReport, err error) {
	p, err := process.Open(pid)
	if err != nil {
		return r, err
	}
	defer p.Close()
	diffs, err := p.DiffText()
	if err != nil {
		return r, err
	}
	moved, err := p.DiffMoved()
	if err != nil {
		return r, err
	}
	for _, d := range append(diffs, moved...) {
		r.DifferingBytes += d.Bytes
		if len(r.Details) < 20 {
			r.Details = append(r.Details, fmt.Sprintf("%d bytes differ at %v (%s)", d.Bytes, d.Addr, baseName(d.Path)))
		}
	}
	maps, err := segment.Mappings(p)
	if err != nil {
		return r, err
	}
	all, err := p.Maps()
	if err != nil {
		return r, err
	}
	if segment.Staying(maps) {
		r.Staying = len(maps)
	}
	r.Mappings = len(maps) + len(process.Leftovers(all))
	if r.Leads, err = leads(p); err != nil {
		return r, err
	}
	if r.Leads > 0 && len(r.Details) < 20 {
		r.Details = append(r.Details, fmt.Sprintf("%d places in memory of the program's own lead into mappings of culprit", r.Leads))
	}
	fds, err := segment.Descriptors(p)
	if err != nil {
		return r, err
	}
	r.Descriptors = len(fds)
	info, err := p.Info()
	r.TracerPID = info.Tracer
	return r, err
}

// A RestoreReport says what Restore did.
type RestoreReport struct {
	Sites    int  // sites in the ledger
	Restored int  // whose old bytes were put back
	Already  int  // that held them
	Damaged  int  // ledger entries that cannot be believed
	Unmapped bool // whether the segment is gone
	Staying  int  // mappings of it that stay on purpose: contexts of the program may come back to them
}

// Restore undoes what a culprit that was killed has left in a process: every site gets its old bytes back, and the segment is
// unmapped as soon as no thread is inside it. Old bytes come from the ledger in the process; where a jump of ours is not in it
// (a forked child's may be out of date), from the file. It refuses while that culprit is alive, except in forked children.
func Restore(pid int) (r RestoreReport, err error) {
	if err := fault.FromEnvironment(); err != nil {
		return r, err
	}
	owner, alive, found, err := segment.Owner(pid)
	if err != nil && !found {
		return r, err
	}
	t, err := openTarget(bareDaemon(), pid, process.Open)
	if err != nil {
		return r, err
	}
	defer t.close()
	if alive && !segment.Forked(t.proc) {
		return r, fmt.Errorf("culprit with pid %d is attached to process %d and alive: use culprit detach %d", owner, pid, pid)
	}
	if err := t.restore(&r); err != nil {
		return r, err
	}
	return r, segment.Tidy(t.proc, t.stop)
}

// restore undoes what is in the process.
func (t *target) restore(r *RestoreReport) error {
	u, err := t.leftovers(r)
	if err != nil {
		return err
	}
	return process.Patiently(func() error {
		earlier := r.Restored // by a try that came as far as the text and had to wait with the rest
		r.Already = 0
		found, err := t.findStrays()
		if err != nil {
			return err
		}
		err = t.seeing(func() error {
			_, err := t.proc.Stop(context.Background(), process.StopOptions{Deadline: stopDeadline}, t.seen(func(w *process.World) error {
				err := u.undo(w, r, found)
				if missing := t.view.missing(); err != nil && missing != nil {
					return missing
				}
				return err
			}))
			return err
		})
		r.Already = max(r.Already-earlier, 0)
		return err
	})
}

// bareDaemon is enough of a daemon to look at a process's files.
func bareDaemon() *Daemon {
	tree := grid.NewTree()
	return &Daemon{opts: Options{Log: func(string) {}}, tree: tree, files: openfiles.NewHost(tree)}
}

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

// restoreEntry puts back one site if it holds what we wrote.
func restoreEntry(w *process.World, e trampoline.Entry, r *RestoreReport) error {
	now := make([]byte, e.Len)
	if err := w.ReadMem(process.Addr(e.Addr), now); err != nil {
		r.Already++ // the code is not mapped any more
		return nil
	}
	switch {
	case bytes.Equal(now, e.Old[:e.Len]):
		r.Already++
		return nil
	case !bytes.Equal(now, e.New[:e.Len]):
		return nil // a later entry of the same site knows these bytes, or it is not ours to change
	}
	r.Restored++
	return w.WriteText(process.Addr(e.Addr), e.Old[:e.Len])
}

// unmapFor is for how long mappings are unmapped in one stop. A target may have thousands that look like ours, each call takes some 100 us.
const unmapFor = 100 * time.Millisecond

// errMore says that a stop was not long enough for all mappings; the next one goes on.
var errMore = process.NewPassing("the program has more mappings that look like culprit's than can be unmapped in ten seconds; end it, or try again")

// unmapOurs unmaps every mapping of the segment, unless a thread is inside one or something leads there, and closes descriptors that
// were left open.
func (t *target) unmapOurs(w *process.World, found *strays) error {
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	ours := t.mustGo(w, segment.AllIn(t.proc, maps))
	inside, err := t.standing(w, append(islandSpans(ours), found.spans(-1)...))
	switch {
	case err != nil:
		return err
	case len(inside) > 0:
		return patch.ErrInside
	}
	if err := found.putBack(w, maps); err != nil {
		return err
	}
	if err := faultRestored.Hit(t.proc.PID()); err != nil {
		return err
	}
	if err := segment.CloseDescriptors(w, t.proc); err != nil { // while the head still says which
		return err
	}
	began := time.Now()
	for _, m := range joined(ours) {
		if time.Since(began) > unmapFor {
			return errMore
		}
		if err := w.Munmap(m.Start, m.Len()); err != nil {
			return err
		}
		if err := faultUnmap.Hit(t.proc.PID()); err != nil {
			return err
		}
	}
	return w.Tidy()
}

// joined are the addresses of mappings in the same order, where one that follows the last at once is one with it: one call unmaps both.
func joined(maps []process.Mapping) (spans []process.Mapping) {
	for _, m := range maps {
		if last := len(spans) - 1; last >= 0 && spans[last].End == m.Start {
			spans[last].End = m.End
			continue
		}
		spans = append(spans, process.Mapping{Start: m.Start, End: m.End})
	}
	return spans
}

// islandSpans are the addresses of trampolines.
func islandSpans(ours []process.Mapping) (spans []patch.Span) {
	for i, m := range ours {
		if m.Perms&process.Exec != 0 {
			spans = append(spans, patch.Span{Lo: uint64(m.Start) - 1, Hi: uint64(m.End), Owner: i})
		}
	}
	return spans
}
