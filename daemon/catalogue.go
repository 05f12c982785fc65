package daemon

import (
	"sync"

	"culprit/daemon/program"
	"culprit/grid"
)

// What modules and functions the targets have is listed in the tree for those who want to choose among them. The search does not: it
// goes from what runs to what that calls, and a server has a hundred thousand functions that never run.

// A catalogue is what of the targets' code is listed.
type catalogue struct {
	wanted bool                     // by somebody; until then there is none
	listed map[program.FileKey]bool // whose functions are in the tree
	open   sync.WaitGroup           // listings that are under way
}

// ListCode has all modules and functions of the targets listed in the tree, those of code that is loaded later too. It does not wait.
func (d *Daemon) ListCode() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.catalogue.wanted = true
	for _, t := range d.targets {
		d.publish(t)
	}
}

// Known lists all modules and functions of the targets, and waits until they are in the tree.
func (d *Daemon) Known() {
	d.ListCode()
	d.catalogue.open.Wait()
}

// publish lists the code of a target beside everything else, if somebody wants that. That there is more of it is news in any case. d.mu is
// held.
func (d *Daemon) publish(t *measured) {
	d.session.Tree.Touch()
	if !d.catalogue.wanted {
		return
	}
	d.catalogue.open.Add(1)
	d.goLoop(func() {
		defer d.catalogue.open.Done()
		d.publishCode(t)
	})
}

// publishCode makes modules and functions resources, those of a file once for all targets.
func (d *Daemon) publishCode(t *measured) {
	objects := d.unlisted(t)
	var wg sync.WaitGroup
	for _, o := range objects { // reads the tables, which takes a while
		wg.Go(func() { o.Functions() })
	}
	wg.Wait()
	for _, o := range objects {
		if err := d.publishObject(o); err != nil {
			d.logf("not all functions are listed: %v", err)
			return
		}
	}
}

// unlisted are the objects of a target that are to be listed, once.
func (d *Daemon) unlisted(t *measured) (objects []*program.Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range t.Objects() {
		if !d.catalogue.listed[o.File] {
			d.catalogue.listed[o.File] = true
			objects = append(objects, o)
		}
	}
	return objects
}

func (d *Daemon) publishObject(o *program.Object) error {
	for _, fn := range o.Functions() {
		select {
		case <-d.stopped:
			return nil
		default:
		}
		if d.session.Library.Excluded(fn.Module, fn.Name) {
			continue
		}
		if err := d.session.Tree.Add(grid.Code, fn.Module, fn.Name); err != nil {
			return err
		}
	}
	return nil
}
