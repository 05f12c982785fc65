package batch

import (
	"errors"
	"slices"
	"sync"

	"culprit/daemon/patch"
	"culprit/daemon/process"
)

// A Target is a process in whose text a batch changes something. Targets are compared by ==.
type Target interface {
	sync.Locker // for whoever changes something there
	// Apply brings sites to what is wanted at them. The parts in begin start in the same stop as the last of the sites. It returns which sites
	// could not be changed and why, or an error if nothing could be changed.
	Apply(sites []*patch.Site, begin []Part) (busy map[*patch.Site]error, err error)
}

// A Part is the code of one owner in one target. It is the patch.Owner of what it has at its sites. Parts are compared by ==.
type Part interface {
	// In is the target that the part is in.
	In() Target
	// Sites are where its code is, or is to be. A part that only reads has none.
	Sites() []*patch.Site
	// Forget is told at which sites its code is not any more.
	Forget(out func(*patch.Site) bool)
	// SwitchOff has its code jumped over from now on, without a stop. What it needs of others it needs no more.
	SwitchOff()
	// Release gives back all that it has in its target. Its code is nowhere any more.
	Release()
	// IsScarce reports whether others may wait for what it holds.
	IsScarce() bool
}

// A Group is parts that are wanted together: if one of them cannot go in, none stays.
type Group struct {
	parts []Part
	err   error
}

// Has reports whether a part belongs to the group. Where a target has ended meanwhile, its part does not any more if there are others.
func (g *Group) Has(p Part) bool { return slices.Contains(g.parts, p) }

// Err is why the group is not in; nil if it is. It is known after Commit.
func (g *Group) Err() error { return g.err }

// A Batch is code that goes in, and code that goes out, together.
type Batch struct {
	lingering *Lingering
	order     []Target
	work      map[Target]*work
	groups    []*Group
}

// work is what a batch does in one target.
type work struct {
	sites map[*patch.Site]bool
	begin []beginning
	busy  map[*patch.Site]error // sites that could not be changed
	err   error                 // why nothing could be changed
}

// A beginning is a part whose code begins to run, and the group that it belongs to.
type beginning struct {
	part  Part
	group *Group
}

// New begins a batch. Of what lingers it takes out what others may wait for, and all of a target where it is too much.
func New(l *Lingering) *Batch {
	b := &Batch{lingering: l, work: map[Target]*work{}}
	b.TakeOut(func(float64) bool { return false })
	return b
}

// in is the work in a target.
func (b *Batch) in(t Target) *work {
	w := b.work[t]
	if w == nil {
		w = &work{sites: map[*patch.Site]bool{}}
		b.work[t], b.order = w, append(b.order, t)
	}
	return w
}

// Group begins a group, which has no parts yet.
func (b *Batch) Group() *Group {
	g := &Group{}
	b.groups = append(b.groups, g)
	return g
}

// Add adds a part to a group. Its code has been placed at its sites.
func (b *Batch) Add(g *Group, p Part) {
	g.parts = append(g.parts, p)
	if len(p.Sites()) == 0 {
		return
	}
	b.Renew(p)
	w := b.in(p.In())
	w.begin = append(w.begin, beginning{p, g})
}

// Renew has the sites of a part made anew.
func (b *Batch) Renew(p Part) {
	w := b.in(p.In())
	for _, s := range p.Sites() {
		w.sites[s] = true
	}
}

// Withdraw takes back a part that was placed, and perhaps added, and that is not wanted after all. Nothing of it is left.
func (b *Batch) Withdraw(p Part) {
	for _, s := range p.Sites() {
		s.Drop(p)
	}
	p.Release()
	if w := b.work[p.In()]; w != nil {
		w.begin = slices.DeleteFunc(w.begin, func(x beginning) bool { return x.part == p })
	}
	for _, g := range b.groups {
		g.parts = slices.DeleteFunc(g.parts, func(q Part) bool { return q == p })
	}
}

// TakeOut has parts that linger taken out with the batch, besides those that go anyway: those that are due, by their time in s since they were
// switched off.
func (b *Batch) TakeOut(due func(since float64) bool) {
	count := map[Target]int{}
	all := b.lingering.all()
	for _, e := range all {
		count[e.part.In()]++
	}
	for _, e := range all {
		if count[e.part.In()] > MostLingering || e.part.IsScarce() || due(b.lingering.Now()-e.at) {
			b.Renew(e.part)
		}
	}
}

// takeAlong has what would leave soon by itself go with the batch where a target is stopped anyway.
func (b *Batch) takeAlong() {
	now := b.lingering.Now()
	for _, e := range b.lingering.all() {
		if b.work[e.part.In()] != nil && now-e.at >= alongAfter {
			b.Renew(e.part)
		}
	}
}

// Commit changes the texts, one target after the other.
func (b *Batch) Commit() {
	b.takeAlong()
	for _, t := range b.order {
		b.commitIn(t, b.work[t])
	}
}

func (b *Batch) commitIn(t Target, w *work) {
	t.Lock()
	defer t.Unlock()
	b.lingering.drop(t, w.sites)
	sites := make([]*patch.Site, 0, len(w.sites))
	for s := range w.sites {
		sites = append(sites, s)
	}
	w.busy, w.err = t.Apply(sites, w.beginners())
	b.settle(t, w)
	if w.err == nil {
		b.lingering.forget(t, func(s *patch.Site) bool { return w.sites[s] && w.busy[s] == nil })
	}
}

// beginners are the parts that begin: those of groups that have failed elsewhere do not.
func (w *work) beginners() (parts []Part) {
	for _, x := range w.begin {
		if x.group.err == nil {
			parts = append(parts, x.part)
		}
	}
	return parts
}

// settle finds the groups that have failed in a target, and switches their parts off wherever they are. The target is locked.
func (b *Batch) settle(t Target, w *work) {
	for _, g := range b.groups {
		if g.err != nil {
			continue
		}
		g.leaveOut(t, w.err)
		for _, p := range g.parts {
			if p.In() == t && g.err == nil {
				g.err = w.missed(p)
			}
		}
		if g.err == nil {
			continue
		}
		for _, p := range g.parts {
			b.switchOff(p, t)
		}
	}
}

// switchOff is Lingering.Add where one target is locked already.
func (b *Batch) switchOff(p Part, locked Target) {
	if other := p.In(); other != locked {
		other.Lock()
		defer other.Unlock()
	}
	b.lingering.Add(p)
}

// leaveOut takes a target that has ended meanwhile out of a group that has parts in others: it is in there.
func (g *Group) leaveOut(t Target, err error) {
	if !errors.Is(err, process.ErrTargetExited) && !errors.Is(err, process.ErrTargetExeced) || len(g.parts) < 2 {
		return
	}
	g.parts = slices.DeleteFunc(g.parts, func(p Part) bool { return p.In() == t })
}

// missed is why a part did not get into its target; nil if it did.
func (w *work) missed(p Part) error {
	if w.err != nil {
		return w.err
	}
	for _, s := range p.Sites() {
		if err := w.busy[s]; err != nil {
			return err
		}
	}
	return nil
}
