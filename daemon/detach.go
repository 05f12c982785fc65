package daemon

import (
	"errors"
	"fmt"
	"sort"
	"time"

	"culprit/daemon/process"
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

// leaveFor is how long leaving is tried again while some thread is inside a trampoline or cannot be stopped.
const leaveFor = 10 * time.Second

// detach restores every byte, then unmaps the segment once no thread is inside. If something stands in the way, it is done
// once more from what the process itself carries. After an error everything is as it was, and detach may be called again.
func (t *target) detach() error {
	if t.detached {
		return nil
	}
	err := t.leave()
	switch {
	case t.goneBy(err):
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
	if gone(t.proc) {
		return process.ErrTargetExited
	}
	if t.seg == nil {
		return nil
	}
	err := t.remove()
	if err != nil && !t.goneBy(err) {
		t.d.logf("%s: detaching once more after: %v", t.name, err)
		err = t.restore(&RestoreReport{})
	}
	if err == nil {
		err = t.tidy()
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

// goneBy tells that the target has ended, or that this is why something failed: a process that is killed has lost its threads, and then its
// memory, some time before it is seen to have ended.
func (t *target) goneBy(err error) bool {
	return errors.Is(err, process.ErrTargetExited) || errors.Is(err, process.ErrTargetExeced) || err != nil && gone(t.proc)
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
	err = leaving(func() error {
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

// leaving tries until no thread stands in the way, for leaveFor. One may also stand where there is no room for a call of ours.
func leaving(try func() error) error {
	for n, start := 0, time.Now(); ; n++ {
		err := try()
		var deferred *process.Deferred
		var long *tooLong
		var unsupported *process.Unsupported
		passes := errors.As(err, &unsupported) && unsupported.Passes
		again := passes || errors.Is(err, errInside) || errors.Is(err, errRemapped) || errors.Is(err, errMore) || errors.As(err, &deferred) || errors.As(err, &long)
		if !again || time.Since(start) > leaveFor {
			return err
		}
		time.Sleep(time.Duration(1+min(n/10, 20)) * time.Millisecond)
	}
}

func gone(p *process.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
	}
	err := p.CheckExec()
	return errors.Is(err, process.ErrTargetExeced) || errors.Is(err, process.ErrTargetExited)
}

var errInside = errors.New("a thread is inside a trampoline and does not leave it; if the program is stopped, let it go on (kill -CONT), then try again")

func sortRefusals(r []grid.Refusal) {
	sort.Slice(r, func(i, j int) bool { return r[i].Function < r[j].Function })
}
