package daemon

import (
	"errors"
	"fmt"
	"sort"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/grid"
)

// Detach removes every probe, gives back all memory and ends the session: nothing is left behind in targets that live.
// clean says that this was so for all of them. It may be called more than once.
func (d *Daemon) Detach() (clean bool, err error) {
	d.stopOnce.Do(func() { close(d.stopped) })
	d.loops.Wait()
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reserve.release()
	clean = true
	var errs []error
	for _, t := range d.targets {
		if e := t.detach(); e != nil {
			clean = false
			errs = append(errs, fmt.Errorf("%s: %w", t.name, e))
		}
	}
	if d.opts.Children {
		d.releaseYoung()
	}
	if clean {
		if d.rings != nil {
			d.rings.Close()
			d.rings = nil
		}
		d.kern.Close()
		d.family.births.Close()
		d.passing.Close()
		d.prices.close()
		d.guard.Close()
		d.rows.close()
		d.sight.close()
	}
	return clean, errors.Join(errs...)
}

// detach restores every byte, then unmaps the segment once no thread is inside. If something stands in the way, it is done
// once more from what the process itself carries. After an error everything is as it was, and detach may be called again.
func (t *target) detach() error {
	if t.detached {
		return nil
	}
	err := t.leave()
	switch {
	case t.proc.GoneBy(err):
		t.d.end(t) // before the session did: nothing was removed from it
	case err != nil:
		return err
	}
	t.detached = true
	t.close()
	return nil
}

// leave takes all that is ours out of a target that lives.
func (t *target) leave() error {
	if t.proc.Gone() {
		return process.ErrTargetExited
	}
	if t.seg == nil {
		return nil
	}
	err := t.remove()
	if err != nil && !t.proc.GoneBy(err) {
		t.d.logf("%s: detaching once more after: %v", t.name, err)
		err = t.restore(&RestoreReport{})
	}
	if err == nil {
		err = segment.Tidy(t.proc, t.stop)
	}
	if err != nil {
		return err
	}
	for _, s := range t.patched() { // by way of the ledger
		t.d.removed++
		s.base = nil
	}
	return nil
}

// patched are the sites that are in the text of a target that lives and was not left.
func (t *target) patched() (sites []*site) {
	if t.detached || t.ended {
		return nil
	}
	for _, s := range t.sites {
		if s.base != nil {
			sites = append(sites, s)
		}
	}
	return sites
}

// remove takes out what is known to be in.
func (t *target) remove() error {
	sites := t.patched()
	for _, s := range sites {
		s.groups = nil
	}
	busy, err := t.apply(sites, nil)
	for _, e := range busy {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	if t.unsure {
		return t.restore(&RestoreReport{})
	}
	t.leavesNothing()
	err = process.Patiently(func() error {
		found, err := t.findStrays()
		if err != nil {
			return err
		}
		return t.stop(func(w *process.World) error {
			if err := w.Pending(); err != nil {
				return err
			}
			return t.unmapOurs(w, found)
		})
	})
	if err == nil && t.seg.Stays {
		t.d.logf("%s: the code is as it was; trampolines stay in its memory until it ends, since contexts of the program may come back to them", t.name)
	}
	return err
}

// A passing error says that something of the program stands in the way that goes away by itself.
type passing string

func (e passing) Error() string { return string(e) }

// Passing has what failed be tried again.
func (e passing) Passing() bool { return true }

var errInside error = passing("a thread is inside a trampoline and does not leave it; if the program is stopped, let it go on (kill -CONT), then try again")

func sortRefusals(r []grid.Refusal) {
	sort.Slice(r, func(i, j int) bool { return r[i].Function < r[j].Function })
}
