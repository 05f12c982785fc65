package batch

import (
	"slices"
	"sync"

	"culprit/daemon/patch"
)

const (
	// lingerTime is how long a part stays in the text at least after it was switched off, in s. A search that goes on has another batch within that
	// time, which takes the part along: no stop of its own.
	lingerTime = 5.0
	// alongAfter is that time where a batch stops the target anyway.
	alongAfter = 1.0
	// MostLingering bounds how many parts of one target stay; more of them go with the next batch.
	MostLingering = 200
)

// Lingering are parts that were switched off and are in the text still: their code is jumped over. To take it out stops the target and makes the
// trampolines of all their sites anew; what takes their place at a site does that anyway, and a batch takes along what would leave soon.
type Lingering struct {
	Now func() float64 // session time, in s

	mu    sync.Mutex
	parts []leaving
}

// A leaving part was switched off at a session time.
type leaving struct {
	part Part
	at   float64
}

// Add switches a part off at once; it is taken out of the text within the next seconds.
func (l *Lingering) Add(p Part) {
	p.SwitchOff()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts = append(l.parts, leaving{p, l.Now()})
}

// Hurry makes a part due that lingers.
func (l *Lingering) Hurry(p Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.parts {
		if l.parts[i].part == p {
			l.parts[i].at -= lingerTime
		}
	}
}

// Of lists the parts in a target.
func (l *Lingering) Of(t Target) (parts []Part) {
	for _, e := range l.all() {
		if e.part.In() == t {
			parts = append(parts, e.part)
		}
	}
	return parts
}

func (l *Lingering) all() []leaving {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.parts)
}

// remove takes parts out of the list.
func (l *Lingering) remove(out func(Part) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts = slices.DeleteFunc(l.parts, func(e leaving) bool { return out(e.part) })
}

// Leave forgets the parts of a target that has ended.
func (l *Lingering) Leave(t Target) {
	l.remove(func(p Part) bool { return p.In() == t })
}

// Sweep takes out what is due, or all that there is. It stops targets if there is any.
func (l *Lingering) Sweep(all bool) {
	b := New(l)
	b.TakeOut(func(since float64) bool { return all || since >= lingerTime })
	b.Commit()
}

// drop leaves what lingers out of the trampolines of some sites.
func (l *Lingering) drop(t Target, sites map[*patch.Site]bool) {
	for _, p := range l.Of(t) {
		for _, s := range p.Sites() {
			if sites[s] {
				s.Drop(p)
			}
		}
	}
}

// forget forgets the parts that have gone out of all of their sites.
func (l *Lingering) forget(t Target, out func(*patch.Site) bool) {
	gone := map[Part]bool{}
	for _, p := range l.Of(t) {
		if p.Forget(out); len(p.Sites()) == 0 {
			p.Release()
			gone[p] = true
		}
	}
	l.remove(func(p Part) bool { return gone[p] })
}
