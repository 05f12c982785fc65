package daemon

import (
	"errors"
	"fmt"
	"sort"
	"time"

	"culprit/daemon/process"
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
	clean = true
	var errs []error
	for _, t := range d.targets {
		if e := t.detach(); e != nil {
			clean = false
			errs = append(errs, fmt.Errorf("%s: %w", t.name, e))
		}
	}
	return clean, errors.Join(errs...)
}

// leaveTries is how often detaching is repeated while some thread is inside a trampoline.
const leaveTries = 200

// detach restores every byte, then unmaps the segment once no thread is inside.
func (t *target) detach() error {
	if t.detached {
		return nil
	}
	t.detached = true
	defer t.close()
	if gone(t.proc) || t.seg == nil {
		return nil
	}
	var sites []*site
	for _, s := range t.sites {
		if s.base != nil {
			s.groups = make([][]ownedGroup, len(s.Marks))
			sites = append(sites, s)
		}
	}
	busy, err := t.apply(sites, nil)
	if err == nil && len(busy) > 0 {
		for _, e := range busy {
			err = e
		}
	}
	if err == nil {
		err = t.leave()
	}
	if gone(t.proc) {
		return nil
	}
	return err
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

var errInside = errors.New("a thread is inside a trampoline")

// leave unmaps the segment when no thread is inside an island or may return into one.
func (t *target) leave() error {
	for try := 0; ; try++ {
		err := t.stop(t.unmapOurs)
		var deferred *process.Deferred
		again := errors.Is(err, errInside) || errors.As(err, &deferred)
		if !again || try == leaveTries {
			return err
		}
		time.Sleep(time.Duration(1+try/10) * time.Millisecond)
	}
}

func sortRefusals(r []Refusal) {
	sort.Slice(r, func(i, j int) bool { return r[i].Function < r[j].Function })
}
