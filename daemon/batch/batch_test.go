package batch

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/trampoline"
	"culprit/trampoline/planner"
)

// A fakeTarget keeps what it was asked for.
type fakeTarget struct {
	sync.Mutex
	busy  map[*patch.Site]error
	err   error
	calls int
	sites []*patch.Site
	begun []Part
}

func (t *fakeTarget) Apply(sites []*patch.Site, begin []Part) (map[*patch.Site]error, error) {
	t.calls++
	t.sites, t.begun = sites, begin
	return t.busy, t.err
}

type fakePart struct {
	t             *fakeTarget
	sites         []*patch.Site
	scarce        bool
	off, released int
}

func (p *fakePart) In() Target                        { return p.t }
func (p *fakePart) Sites() []*patch.Site              { return p.sites }
func (p *fakePart) Forget(out func(*patch.Site) bool) { p.sites = slices.DeleteFunc(p.sites, out) }
func (p *fakePart) SwitchOff()                        { p.off++ }
func (p *fakePart) Release()                          { p.released++ }
func (p *fakePart) IsScarce() bool                    { return p.scarce }

var entry = planner.Point{Kind: planner.FuncEntry}

// partAt is a part that is placed at sites.
func partAt(t *fakeTarget, sites ...*patch.Site) *fakePart {
	p := &fakePart{t: t, sites: sites}
	for _, s := range sites {
		s.Add(entry, p, 1, []trampoline.Mini{{}}, false)
	}
	return p
}

func newSite(addr uint64) *patch.Site { return &patch.Site{Site: &planner.Site{Addr: addr}} }

type clock struct{ now float64 }

func newLingering() (*Lingering, *clock) {
	c := &clock{}
	return &Lingering{Now: func() float64 { return c.now }}, c
}

// TestCommit: what is added begins, what lingers at the same sites leaves with it, and what lingers elsewhere stays.
func TestCommit(t *testing.T) {
	l, _ := newLingering()
	var a fakeTarget
	shared, other := newSite(1), newSite(2)
	old, far := partAt(&a, shared), partAt(&a, other)
	l.Add(old)
	l.Add(far)
	b := New(l)
	g := b.Group()
	p := partAt(&a, shared)
	b.Add(g, p)
	b.Commit()
	if g.Err() != nil || !g.Has(p) || !slices.Equal(a.begun, []Part{p}) || !slices.Equal(a.sites, []*patch.Site{shared}) {
		t.Errorf("%v, begun %v at %v", g.Err(), a.begun, a.sites)
	}
	if old.released != 1 || shared.Runs(old, entry) || !shared.Runs(p, entry) {
		t.Error("what was switched off did not leave with what takes its place")
	}
	if far.released != 0 || !other.Runs(far, entry) || !slices.Equal(l.Of(&a), []Part{far}) {
		t.Error("what lingers elsewhere has left")
	}
}

// TestGroupsAreInOrOut: a group that a site or a target keeps out is switched off everywhere, is not begun in the targets that come later, and
// leaves; the others are in.
func TestGroupsAreInOrOut(t *testing.T) {
	l, _ := newLingering()
	s, s2, s3 := newSite(1), newSite(2), newSite(3)
	late := errors.New("a thread stands there")
	first := &fakeTarget{busy: map[*patch.Site]error{s: late}}
	var second fakeTarget
	b := New(l)
	out, in := b.Group(), b.Group()
	p, q, r := partAt(first, s), partAt(&second, s2), partAt(first, s3)
	b.Add(out, p)
	b.Add(out, q)
	b.Add(in, r)
	b.Commit()
	if out.Err() != late || in.Err() != nil {
		t.Errorf("%v, and %v", out.Err(), in.Err())
	}
	if p.off != 1 || q.off != 1 || r.off != 0 {
		t.Errorf("switched off: %d, %d and %d times", p.off, q.off, r.off)
	}
	if len(second.begun) != 0 || s2.Runs(q, entry) || q.released != 1 {
		t.Error("it is put into a target although it is not wanted any more")
	}
	if p.released != 0 || !slices.Equal(l.Of(first), []Part{p}) {
		t.Error("it is forgotten although its code may be there")
	}
	first.busy = nil
	l.Sweep(true)
	if p.released != 1 || s.Runs(p, entry) || len(l.Of(first)) != 0 {
		t.Error("it does not leave later")
	}
}

// TestTargetThatEnds: a group goes on in the others; one that has nothing else fails.
func TestTargetThatEnds(t *testing.T) {
	l, _ := newLingering()
	gone := &fakeTarget{err: process.ErrTargetExited}
	var lives fakeTarget
	b := New(l)
	both, one := b.Group(), b.Group()
	p, q, r := partAt(gone, newSite(1)), partAt(&lives, newSite(2)), partAt(gone, newSite(3))
	b.Add(both, p)
	b.Add(both, q)
	b.Add(one, r)
	b.Commit()
	if both.Err() != nil || both.Has(p) || !both.Has(q) {
		t.Errorf("%v; parts %v", both.Err(), both.parts)
	}
	if !errors.Is(one.Err(), process.ErrTargetExited) {
		t.Errorf("%v", one.Err())
	}
}

// TestPartsWithoutSites: a part that only reads fails with its group, and with a target in which nothing can be changed.
func TestPartsWithoutSites(t *testing.T) {
	l, _ := newLingering()
	stuck := &fakeTarget{err: errors.New("cannot be stopped")}
	b := New(l)
	g, alone := b.Group(), b.Group()
	b.Add(g, partAt(stuck, newSite(1)))
	reads := partAt(stuck)
	b.Add(alone, reads)
	b.Commit()
	if g.Err() != stuck.err || alone.Err() != stuck.err || reads.off != 1 {
		t.Errorf("%v, %v", g.Err(), alone.Err())
	}
	var quiet fakeTarget
	b = New(l)
	alone = b.Group()
	b.Add(alone, partAt(&quiet))
	b.Commit()
	if alone.Err() != nil || quiet.calls != 0 {
		t.Errorf("%v; asked %d times", alone.Err(), quiet.calls)
	}
}

// TestWithdraw: nothing is left of what is not wanted after all.
func TestWithdraw(t *testing.T) {
	l, _ := newLingering()
	var a fakeTarget
	s := newSite(1)
	p := partAt(&a, s)
	b := New(l)
	g := b.Group()
	b.Add(g, p)
	b.Withdraw(p)
	b.Commit()
	if p.released != 1 || len(a.begun) != 0 || s.Runs(p, entry) || g.Has(p) || g.Err() != nil {
		t.Errorf("released %d times, begun %v", p.released, a.begun)
	}
}

// TestTakenAlong: what would leave soon goes with a batch that stops its target anyway, and only with that.
func TestTakenAlong(t *testing.T) {
	l, c := newLingering()
	var a, other fakeTarget
	soon, elsewhere := partAt(&a, newSite(1)), partAt(&other, newSite(2))
	l.Add(soon)
	l.Add(elsewhere)
	c.now = alongAfter
	late := partAt(&a, newSite(3))
	l.Add(late)
	b := New(l)
	b.Add(b.Group(), partAt(&a, newSite(4)))
	b.Commit()
	if a.calls != 1 || soon.released != 1 || late.released+elsewhere.released != 0 {
		t.Errorf("%d stops, released: %d, %d, %d", a.calls, soon.released, late.released, elsewhere.released)
	}
}

// TestSweep: what lingers leaves by itself after a while, sooner if it is to hurry, with the next batch if others may wait for it or it is too
// much, and is forgotten with its target.
func TestSweep(t *testing.T) {
	l, c := newLingering()
	var a, other fakeTarget
	slow, quick, scarce := partAt(&a, newSite(1)), partAt(&other, newSite(2)), partAt(&a, newSite(3))
	scarce.scarce = true
	for _, p := range []*fakePart{slow, quick, scarce} {
		l.Add(p)
	}
	l.Hurry(quick)
	c.now = alongAfter / 2
	New(l).Commit()
	if scarce.released != 1 || slow.released+quick.released != 0 {
		t.Errorf("released: %d, %d, %d", slow.released, quick.released, scarce.released)
	}
	l.Sweep(false)
	if quick.released != 1 || slow.released != 0 {
		t.Errorf("released: %d, %d", slow.released, quick.released)
	}
	c.now = lingerTime
	l.Sweep(false)
	if slow.released != 1 {
		t.Error("it does not leave by itself")
	}
	for i := range uint64(MostLingering + 1) {
		l.Add(partAt(&a, newSite(10+i)))
	}
	New(l).Commit()
	if n := len(l.Of(&a)); n != 0 {
		t.Errorf("%d linger", n)
	}
	l.Add(partAt(&a, newSite(1)))
	l.Leave(&a)
	if n := len(l.Of(&a)); n != 0 {
		t.Errorf("%d linger of a target that has ended", n)
	}
}
