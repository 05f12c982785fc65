package daemon

import (
	"errors"
	"fmt"
	"sort"

	"culprit/daemon/placement"
	"culprit/grid"
)

// Detach removes every probe, gives back all memory and ends the session: nothing is left behind in targets that live.
// clean says that this was so for all of them. It may be called more than once.
func (d *Daemon) Detach() (clean bool, err error) {
	d.stopOnce.Do(func() { close(d.stopped) })
	d.loops.Wait()
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.reserve.Release()
	clean, err = d.leaveTargets()
	if d.opts.Children {
		d.releaseHeirs()
	}
	if clean {
		d.close()
	}
	return clean, err
}

// leaveTargets detaches from all targets, and tells whether nothing is left behind in any.
func (d *Daemon) leaveTargets() (clean bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clean = true
	var errs []error
	for _, t := range d.targets {
		if e := t.detach(); e != nil {
			clean = false
			errs = append(errs, fmt.Errorf("%s: %w", t.Name, e))
		}
	}
	return clean, errors.Join(errs...)
}

// close gives back what the session has of the kernel and what it has started. It may be called more than once.
func (d *Daemon) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rings != nil {
		d.rings.Close()
		d.rings = nil
	}
	d.session.Kernel.Close()
	d.watcher.Close()
	d.passing.Close()
	d.prices.Close()
	d.guard.Close()
	_ = d.wakings.Close()
	d.programs.Close()
	d.sight.Close()
}

// detach restores every byte, then unmaps the segment once no thread is inside. If something stands in the way, it is done
// once more from what the process itself carries. After an error everything is as it was, and detach may be called again.
func (t *measured) detach() error {
	if t.detached {
		return nil
	}
	err := t.TakeOut(placement.Begin(t.Target, t.blocks, nil))
	switch {
	case t.Proc.GoneBy(err):
		t.d.end(t) // before the session did: nothing was removed from it
	case err != nil:
		return err
	}
	t.detached = true
	t.close()
	return nil
}

// patched is how many sites are in the text of a target that lives and was not left.
func (t *measured) patched() int {
	if t.detached || t.ended {
		return 0
	}
	return len(t.Text.Patched())
}

func sortRefusals(r []grid.Refusal) {
	sort.Slice(r, func(i, j int) bool { return r[i].Function < r[j].Function })
}
