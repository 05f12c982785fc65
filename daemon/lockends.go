package daemon

import (
	"strings"
	"time"

	"culprit/daemon/process"
	"culprit/grid"
)

// Locks end: their memory is given back, and may become another lock, or it is not there any more. What was known of the first is
// no name of the second.

// A sighting is what waiting threads have said lately of a lock whose name is not that of a variable.
type sighting struct {
	other string // the name and kind that they give it now, other than those by which it is known
	times int    // how often, one after another
}

// How often names are made anew, all together, and how often one must be the same to take the place of another: two functions may
// know the same memory by different types.
const (
	sightEvery = 100 * time.Millisecond
	sightings  = 3
)

// mayEnd reports whether it is time to look whether the lock of a word is still the one that it was. o.mu is held.
func (o *objectTable) mayEnd(word uint64) bool {
	if _, ok := o.sights[word]; !ok || time.Now().Before(o.nextSight) {
		return false
	}
	o.nextSight = time.Now().Add(sightEvery)
	return true
}

// sighted takes the name and kind that a waiting thread gives a lock now, and reports whether it is another lock. o.mu is held.
func (o *objectTable) sighted(word uint64, kind, name string, telling bool) (another bool) {
	part := grid.SyncObject.String() + "/" + kind + "/" + name
	s := o.sights[word]
	if s == nil || part == o.names[word] || o.ended[part] || !telling && sameKind(part, o.names[word]) {
		if s != nil {
			*s = sighting{}
		}
		return false
	}
	if s.other != part {
		*s = sighting{other: part}
	}
	s.times++
	return s.times >= sightings
}

// sameKind reports whether two parts name objects of one kind: "SyncObject/Mutex/a" and "SyncObject/Mutex/b".
func sameKind(a, b string) bool {
	x, y := strings.SplitN(a, "/", 3), strings.SplitN(b, "/", 3)
	return len(x) == 3 && len(y) == 3 && x[1] == y[1]
}

// end makes a lock one of the past. o.mu is held.
func (o *objectTable) end(part string) {
	addr, ok := o.values[part]
	if !ok {
		return
	}
	delete(o.values, part)
	delete(o.addrs, addr)
	delete(o.bare, addr)
	delete(o.idle, addr)
	for word, p := range o.names {
		if p == part {
			delete(o.names, word)
			delete(o.sights, word)
			delete(o.unnamed, word)
		}
	}
	if len(o.ended) >= maxEnded {
		clear(o.ended)
	}
	o.ended[part] = true
	elems := strings.SplitN(part, "/", 3)
	o.t.d.tree.Retire(grid.SyncObject, elems[1], elems[2])
}

// maxEnded bounds how many locks of the past are remembered.
const maxEnded = 1 << 14

// endUnmapped ends the locks whose memory is not there any more.
func (o *objectTable) endUnmapped(maps []process.Mapping) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for part, addr := range o.values {
		if strings.HasPrefix(part, grid.SyncObject.String()+"/") && !mapped(maps, addr) {
			o.end(part)
		}
	}
}

// mapped reports whether an address is. Mappings are in order.
func mapped(maps []process.Mapping, addr uint64) bool {
	for _, m := range maps {
		if m.Contains(process.Addr(addr)) {
			return true
		}
	}
	return false
}

// hasEnded reports whether an object is one of the past.
func (o *objectTable) hasEnded(h grid.Hierarchy, elems []string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended[h.String()+"/"+strings.Join(elems, "/")]
}
