package grid

import (
	"slices"
	"sync"
)

// A TreeChange says what happened to a resource of a Tree.
type TreeChange uint8

// The changes, with the fields of TreeEvent that they fill.
const (
	ResourceAdded   TreeChange = iota // Hierarchy, Path: it is live now
	ResourceRetired                   // Hierarchy, Path: with all below it
	ResourceLabel                     // Hierarchy, Path, Label
	TreeTouched                       // see Tree.Touch
)

// A TreeEvent is one change of a Tree.
type TreeEvent struct {
	Change    TreeChange
	Hierarchy Hierarchy
	Path      []string // below the root; not to be changed
	Label     string
}

// A TreeLog collects the changes of a tree until they are taken.
type TreeLog struct {
	mu     sync.Mutex
	events []TreeEvent
}

// Log begins to collect: what is there already comes first, as if it had just been added. It goes on as long as the tree lives.
func (t *Tree) Log() *TreeLog {
	l := &TreeLog{}
	t.mu.Lock()
	defer t.mu.Unlock()
	for h, root := range t.roots {
		l.all(Hierarchy(h), nil, root)
	}
	t.logs = append(t.logs, l)
	return l
}

// all adds what is below a resource; of what is retired only what has a name is kept, for those who ask what it was.
func (l *TreeLog) all(h Hierarchy, path []string, n *resource) {
	for name, c := range n.children {
		below := append(slices.Clone(path), name)
		l.events = append(l.events, TreeEvent{ResourceAdded, h, below, ""})
		if c.label != "" {
			l.events = append(l.events, TreeEvent{ResourceLabel, h, below, c.label})
		}
		l.all(h, below, c)
		if c.retired {
			l.events = append(l.events, TreeEvent{ResourceRetired, h, below, ""})
		}
	}
}

// Take gives out what has been collected, at most so many events, in order.
func (l *TreeLog) Take(most int) []TreeEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(most, len(l.events))
	taken := slices.Clone(l.events[:n])
	if l.events = l.events[n:]; len(l.events) == 0 {
		l.events = nil
	}
	return taken
}

// tell adds a change to all logs. The tree's mutex is held, so that they are in the order of the changes.
func (t *Tree) tell(change TreeChange, h Hierarchy, elems []string, label string) {
	for _, l := range t.logs {
		l.mu.Lock()
		if last := len(l.events) - 1; change != TreeTouched || last < 0 || l.events[last].Change != TreeTouched {
			l.events = append(l.events, TreeEvent{change, h, slices.Clone(elems), label})
		}
		l.mu.Unlock()
	}
}

// Apply makes a change that another tree has told of. The errors are those of Add and SetLabel.
func (t *Tree) Apply(e TreeEvent) error {
	switch e.Change {
	case ResourceAdded:
		return t.Add(e.Hierarchy, e.Path...)
	case ResourceRetired:
		t.Retire(e.Hierarchy, e.Path...)
	case ResourceLabel:
		return t.SetLabel(e.Label, e.Hierarchy, e.Path...)
	case TreeTouched:
		t.Touch()
	}
	return nil
}
