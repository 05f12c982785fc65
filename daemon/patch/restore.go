package patch

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline"
)

// A RestoreReport says what Restore did.
type RestoreReport struct {
	Sites    int  // sites in the ledger
	Restored int  // whose old bytes were put back
	Already  int  // that held them
	Damaged  int  // ledger entries that cannot be believed
	Unmapped bool // whether the segment is gone
	Staying  int  // mappings of it that stay on purpose: contexts of the program may come back to them
}

// mostChanges bounds how often what was found is found anew: a process may change for ever what looks like ours.
const mostChanges = 10

// Restore undoes what is in the process, from what that carries itself: whoever has put it there knows nothing more of it. may is asked in the stop, before
// anything is changed, and ends it by an error.
func (t *Text) Restore(r *RestoreReport, may func() error) (err error) {
	for range mostChanges {
		*r = RestoreReport{}
		if err = t.restoreFound(r, may); !errors.Is(err, errChanged) {
			break
		}
	}
	return err
}

func (t *Text) restoreFound(r *RestoreReport, may func() error) error {
	u, err := t.leftovers(r)
	if err != nil {
		return err
	}
	return process.Patiently(func() error {
		earlier := r.Restored // by a try that came as far as the text and had to wait with the rest
		r.Already = 0
		found, err := t.findStrays()
		if err == nil {
			err = faultKnown.Hit(t.Proc.PID())
		}
		if err != nil {
			return err
		}
		err = t.Host.StopOnce(func(w *process.World) error {
			if err := may(); err != nil {
				return err
			}
			if err := u.areAll(); err != nil {
				return err
			}
			err := u.undo(w, r, found)
			if missing := t.Host.Missing(); err != nil && missing != nil {
				return missing
			}
			return err
		})
		r.Already = max(r.Already-earlier, 0)
		return err
	})
}

// Unmap takes the segment out of the process, whose text is as it was, as soon as no thread is in it.
func (t *Text) Unmap() error {
	return process.Patiently(func() error {
		found, err := t.findStrays()
		if err != nil {
			return err
		}
		left, err := segment.Descriptors(t.Proc) // of a culprit that was killed: whoever measures the process has closed its own. To look takes milliseconds
		if err != nil {
			return err
		}
		maps, err := t.Proc.Maps() // likewise
		if err != nil {
			return err
		}
		ours := segment.AllIn(t.Proc, maps)
		return t.Host.Stop(func(w *process.World) error {
			if err := w.Pending(); err != nil {
				return err
			}
			code, err := stillThere(w, maps, ours)
			if err != nil {
				return err
			}
			return t.unmapOurs(w, found, ours, code, len(left) > 0)
		})
	})
}

// stillThere makes sure, in the stopped target, that what is ours of mappings that were read before is as it was, and gives those that hold code.
func stillThere(w *process.World, maps, ours []process.Mapping) (code []process.Mapping, err error) {
	w.Knew(maps)
	var was []process.Mapping
	var addrs []process.Addr
	for _, m := range maps {
		if slices.ContainsFunc(ours, func(o process.Mapping) bool { return o.Start < m.End && m.Start < o.End }) {
			was, addrs = append(was, m), append(addrs, m.Start)
		}
	}
	now, err := w.MappingsAt(addrs)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(now, was) {
		return nil, errRemapped
	}
	return w.CodeMaps()
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
// may have been left open. code are the mappings that hold code now.
func (t *Text) unmapOurs(w *process.World, found *strays, ours, code []process.Mapping, open bool) error {
	ours = t.Host.Going(w, ours)
	inside, err := t.Host.Standing(w, append(islandSpans(ours), found.spans(-1)...))
	switch {
	case err != nil:
		return err
	case len(inside) > 0:
		return ErrInside
	}
	if err := t.putBackCopies(w, found, code); err != nil {
		return err
	}
	if err := faultRestored.Hit(t.Proc.PID()); err != nil {
		return err
	}
	if open {
		if err := segment.CloseDescriptors(w, t.Proc); err != nil { // while the head still says which
			return err
		}
	}
	began := time.Now()
	for _, m := range joined(ours) {
		if time.Since(began) > unmapFor {
			return errMore
		}
		if err := w.Munmap(m.Start, m.Len()); err != nil {
			return err
		}
		if err := faultUnmap.Hit(t.Proc.PID()); err != nil {
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
func islandSpans(ours []process.Mapping) (spans []Span) {
	for i, m := range ours {
		if m.Perms&process.Exec != 0 {
			spans = append(spans, Span{Lo: uint64(m.Start) - 1, Hi: uint64(m.End), Owner: i})
		}
	}
	return spans
}
