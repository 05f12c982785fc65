package sampling

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
)

// A Part is what of a focus samples know, read once for all targets.
type Part struct {
	item         *pcl.GroupingItem // nil where none is chosen
	object       string            // as ObjectPart has it
	code, thread []string          // elements
}

// PartOf is the part of a focus, which selects an item, or nil.
func PartOf(f grid.Focus, item *pcl.GroupingItem) *Part {
	return &Part{item, ObjectPart(f), f.Elements(grid.Code), f.Elements(grid.Process)}
}

// ObjectPart names the lock or file that a focus selects, as the profile keeps it; "" if it selects none.
func ObjectPart(f grid.Focus) string {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if e := f.Elements(h); len(e) == 2 {
			return h.String() + "/" + e[0] + "/" + e[1]
		}
	}
	return ""
}

// Weight is how many samples of a kind support a part, and of how many. ok is false if samples do not tell: of a thread together with a lock, a file
// or an item, and of more threads in more functions than are counted.
func (c *Counts) Weight(part *Part, kind Kind) (hits, total float64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.kinds[kind]
	switch {
	case s.total == 0: // nothing was seen, as of processes that only wait
	case len(part.thread) == 2 && (part.item != nil || part.object != ""):
		return 0, s.total, false
	case part.item != nil:
		hits = c.itemWeight(s, part)
	case len(part.thread) == 2:
		return c.threadWeight(s, part)
	case len(part.code) >= 2:
		for _, id := range c.t.Function(part.code[0], part.code[1]) {
			if part.object != "" {
				hits += s.both[funcObject{id, part.object}]
			} else {
				hits += s.functions[id]
			}
		}
	case part.object != "":
		hits = s.objects[part.object]
	default:
		hits = s.total
	}
	return hits, s.total, true
}

// threadWeight is Weight of a thread, everywhere or in a function. c.mu is held.
func (c *Counts) threadWeight(s *kindCounts, part *Part) (hits, total float64, ok bool) {
	var ids []pcl.FuncID
	if len(part.code) >= 2 {
		if s.crowded {
			return 0, s.total, false
		}
		ids = c.t.Function(part.code[0], part.code[1])
	}
	for tid, n := range s.threads {
		switch {
		case !c.t.Threads.Is(tid, part.thread[1]):
		case len(part.code) < 2:
			hits += n
		default:
			for _, id := range ids {
				hits += s.within[funcThread{id, tid}]
			}
		}
	}
	return hits, s.total, true
}

// itemWeight is how many samples support the item of a focus, beside the function or the object that the focus selects as well.
func (c *Counts) itemWeight(s *kindCounts, part *Part) (hits float64) {
	it := part.item
	if it.Base == grid.Code {
		if x := c.t.Items(); x != nil {
			return s.items[itemObject{x.Number(it), part.object}]
		}
		return 0
	}
	chosen := func(object string) bool {
		return slices.ContainsFunc(it.Paths(), func(path []string) bool {
			name := it.Base.String() + "/" + strings.Join(path, "/")
			return object == name || len(path) == 1 && strings.HasPrefix(object, name+"/")
		})
	}
	if code := part.code; len(code) >= 2 {
		ids := c.t.Function(code[0], code[1])
		for at, n := range s.both {
			if slices.Contains(ids, at.f) && chosen(at.obj) {
				hits += n
			}
		}
		return hits
	}
	for object, n := range s.objects {
		if chosen(object) {
			hits += n
		}
	}
	return hits
}

// Callees are the functions that a function was seen to call.
func (c *Counts) Callees(f pcl.FuncID) (ids []pcl.FuncID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.edges[f] {
		ids = append(ids, id)
	}
	return ids
}

// Roots are the functions at the bottom of stacks.
func (c *Counts) Roots() (ids []pcl.FuncID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.roots {
		ids = append(ids, id)
	}
	return ids
}

// Waited tells whether samples of late saw a thread that waited for a file or a lock, named as ObjectPart does.
func (c *Counts) Waited(part string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[IO].objects[part] > 0 || c.kinds[Sync].objects[part] > 0
}

// Seen is how many samples have one of the functions on their stacks; one that has two of them counts twice.
func (c *Counts) Seen(ids []pcl.FuncID) (n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		n += c.seen(id)
	}
	return n
}

// seen is Seen of one function. c.mu is held.
func (c *Counts) seen(id pcl.FuncID) (n float64) {
	for _, k := range []Kind{CPU, Sync, IO} {
		n += c.kinds[k].functions[id]
	}
	return n
}

// fewFunctions is how many functions of an item are offered to the search whatever stack samples say.
const fewFunctions = 64

// OnStacks leaves of many functions those that stack samples saw lately: most of a library is not used. All are left if samples saw
// none of them, or none are taken.
func (c *Counts) OnStacks(ids []pcl.FuncID) []pcl.FuncID {
	if len(ids) <= fewFunctions {
		return ids
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var seen []pcl.FuncID
	for _, id := range ids {
		if c.seen(id) > 0 {
			seen = append(seen, id)
		}
	}
	if len(seen) == 0 {
		return ids
	}
	return seen
}
