package resources

import (
	"fmt"
	"slices"
	"testing"

	"culprit/daemon/libc"
	"culprit/daemon/locks"
	"culprit/daemon/sampling"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/pcl"
)

// busy are samples that saw somebody wait for some objects.
type busy map[string]bool

func (busy) Roots() []pcl.FuncID                    { return nil }
func (busy) Callees(pcl.FuncID) []pcl.FuncID        { return nil }
func (busy) OnStacks(ids []pcl.FuncID) []pcl.FuncID { return ids }
func (b busy) Waited(part string) bool              { return b[part] }

func targetsOf(samples busy) *Targets {
	s := &target.Session{Tree: grid.NewTree(), Library: &pcl.Library{}}
	t := &target.Target{Session: s, Locks: locks.New(s.Tree, locks.Names{Lock: func(word uint64, _ libc.Wait) (uint64, string) { return word, "" }})}
	return &Targets{Session: s, All: []Target{{Target: t, Samples: samples}}}
}

// TestManyFiles: of very many files some are offered, and all for which somebody was seen waiting.
func TestManyFiles(t *testing.T) {
	waited := grid.Whole().Refine(grid.IO, "File", "f199")
	ts := targetsOf(busy{sampling.ObjectPart(waited): true})
	for i := range 200 {
		if err := ts.Session.Tree.Add(grid.IO, "File", fmt.Sprintf("f%03d", i)); err != nil {
			t.Fatal(err)
		}
	}
	all := ts.Below(grid.Whole(), grid.IO)
	if len(all) != manyFiles+1 || !slices.Contains(all, waited) {
		t.Errorf("%d files, among them the one that is waited for: %v", len(all), slices.Contains(all, waited))
	}
}

// TestLocksAreOfferedOneByOne: the search goes from all objects to single ones at once, and not to those that nobody was seen waiting for.
func TestLocksAreOfferedOneByOne(t *testing.T) {
	ts := targetsOf(nil)
	if err := ts.Session.Tree.Add(grid.SyncObject, "Mutex", "queue"); err != nil {
		t.Fatal(err)
	}
	ts.All[0].Locks.Taken("Mutex", 0x1000)
	if n := len(ts.Session.Tree.Children(grid.SyncObject, "Mutex")); n != 2 {
		t.Fatalf("%d locks are known", n)
	}
	want := grid.Whole().Refine(grid.SyncObject, "Mutex", "queue")
	for _, f := range []grid.Focus{grid.Whole(), grid.Whole().Refine(grid.SyncObject, "Mutex")} {
		if got := ts.Below(f, grid.SyncObject); len(got) != 1 || got[0] != want {
			t.Errorf("below %v: %v", f, got)
		}
	}
}

// TestCatalogue: nothing is listed until somebody wants it, and that there is more code is news in any case.
func TestCatalogue(t *testing.T) {
	ts := targetsOf(nil)
	started := 0
	c := NewCatalogue(ts.Session, func(f func()) { started++; f() }, nil)
	before := ts.Session.Tree.Version()
	c.List(nil)
	c.Want()
	c.List(nil)
	c.Wait()
	if started != 0 || ts.Session.Tree.Version() == before {
		t.Errorf("%d listings of nothing, version %d after %d", started, ts.Session.Tree.Version(), before)
	}
}
