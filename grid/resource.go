package grid

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Bounds of a Tree. Names come from targets, which may be broken or hostile.
const (
	// MaxResources is how many nodes a tree holds, the roots left out.
	MaxResources = 1_000_000

	maxNameLen   = 16 << 10  // bytes of one name or label
	maxNameBytes = 256 << 20 // of all names and labels together
	maxDepth     = 16
)

// A Tree holds the resources of all hierarchies as they are discovered. The roots are always there. A resource that is
// gone (a thread that ended, a lock that was freed) is retired: it is listed no more but keeps its name, so that what
// was found about it can still be shown.
type Tree struct {
	mu      sync.RWMutex
	roots   [NumHierarchies]*resource
	count   int // nodes, live or retired
	retired int
	bytes   int
	max     int // MaxResources except in tests
	logs    []*TreeLog

	version atomic.Uint64
}

type resource struct {
	parent   *resource // nil for a root
	children map[string]*resource
	label    string
	retired  bool
}

// ErrTreeFull says that a tree holds as many resources, or as many bytes of names, as it may.
type ErrTreeFull struct{ Resources int }

// Error says how many there are.
func (e ErrTreeFull) Error() string {
	return fmt.Sprintf("too many resources: %d are known already; leave modules out with an exclude statement in PCL", e.Resources)
}

// NewTree makes a tree of the roots.
func NewTree() *Tree {
	t := &Tree{max: MaxResources}
	for h := range t.roots {
		t.roots[h] = &resource{}
	}
	return t
}

// Version grows with each change of the tree.
func (t *Tree) Version() uint64 { return t.version.Load() }

// Touch has the tree count as changed: there is more of what it stands for, though nothing that is listed.
func (t *Tree) Touch() {
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.version.Add(1)
	t.tell(TreeTouched, 0, nil, "")
}

// Len is the number of live resources, the roots left out.
func (t *Tree) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.count - t.retired
}

// Add makes the resource known, and those above it; one that was retired is live again. Adding what is there changes
// nothing. The errors are ErrTreeFull, after retired resources have been forgotten to make room, and one for a name or
// a path that is too long.
func (t *Tree) Add(h Hierarchy, elems ...string) error {
	elems, err := checkPath(h, elems)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.find(h, elems); n != nil && !n.retired {
		return nil
	}
	if t.full() {
		t.forgetRetired()
	}
	n := t.roots[h]
	for _, e := range elems {
		if n, err = t.child(n, e); err != nil {
			return err
		}
	}
	t.tell(ResourceAdded, h, elems, "")
	return nil
}

// child returns the live child of that name; it makes or revives it.
func (t *Tree) child(n *resource, name string) (*resource, error) {
	if c := n.children[name]; c != nil {
		if c.retired {
			c.retired = false
			t.retired--
			t.version.Add(1)
		}
		return c, nil
	}
	if t.full() {
		return nil, ErrTreeFull{t.count}
	}
	if n.children == nil {
		n.children = map[string]*resource{}
	}
	c := &resource{parent: n}
	n.children[strings.Clone(name)] = c // the name may be a small part of a large text
	t.count++
	t.bytes += len(name)
	t.version.Add(1)
	return c, nil
}

func (t *Tree) full() bool { return t.count >= t.max || t.bytes >= maxNameBytes }

// checkPath brings the elements into the form of a focus and checks their bounds.
func checkPath(h Hierarchy, elems []string) ([]string, error) {
	if h >= NumHierarchies {
		return nil, fmt.Errorf("resource: no such hierarchy: %d", uint8(h))
	}
	if d := pathDepth(h); d > 0 && len(elems) > d {
		elems = append(slices.Clone(elems[:d-1]), strings.Join(elems[d-1:], "/"))
	}
	if len(elems) > maxDepth {
		return nil, fmt.Errorf("resource below /%s: %d levels; at most %d", h, len(elems), maxDepth)
	}
	for _, e := range elems {
		if len(e) > maxNameLen {
			return nil, fmt.Errorf("resource below /%s: name %s has %d bytes; at most %d", h, quote(e), len(e), maxNameLen)
		}
	}
	return elems, nil
}

// find returns nil for what is not known. The mutex is held.
func (t *Tree) find(h Hierarchy, elems []string) *resource {
	elems, err := checkPath(h, elems)
	if err != nil {
		return nil
	}
	n := t.roots[h]
	for _, e := range elems {
		if n = n.children[e]; n == nil {
			return nil
		}
	}
	return n
}

// Exists reports whether the resource is known, live or retired. Roots exist.
func (t *Tree) Exists(h Hierarchy, elems ...string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.find(h, elems) != nil
}

// Live reports whether the resource is known and not retired.
func (t *Tree) Live(h Hierarchy, elems ...string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := t.find(h, elems)
	return n != nil && !n.retired
}

// Children lists the names of the live children, sorted; nil if there are none or the resource is not known.
func (t *Tree) Children(h Hierarchy, elems ...string) []string {
	t.mu.RLock()
	var out []string
	if n := t.find(h, elems); n != nil {
		for name, c := range n.children {
			if !c.retired {
				out = append(out, name)
			}
		}
	}
	t.mu.RUnlock()
	sort.Strings(out)
	return out
}

// Refinements returns the focus with its selection in the hierarchy moved to each live child, in order of name.
func (t *Tree) Refinements(f Focus, h Hierarchy) []Focus {
	elems := f.Elements(h)
	names := t.Children(h, elems...)
	out := make([]Focus, len(names))
	for i, name := range names {
		out[i] = f.Refine(h, append(slices.Clone(elems), name)...)
	}
	return out
}

// Retire marks the resource and all below it as gone. A root stays, but all below it goes.
func (t *Tree) Retire(h Hierarchy, elems ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.find(h, elems)
	if n == nil || n.retired {
		return
	}
	if before := t.retired; t.retire(n) != before {
		t.version.Add(1)
		t.tell(ResourceRetired, h, elems, "")
	}
}

// retire returns how many are retired now.
func (t *Tree) retire(n *resource) int {
	if n.parent != nil && !n.retired {
		n.retired = true
		t.retired++
	}
	for _, c := range n.children {
		t.retire(c) // at most maxDepth deep
	}
	return t.retired
}

// forgetRetired removes all retired resources; none of them has a live one below it.
func (t *Tree) forgetRetired() {
	if t.retired == 0 {
		return
	}
	for _, root := range t.roots {
		t.forgetBelow(root)
	}
	t.version.Add(1)
}

func (t *Tree) forgetBelow(n *resource) {
	for name, c := range n.children {
		t.forgetBelow(c)
		if c.retired {
			delete(n.children, name)
			t.count--
			t.retired--
			t.bytes -= len(name) + len(c.label)
		}
	}
}

// SetLabel gives a known resource a name for people, "" for none. It is an error if the resource is not known or the
// label longer than 16 KiB.
func (t *Tree) SetLabel(label string, h Hierarchy, elems ...string) error {
	if len(label) > maxNameLen {
		return fmt.Errorf("label %s has %d bytes; at most %d", quote(label), len(label), maxNameLen)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.find(h, elems)
	if n == nil {
		return fmt.Errorf("no resource %s", quote(Whole().refineAny(h, elems)))
	}
	if n.label != label {
		t.bytes += len(label) - len(n.label)
		n.label = strings.Clone(label)
		t.version.Add(1)
		t.tell(ResourceLabel, h, elems, n.label)
	}
	return nil
}

// Label is the name for people, "" if it has none.
func (t *Tree) Label(h Hierarchy, elems ...string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n := t.find(h, elems); n != nil {
		return n.label
	}
	return ""
}

// refineAny writes a path for a message, also for a hierarchy that does not exist.
func (f Focus) refineAny(h Hierarchy, elems []string) string {
	if h >= NumHierarchies {
		return "/" + h.String() + "/" + strings.Join(elems, "/")
	}
	return f.Refine(h, elems...).String()
}
