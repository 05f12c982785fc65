package locks

import "culprit/grid"

// Locks end: their memory is given back, and may become another lock, or it is not there any more. What was known of the first is
// no name of the second.

// A sighting is what waiting threads have said lately of a lock whose name is not that of a variable.
type sighting struct {
	other string // the part that they give it now, other than the one by which it is known
	times int    // how often, one after another
}

// How often names are made anew, all together, in seconds, and how often one must be the same to take the place of another: two functions may
// know the same memory by different types.
const (
	sightEvery = 0.1
	sightings  = 3
	// sightRest is how many times as long as a name took to make nothing is made: where functions have very many variables it takes milliseconds.
	sightRest = 200
)

// mayEnd reports whether it is time to look whether the lock of a word is still the one that it was. mu is held.
func (t *Table) mayEnd(w *word, at float64) bool {
	if w.sight == nil || at < t.nextSight {
		return false
	}
	t.nextSight = at + sightEvery
	return true
}

// isAnother takes the part that a waiting thread gives a lock now, and reports whether it is another lock. telling says that the name is
// more than an address. mu is held.
func (t *Table) isAnother(addr uint64, part string, telling bool) bool {
	w := t.wordAt(addr)
	s := w.sight
	if s == nil || part == w.part || t.ended[part] || !telling && sameKind(part, w.part) {
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

// sameKind reports whether two parts name locks of one kind.
func sameKind(a, b string) bool {
	x, _ := split(a)
	y, _ := split(b)
	return a != "" && b != "" && x == y
}

// end makes a lock one of the past. mu is held.
func (t *Table) end(part string) {
	addr, ok := t.byName[part]
	if !ok {
		return
	}
	delete(t.byName, part)
	delete(t.locks, addr)
	for _, w := range t.words {
		if w.part == part {
			t.want(w, false)
			w.part, w.sight = "", nil
		}
	}
	if len(t.ended) >= maxEnded {
		clear(t.ended)
	}
	t.ended[part] = true
	kind, name := split(part)
	t.tree.Retire(grid.SyncObject, kind, name)
}

// EndUnmapped ends the locks whose memory is not there any more.
func (t *Table) EndUnmapped(mapped func(addr uint64) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for part, addr := range t.byName {
		if !mapped(addr) {
			t.end(part)
		}
	}
}
