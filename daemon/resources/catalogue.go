package resources

import (
	"sync"

	"culprit/daemon/program"
	"culprit/daemon/target"
	"culprit/grid"
)

// What modules and functions the targets have is listed in the tree for those who want to choose among them. The search does not: it
// goes from what runs to what that calls, and a server has a hundred thousand functions that never run.

// A Catalogue is what of the targets' code is listed.
type Catalogue struct {
	session *target.Session
	start   func(func())
	stopped <-chan struct{}
	open    sync.WaitGroup // listings that are under way

	mu     sync.Mutex
	wanted bool                     // by somebody; until then there is none
	listed map[program.FileKey]bool // whose functions are in the tree
}

// NewCatalogue lists nothing yet. start has a function done beside everything else; what is under way when stopped is closed ends soon.
func NewCatalogue(s *target.Session, start func(func()), stopped <-chan struct{}) *Catalogue {
	return &Catalogue{session: s, start: start, stopped: stopped, listed: map[program.FileKey]bool{}}
}

// Want has all code listed from now on.
func (c *Catalogue) Want() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = true
}

// List lists objects, if somebody wants that: their modules and functions become resources, those of a file once for all targets. It does
// not wait. That there is more code is news in any case.
func (c *Catalogue) List(all []*program.Object) {
	c.session.Tree.Touch()
	objects := c.unlisted(all)
	if len(objects) == 0 {
		return
	}
	c.open.Add(1)
	c.start(func() {
		defer c.open.Done()
		c.list(objects)
	})
}

// Wait returns when all that was to be listed is in the tree.
func (c *Catalogue) Wait() { c.open.Wait() }

// unlisted are the objects that are to be listed, once.
func (c *Catalogue) unlisted(all []*program.Object) (objects []*program.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range all {
		if c.wanted && !c.listed[o.File] {
			c.listed[o.File] = true
			objects = append(objects, o)
		}
	}
	return objects
}

func (c *Catalogue) list(objects []*program.Object) {
	var wg sync.WaitGroup
	for _, o := range objects { // reads the tables, which takes a while
		wg.Go(func() { o.Functions() })
	}
	wg.Wait()
	for _, o := range objects {
		if err := c.listObject(o); err != nil {
			c.session.Logf("not all functions are listed: %v", err)
			return
		}
	}
}

func (c *Catalogue) listObject(o *program.Object) error {
	for _, fn := range o.Functions() {
		select {
		case <-c.stopped:
			return nil
		default:
		}
		if c.session.Library.Excluded(fn.Module, fn.Name) {
			continue
		}
		if err := c.session.Tree.Add(grid.Code, fn.Module, fn.Name); err != nil {
			return err
		}
	}
	return nil
}
