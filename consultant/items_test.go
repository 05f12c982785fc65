package consultant

import (
	"slices"
	"strings"
	"testing"

	"culprit/consultant/foci"
	"culprit/consultant/hypotheses"
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
)

func (m *model) inItem(a activity, f grid.Focus) bool {
	h, item, ok := f.Item()
	return !ok || slices.ContainsFunc(m.items[grid.Whole().WithItem(h, item)], func(fn string) bool { return slices.Contains(a.stack, fn) })
}

func (m *model) itemsOf(f grid.Focus) (out []grid.Focus) {
	if f.Depth(grid.Code)+f.Depth(grid.Defined) > 0 {
		return nil
	}
	for it := range m.items {
		h, item, _ := it.Item()
		out = append(out, f.WithItem(h, item))
	}
	slices.SortFunc(out, grid.Focus.Compare)
	return out
}

func (m *model) functionsOf(f grid.Focus) (out []grid.Focus) {
	h, item, _ := f.Item()
	for _, fn := range m.items[grid.Whole().WithItem(h, item)] {
		out = append(out, code(f.WithoutItem(), fn))
	}
	return out
}

const busyAlongItems = `hypothesis Busy { test cpu_inclusive > 0.3; refine { Code, Subsystem }; label "{function} uses {percent}"; }
hierarchy Subsystem { item "parser" is { "/Code/a.c/parse", "/Code/a.c/scan" }; item "log" is { "/Code/a.c/log" }; item "store" is { "/Code/a.c/put", "/Code/a.c/get" }; }
hierarchy Layer { item "low" is { "/Code/a.c/scan" }; }`

// itemRig is a search of one hypothesis that is refined along Code and Subsystem, but not along Layer, in a model with items of both.
func itemRig(t *testing.T, acts ...activity) *rig {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: []string{busyAlongItems}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	m := newModel(acts...)
	m.items = map[grid.Focus][]string{}
	for _, h := range lib.Defined() {
		for _, it := range lib.Items(h) {
			for _, f := range it.Foci {
				m.items[it.Focus()] = append(m.items[it.Focus()], f.Elements(grid.Code)[1])
			}
		}
	}
	hs := slices.DeleteFunc(lib.Hypotheses(), func(h *pcl.Hypothesis) bool { return h.Name != "Busy" })
	r := &rig{T: t, m: m, g: grid.New(m, lib.Metric, m.now)}
	r.s = New(Config{Hypotheses: hs, Grid: r.g, World: &world{model: m, nowhere: true}})
	return r
}

func subsystem(name string) grid.Focus { return grid.Whole().WithItem("Subsystem", name) }

// TestSearchAlongItems: items are tested beside functions, those that hold lead to their functions, and the sentence says to which
// item what was found belongs.
func TestSearchAlongItems(t *testing.T) {
	r := itemRig(t,
		activity{stack: deepStack, kind: "cpu", rate: always(0.8)},
		activity{stack: []string{"main", "log"}, kind: "cpu", rate: always(0.05)})
	r.runUntil(30, "settled", r.s.Settled)
	parser, scan := r.node("Busy", subsystem("parser")), r.node("Busy", code(grid.Whole(), "scan"))
	if parser.State != True || parser.Axis != "where" || !slices.Contains(scan.Parents, parser.ID) {
		r.dump()
		t.Fatalf("the parser is %+v, scan %+v", parser, scan)
	}
	if n := r.node("Busy", subsystem("log")); n.State != False {
		t.Errorf("the log is %s", n.State)
	}
	if n := r.node("Busy", grid.Whole().WithItem("Layer", "low")); n.State != "" {
		t.Errorf("an item of a hierarchy that the hypothesis does not name was tested: %+v", n)
	}
	b := r.only()
	t.Log(b.Sentence)
	if b.Node != scan.ID || !strings.Contains(b.Sentence, "scan uses ") || !strings.Contains(b.Sentence, " (in Subsystem parser). Since") {
		r.dump()
		t.Errorf("bottleneck: %+v", b)
	}
}

// TestItemWithoutACulprit: many functions of an item that are below the threshold each, and no caller of them above it, leave the
// item as what was found.
func TestItemWithoutACulprit(t *testing.T) {
	var acts []activity
	for _, fn := range []string{"put", "get"} {
		acts = append(acts, activity{stack: []string{"start_" + fn, fn}, kind: "cpu", rate: always(0.2)})
	}
	r := itemRig(t, acts...)
	r.runUntil(30, "settled", r.s.Settled)
	b := r.only()
	t.Log(b.Sentence)
	if n := r.node("Busy", subsystem("store")); b.Node != n.ID || !strings.HasPrefix(b.Sentence, "Subsystem store uses ") {
		r.dump()
		t.Errorf("bottleneck: %+v", b)
	}
}

// TestItemsInSentences: an item of locks stands where the sentence names a lock, and paths of items are suppressed like others.
func TestItemsInSentences(t *testing.T) {
	f := code(grid.Whole(), "f").WithItem("Lock", "own")
	h := &hypothesis{Name: "Waits", Label: "threads wait {percent} for {object} in {function}", Base: func(grid.Focus) grid.Hierarchy { return grid.SyncObject }, Test: hypotheses.Top().Test}
	n := &node{nodeKey: nodeKey{hyp: h, focus: f, phase: &phase{}}}
	if s := n.finding("", 0).Sentence(); !strings.HasPrefix(s, "Threads wait 0 % for Lock own in f. ") {
		t.Errorf("sentence %q", s)
	}
	for path, want := range map[string]bool{"/Lock/own": true, "/Lock/o*": true, "/Lock/other": false, "/Locks/own": false, "/SyncObject/own": false} {
		if got := foci.Suppressed(f, []string{path}) != ""; got != want {
			t.Errorf("%s suppresses %v: %v", path, f, got)
		}
	}
}

// TestSuppressedModules: a slash in a name is written as in a focus.
func TestSuppressedModules(t *testing.T) {
	f := grid.Whole().Refine(grid.Code, "internal/poll", "internal/poll.(*FD).Fsync")
	for path, want := range map[string]bool{"/Code/internal%2Fpoll": true, "/Code/internal%2Fp*": true, "/Code/internal/poll": false, "/Code/internal": false} {
		if got := foci.Suppressed(f, []string{path}) != ""; got != want {
			t.Errorf("%s suppresses %v: %v", path, f, got)
		}
	}
}

// TestDirectTest: the test of a hypothesis on averages is that of the search.
func TestDirectTest(t *testing.T) {
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*pcl.Hypothesis{}
	for _, h := range lib.Hypotheses() {
		byName[h.Name] = h
	}
	ops := func(rate, bytes float64) func(string) float64 {
		return func(m string) float64 { return map[string]float64{"io_ops": rate, "io_bytes": bytes}[m] }
	}
	for _, tt := range []struct {
		rate, bytes float64
		want        bool
	}{{0, 0, false}, {100, 1000, false}, {1000, 10_000, true}, {1000, 10_000_000, false}} {
		value, threshold, holds := hypotheses.Test(byName["TooManySmallIOOps"], ops(tt.rate, tt.bytes))
		if holds != tt.want || threshold != 4096 {
			t.Errorf("%g operations of %g bytes a second: %g, limit %g, %v", tt.rate, tt.bytes, value, threshold, holds)
		}
	}
}
