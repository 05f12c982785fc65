package grid

import "slices"

// A ChangeKind says what changed in a grid.
type ChangeKind uint8

// The kinds of change, with the fields of Change that they fill.
const (
	ValueAdded   ChangeKind = iota // Key, Start, End, Value as sampled
	Folded                         // Phase, Width: all histograms of the phase
	PairEnabled                    // Key, Start: since when values are complete
	PairDisabled                   // Key, End
	PairDropped                    // Key
	PhaseStarted                   // Phase, Start
	PhaseEnded                     // Phase, Start, End
)

// A Change is one thing that happened to a grid. Times are s since session start.
type Change struct {
	Kind       ChangeKind
	Key        PairKey
	Start, End float64
	Value      float64
	Width      float64 // of a bin, seconds
	Phase      Phase
}

type subscriber struct{ f func(Change) }

// Subscribe has f called for each change until cancel is called; a call that is under way may still end after that.
// f runs on the goroutine that made the change, often the sampler's: it must be quick, be fit for several goroutines at
// once, and not call Enable, Disable, DisableAll or Drop.
func (g *Grid) Subscribe(f func(Change)) (cancel func()) {
	s := &subscriber{f}
	g.editSubs(func(subs []*subscriber) []*subscriber { return append(subs, s) })
	return func() {
		g.editSubs(func(subs []*subscriber) []*subscriber {
			return slices.DeleteFunc(subs, func(o *subscriber) bool { return o == s })
		})
	}
}

// editSubs replaces the list by an edited copy, so that notify needs no lock.
func (g *Grid) editSubs(edit func([]*subscriber) []*subscriber) {
	for {
		old := g.subs.Load()
		edited := edit(slices.Clone(*old))
		if g.subs.CompareAndSwap(old, &edited) {
			return
		}
	}
}

func (g *Grid) watched() bool { return len(*g.subs.Load()) > 0 }

// notify calls the subscribers in the order of the changes. Grid.mu is not held.
func (g *Grid) notify(changes ...Change) {
	for _, c := range changes {
		for _, s := range *g.subs.Load() {
			s.f(c)
		}
	}
}
