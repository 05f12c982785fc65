package consultant

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"culprit/consultant/later"
	"culprit/consultant/refine"
	"culprit/grid"
)

var forever = math.Inf(1)

func mutex(name string) grid.Focus { return grid.Whole().Refine(grid.SyncObject, "Mutex", name) }

// TestLockAppearsLater: a lock that nobody knew when the waits were refined is found when it takes all the time.
func TestLockAppearsLater(t *testing.T) {
	stack := []string{"main", "work", "lookup"}
	m := newModel(
		activity{stack: stack, kind: "sync", object: []string{"Mutex", "old"}, rate: between(0, 20, 0.8)},
		activity{stack: stack, kind: "sync", object: []string{"Mutex", "new"}, rate: between(20, forever, 0.8), from: 20},
	)
	r := newRig(t, m)
	r.run(20)
	if n := r.node(syncWait, mutex("new")); n.ID != 0 {
		t.Fatalf("the lock is known too early: %+v", n)
	}
	r.runUntil(30, "found", func() bool {
		b := r.s.Bottlenecks()
		return len(b) == 1 && b[0].Object == "new"
	})
	for _, n := range r.s.Nodes() {
		if e := n.Focus.Elements(grid.SyncObject); len(e) == 2 && e[1] == "new" && n.State == True && (n.Since < 15 || n.Since > 30) {
			t.Errorf("%s at %s is said to hold since %g s, the lock was first waited for at 20 s", n.Hypothesis, n.Focus, n.Since)
		}
	}
}

// TestCalleeAppearsLater: so is a function that is called through a pointer, or was loaded later.
func TestCalleeAppearsLater(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "work", "first"}, kind: "cpu", rate: between(0, 20, 0.8)},
		activity{stack: []string{"main", "work", "plugin", "hot"}, kind: "cpu", rate: between(20, forever, 0.8), from: 20},
	)
	r := newRig(t, m)
	r.runUntil(30, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "hot")).State == True })
}

// TestBecomesHeavyLater: a function that was left out beside the 64 heaviest is tested when it becomes hot, in the place of one that never held.
func TestBecomesHeavyLater(t *testing.T) {
	acts := []activity{{stack: []string{"main"}, kind: "cpu", rate: between(0, 30, 0.8)}}
	for i := range 200 {
		acts = append(acts, activity{stack: []string{"main", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(0.001 / float64(i+1))})
	}
	acts = append(acts, activity{stack: []string{"main", "f150"}, kind: "cpu", rate: between(30, forever, 0.8)})
	m := newModel(acts...)
	r := newRig(t, m)
	r.run(30)
	hot := code(grid.Whole(), "f150")
	if n := r.node(cpuBound, hot); n.State != Never {
		t.Fatalf("f150 is %s: %s", n.State, n.Reason)
	}
	nodes := len(r.s.Nodes())
	r.runUntil(40, "found", func() bool { return r.node(cpuBound, hot).State == True })
	left := 0
	for _, n := range r.s.Nodes() {
		if n.State == Pruned {
			left++
			t.Logf("%s: %s", n.Focus, n.Reason)
		}
	}
	if left != 1 {
		t.Errorf("%d nodes lost their place, want one", left)
	}
	if more := len(r.s.Nodes()) - nodes; more > 2 {
		t.Errorf("%d nodes more", more)
	}
}

// TestThreadStartsLater: a thread that takes the place of another one is named.
func TestThreadStartsLater(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "spin"}, thread: "thr_2", kind: "cpu", rate: between(0, 20, 0.9)},
		activity{stack: []string{"main", "spin"}, thread: "thr_9", kind: "cpu", rate: between(20, forever, 0.9)},
	)
	m.threads, m.started = []string{"thr_1", "thr_2", "thr_9"}, map[string]float64{"thr_9": 20}
	r := newRig(t, m)
	r.runUntil(30, "found", func() bool {
		return r.node(cpuBound, grid.Whole().Refine(grid.Process, "srv{1}", "thr_9")).State == True
	})
}

// TestManyComeAndGo: two thousand new locks each second neither make the search ask more than its rate nor let the graph grow without
// bound, also where some of them are hot.
func TestManyComeAndGo(t *testing.T) {
	for _, heavy := range []float64{0, 0.3} {
		m := newModel(activity{stack: []string{"main", "work"}, kind: "sync", object: []string{"Mutex", "m0"}, rate: always(0.8)})
		m.more = func(f grid.Focus, h grid.Hierarchy) (list []grid.Focus) {
			if h != grid.SyncObject || f.Depth(h) > 0 {
				return nil
			}
			for i := range 2000 {
				list = append(list, f.Refine(h, "Mutex", fmt.Sprintf("m%d_%d", int(m.t), i)))
			}
			return list
		}
		m.weigh = func(f grid.Focus) (float64, bool) {
			e := f.Elements(grid.SyncObject)
			if len(e) < 2 || e[1] == "m0" {
				return 0, false
			}
			if len(e[1]) > 2 && e[1][len(e[1])-2:] == "_7" {
				return heavy, true
			}
			return 1e-4, true
		}
		r := newRig(t, m)
		r.run(20)
		asks, nodes := m.asks, len(r.s.graph.nodes)
		r.run(60)
		if rate := float64(m.asks-asks) / 40; rate > later.AtOnce {
			t.Errorf("heavy %g: %.1f questions a second", heavy, rate)
		} else {
			t.Logf("heavy %g: %.1f questions a second, %d nodes became %d", heavy, rate, nodes, len(r.s.graph.nodes))
		}
		if more := len(r.s.graph.nodes) - nodes; more > 40*5*4 {
			t.Errorf("heavy %g: %d nodes became %d", heavy, nodes, len(r.s.graph.nodes))
		}
		checkCounts(t, r.s.graph)
	}
}

// TestRootOfCutStack: a stack that cannot be walked to its end makes a function in the middle of it look like one that the program begins with.
// The way to the bottleneck goes through the functions that call it all the same, whenever that happens.
func TestRootOfCutStack(t *testing.T) {
	for _, from := range []float64{0, 0.5, 10} {
		m := newModel(
			activity{stack: []string{"main", "find", "walk", "compare"}, kind: "cpu", rate: always(0.7)},
			activity{stack: []string{"main", "find", "walk"}, kind: "cpu", rate: always(0.1)},
			activity{stack: []string{"main", "find"}, kind: "cpu", rate: always(0.1)},
			activity{stack: []string{"main"}, kind: "cpu", rate: always(0.1)},
		)
		m.more = func(f grid.Focus, h grid.Hierarchy) []grid.Focus {
			if h != grid.Code || f.Depth(h) > 0 || m.t < from {
				return nil
			}
			return []grid.Focus{code(f, "main"), code(f, "walk"), code(f, "compare")}
		}
		r := newRig(t, m)
		r.run(30)
		on := map[string]bool{}
		for _, id := range r.only().Chain {
			if e := r.s.Nodes()[id-1].Focus.Elements(grid.Code); len(e) == 2 {
				on[e[1]] = true
			}
		}
		for _, f := range []string{"main", "find", "walk", "compare"} {
			if !on[f] {
				t.Errorf("cut from %g s on: %s is not on the way: %v", from, f, on)
			}
		}
		if n := r.node(cpuBound, code(grid.Whole(), "walk")); from == 10 && len(n.Parents) != 1 {
			t.Errorf("walk, which is tested below find, became a child of the whole program as well: %v", n.Parents)
		}
		checkCounts(t, r.s.graph)
	}
}

// TestMostNodes: the graph has an end, for what a way leads to at first as well, and the search says so once.
func TestMostNodes(t *testing.T) {
	r := newRig(t, twoLevels())
	r.runUntil(20, "settled", r.s.Settled)
	n := r.s.graph.nodes[r.node(cpuBound, code(grid.Whole(), "main")).ID-1]
	for i := 0; len(r.s.graph.nodes) < mostNodes-3; i++ {
		r.s.graph.create(nodeKey{hyp: n.hyp, focus: code(grid.Whole(), "f"+strconv.Itoa(i)), phase: n.phase}, "where")
	}
	for round := range 2 {
		var list []*refine.Found
		for i := range 10 {
			list = append(list, &refine.Found{Focus: grid.Whole().Refine(grid.Process, "srv{1}", fmt.Sprintf("t%d-%d", round, i))})
		}
		r.s.grow(&expansion{n: n, st: step{h: grid.Process}}, list)
	}
	r.s.flush()
	said := 0
	for _, e := range r.events {
		if strings.Contains(e.Text, "what else there is below it is not tested") {
			said++
		}
	}
	if len(r.s.graph.nodes) != mostNodes || len(n.kids[step{h: grid.Process}]) < 3 || said != 1 {
		t.Errorf("%d nodes, %d of them below main by threads, said %d times", len(r.s.graph.nodes), len(n.kids[step{h: grid.Process}]), said)
	}
}
