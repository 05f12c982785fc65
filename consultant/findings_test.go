package consultant

import (
	"math"
	"slices"
	"strings"
	"testing"

	"culprit/consultant/decide"
	"culprit/consultant/history"
	"culprit/consultant/hypotheses"
	"culprit/consultant/refine"
	"culprit/consultant/samples"
	"culprit/grid"
)

// TestOneThingOnce: a reason that has most of the time of a place is told instead of the place, at its own; one that has little of it comes
// behind it, and is a note where hardly anything is at stake.
func TestOneThingOnce(t *testing.T) {
	for name, c := range map[string]struct {
		within float64 // seconds a second within the small operations
		first  string  // hypothesis
		count  int     // findings
		notes  int
	}{
		"most of it":  {0.7, "SmallOnes", 1, 0},
		"some of it":  {0.15, cpuBound, 2, 0},
		"nearly none": {0.02, cpuBound, 2, 1},
	} {
		m := newModel(
			activity{stack: []string{"main", "log"}, kind: "cpu", rate: always(0.9)},
			activity{stack: []string{"main", "log"}, kind: "io", object: []string{"File", "/count"}, rate: always(c.within)},
		)
		r := newRig(t, m)
		list, parents := shipped()
		list = list[:1] // computing alone: the waiting is no matter here
		sub := &hypothesis{Name: "SmallOnes", Label: "{function} moves {value} bytes for each operation", Why: true, Where: true, Refine: list[0].Refine}
		test := decide.NewTest([]string{"io_ops", "io_bytes", "io_wait_inclusive", "active_threads"}, []string{"active_threads"}, false,
			func(get func(string) float64) float64 { return ratio(get("io_bytes"), get("io_ops")) },
			func(func(string) float64) float64 { return 4096 }).
			Staking(func(get func(string) float64) float64 { return ratio(get("io_wait_inclusive"), get("active_threads")) })
		list, parents = append(list, sub.With(test)), append(parents[:1], cpuBound)
		cells := r.s.cells
		r.s = newSearch(r.s.cfg, list, parents)
		r.s.readFrom(cells)
		r.s.cfg.LeastStake = func() float64 { return 0.05 }
		r.runUntil(30, "settled", r.s.Settled)
		found := r.s.Bottlenecks()
		nodes, notes := r.s.Nodes(), 0
		for _, b := range found {
			if b.Note {
				notes++
			}
		}
		if len(found) != c.count || notes != c.notes || nodes[found[0].Node-1].Hypothesis != c.first {
			r.dump()
			t.Errorf("%s: %d findings, %d of them notes, first %q", name, len(found), notes, found[0].Sentence)
		}
		if c.count == 1 && !strings.HasPrefix(found[0].Sentence, "log ") {
			t.Errorf("%s: %s", name, found[0].Sentence)
		}
	}
}

// TestReasonAtAWiderPlace: what is said of an object at a function is told at the function below it that has most of the time, once; where that has
// little of it, it stands for itself.
func TestReasonAtAWiderPlace(t *testing.T) {
	wait := &hypothesis{Name: "Waits"}
	hot := &hypothesis{Name: "HotObject", Parent: wait, At: "object"}
	object := grid.Whole().Refine(grid.SyncObject, "Mutex", "m")
	outer, inner := object.Refine(grid.Code, "a.c", "outer"), object.Refine(grid.Code, "a.c", "inner")
	whole := &phase{}
	for name, c := range map[string]struct {
		stake     float64 // of the inner function
		wider     bool    // the reason at the outer function stays
		reasonsAt []grid.Focus
	}{
		"most of it": {0.7, false, []grid.Focus{inner}},
		"little":     {0.1, true, nil},
	} {
		above := &node{nodeKey: nodeKey{hyp: wait, focus: outer, phase: whole}}
		deeper := &finding{node: &node{nodeKey: nodeKey{hyp: wait, focus: inner, phase: whole}, place: place{parents: []*node{above}}}, stake: c.stake}
		wider := &finding{node: &node{nodeKey: nodeKey{hyp: hot, focus: outer, phase: whole}, place: place{parents: []*node{above}}}, stake: 0.72}
		own := &finding{node: &node{nodeKey: nodeKey{hyp: hot, focus: inner, phase: whole}, place: place{parents: []*node{deeper.node}}}, stake: c.stake}
		all := []*finding{wider, deeper}
		if c.reasonsAt != nil {
			all = append(all, own)
		}
		dropped := map[*finding]bool{}
		for _, f := range all {
			f.merge(all, dropped)
		}
		if dropped[wider] == c.wider || dropped[deeper] != c.wider {
			t.Errorf("%s: the wider reason is dropped: %v, the place: %v", name, dropped[wider], dropped[deeper])
		}
		var at []grid.Focus
		for _, r := range deeper.reasons {
			at = append(at, r.focus)
		}
		if !slices.Equal(at, c.reasonsAt) {
			t.Errorf("%s: reasons at %v, want %v", name, at, c.reasonsAt)
		}
	}
}

// TestReasonAtAnObject: what is said of a lock at the whole program is told at the function that waits for it, also where that was reached by way of
// the function alone.
func TestReasonAtAnObject(t *testing.T) {
	wait := &hypothesis{Name: "Waits"}
	hot := &hypothesis{Name: "HotObject", Parent: wait, At: "object"}
	object := grid.Whole().Refine(grid.SyncObject, "Mutex", "m")
	whole := &phase{}
	there := &finding{node: &node{nodeKey: nodeKey{hyp: wait, focus: object.Refine(grid.Code, "a.c", "refresh"), phase: whole}}, stake: 0.84}
	reason := &finding{node: &node{nodeKey: nodeKey{hyp: hot, focus: object, phase: whole}}, stake: 0.99}
	dropped := map[*finding]bool{}
	if reason.merge([]*finding{reason, there}, dropped); !dropped[reason] || dropped[there] || len(there.reasons) != 1 {
		t.Errorf("dropped %v, reasons %v", dropped, there.reasons)
	}
}

// TestSameTimeOnce: the files that one function waits for, and the threads that do, are told with the function; functions that wait beside each
// other are two findings.
func TestSameTimeOnce(t *testing.T) {
	file := func(stack, name string, rate float64) activity {
		return activity{stack: []string{"main", stack}, kind: "io", object: []string{"File", name}, rate: always(rate)}
	}
	for name, c := range map[string]struct {
		acts  []activity
		count int
		words []string
	}{
		"four files": {[]activity{file("commit", "/a", 0.24), file("commit", "/b", 0.23), file("commit", "/c", 0.22), file("commit", "/d", 0.24)}, 1,
			[]string{"wait 9", "in commit", "% for file /", "1 more"}},
		"one file":      {[]activity{file("commit", "/a", 0.8)}, 1, []string{"file /a", "in commit"}},
		"one of two":    {[]activity{file("commit", "/a", 0.4), file("load", "/a", 0.35)}, 1, []string{"file /a", "% in commit, 3", "% in load"}},
		"mostly one":    {[]activity{file("commit", "/a", 0.65), file("load", "/a", 0.22)}, 2, []string{"file /a in commit"}},
		"two functions": {[]activity{file("commit", "/a", 0.4), file("load", "/b", 0.4)}, 2, []string{"Threads wait"}},
	} {
		m := newModel(c.acts...)
		r := newRig(t, m)
		r.runUntil(30, "settled", r.s.Settled)
		found := r.s.Bottlenecks()
		if len(found) != c.count {
			r.dump()
			t.Fatalf("%s: %d findings", name, len(found))
		}
		for _, w := range c.words {
			if !strings.Contains(found[0].Sentence, w) {
				t.Errorf("%s: no %q in %q", name, w, found[0].Sentence)
			}
		}
	}
}

// TestSameTime: what does not fit into the whole side by side is the same, although nobody has measured both together.
func TestSameTime(t *testing.T) {
	r := newRig(t, newModel(activity{stack: []string{"main"}, kind: "io", rate: always(0.9)}))
	list, _ := shipped()
	add := func(f grid.Focus, v float64) *node { return r.addTrue(list[2], f, v) }
	whole := add(grid.Whole(), 0.9)
	long := add(grid.Whole().Refine(grid.Process, "a{1}"), 0.88)
	long.hist.Add(2*sameMoment, 0.88)
	code := add(grid.Whole().Refine(grid.Code, "a.c", "commit"), 0.85)
	for _, c := range []struct {
		value float64
		same  bool
	}{{0.8, true}, {0.22, false}} {
		object := add(grid.Whole().Refine(grid.IO, "File", "/a"), c.value)
		if got := r.s.sameTime(code, object); got != c.same {
			t.Errorf("%v and %v of %v: the same is %v", code.est.Value, c.value, whole.est.Value, got)
		}
	}
	code.hist.Add(1, 0.85)
	if r.s.sameTime(code, long) {
		t.Errorf("what was measured %v s apart is the same", 2*sameMoment-1)
	}
	long.hist = history.History{}
	long.hist.Add(2, 0.88)
	long.hist.Add(4*sameMoment, 0.88) // it goes on, while nothing is known of the other any more
	if !r.s.sameTime(code, long) {
		t.Error("what was measured at the same time, and one of them later as well, is not the same")
	}
}

// TestOverIsToldLast: what was found and lately is not so any more comes behind what is, and is not told as the same.
func TestOverIsToldLast(t *testing.T) {
	r := newRig(t, newModel(activity{stack: []string{"main"}, kind: "io", rate: always(0.9)}))
	list, _ := shipped()
	add := func(f grid.Focus, v, margin, stake float64) *node {
		n := r.addTrue(list[2], f, v)
		n.est.Margin, n.est.Stake, n.confidence = margin, stake, 0.9
		return n
	}
	whole := add(grid.Whole(), 0.9, 0.7, 0.9)
	over := add(grid.Whole().Refine(grid.Code, "a.c", "early"), 0.85, -0.1, 0.85)
	now := add(grid.Whole().Refine(grid.IO, "File", "/late"), 0.8, 0.6, 0.8)
	for _, n := range []*node{over, now} {
		whole.children, n.parents = append(whole.children, n), append(n.parents, whole)
	}
	found := r.s.findings()
	if len(found) != 2 || found[0].node != now || found[1].node != over {
		t.Errorf("%d findings, the first of %v", len(found), found[0].node.focus)
	}
	over.est.Margin = 0.6
	if found = r.s.findings(); len(found) != 1 || found[0].node != over {
		t.Errorf("both hold: %d findings, the first of %v", len(found), found[0].node.focus)
	}
}

// TestGatherOnce: many objects of one place are one finding, whichever of them is the largest.
func TestGatherOnce(t *testing.T) {
	r := newRig(t, newModel(activity{stack: []string{"main"}, kind: "io", rate: always(0.9)}))
	list, _ := shipped()
	add := func(f grid.Focus, v float64) *node { return r.addTrue(list[2], f, v) }
	place := grid.Whole().Refine(grid.Code, "a.c", "commit")
	add(place, 0.9)
	var objects []*node
	for i, v := range []float64{0.21, 0.24, 0.2, 0.25} {
		objects = append(objects, add(place.Refine(grid.IO, "File", "/"+string(rune('a'+i))), v))
	}
	rest, gathered := r.s.gather(objects)
	if len(rest) != 0 || len(gathered) != 1 || gathered[0].parts[0].est.Value != 0.25 {
		t.Errorf("%d left and %d gathered", len(rest), len(gathered))
	}
}

// TestGatherFromThreads: an object that only one thread waits for is gathered with the others, also where the thread was found.
func TestGatherFromThreads(t *testing.T) {
	r := newRig(t, newModel(activity{stack: []string{"main"}, kind: "io", rate: always(0.9)}))
	list, _ := shipped()
	add := func(f grid.Focus, v float64) *node { return r.addTrue(list[2], f, v) }
	place := grid.Whole().Refine(grid.Code, "a.c", "ask")
	at := add(place, 0.9)
	var deepest []*node
	for i := range 3 {
		n := add(place.Refine(grid.IO, "Socket", string(rune('a'+i))), 0.3)
		if i == 0 {
			n = add(n.focus.Refine(grid.Process, "p{1}", "thr_2"), 0.3)
		}
		deepest = append(deepest, n)
	}
	rest, gathered := r.s.gather(deepest)
	if len(rest) != 0 || len(gathered) != 1 || gathered[0].node != at {
		t.Errorf("%d left and %d gathered", len(rest), len(gathered))
	}
}

// TestPlaceOfObjects: where the function that waits for many objects and the objects were found each by itself, it is one finding.
func TestPlaceOfObjects(t *testing.T) {
	for code, want := range map[float64]int{0.85: 1, 0.4: 2} {
		r := newRig(t, newModel(activity{stack: []string{"main"}, kind: "io", rate: always(0.9)}))
		list, _ := shipped()
		add := func(f grid.Focus, v float64) *node { return r.addTrue(list[2], f, v) }
		whole := add(grid.Whole(), 0.9)
		for i, v := range []float64{0.21, 0.24, 0.25} {
			add(grid.Whole().Refine(grid.IO, "Socket", string(rune('a'+i))), v).parents = []*node{whole}
		}
		commit := add(grid.Whole().Refine(grid.Code, "a.c", "commit"), code)
		found := r.s.findings()
		if len(found) != want || want == 1 && (found[0].node != commit || len(found[0].parts) != 3) {
			t.Errorf("%v of the waiting in the function: %d findings, first %+v", code, len(found), found[0])
		}
	}
}

// addTrue adds a node that holds, with a value.
func (r *rig) addTrue(h *hypothesis, f grid.Focus, v float64) *node {
	n := r.s.graph.add(nodeKey{hyp: h, focus: f, phase: r.s.phases[0]}, nil, "where")
	n.requeue("")
	n.begin(1, 0)
	n.settle(true, true, 1)
	n.est = decide.Estimate{Value: v, Threshold: 0.2, Margin: v - 0.2, Stake: math.NaN()}
	return n
}

// TestSameWork: two reasons why a program computes are one finding if they are the same time at the same code, and not if the times fit side by side, or
// the code is another one.
func TestSameWork(t *testing.T) {
	top := hypotheses.Top()
	cpu := &hypothesis{Name: cpuBound, Parent: top}
	calls, small := &hypothesis{Name: "Calls", Parent: &hypothesis{Name: "System", Parent: cpu}}, &hypothesis{Name: "Small", Parent: cpu}
	main, other := grid.Whole().Refine(grid.Code, "a.c", "main"), grid.Whole().Refine(grid.Code, "a.c", "other")
	file := grid.Whole().Refine(grid.IO, "File", "/zero")
	whole := &phase{}
	at := func(h *hypothesis, f grid.Focus, stake float64) finding {
		return finding{node: &node{nodeKey: nodeKey{hyp: h, focus: f, phase: whole}, status: status{state: True}, answer: answer{est: decide.Estimate{Stake: stake}}}}
	}
	for name, c := range map[string]struct {
		a, b finding
		one  bool
	}{
		"the same":           {at(calls, main, 0.9), at(small, main, 0.95), true},
		"an object":          {at(calls, main, 0.9), at(small, file, 0.95), true},
		"side by side":       {at(calls, main, 0.5), at(small, main, 0.4), false},
		"other code":         {at(calls, main, 0.9), at(small, other, 0.95), false},
		"no reason":          {at(cpu, main, 0.9), at(small, main, 0.95), false},
		"the same one twice": {at(small, main, 0.9), at(small, file, 0.95), false},
	} {
		s := &Search{graph: &graph{index: map[nodeKey]*node{}}}
		all := at(cpu, grid.Whole(), 1).node
		s.graph.index[all.nodeKey] = all
		told := s.sameWork([]finding{c.a, c.b})
		if one := len(told) == 1; one != c.one || one && !slices.Contains(told[0].reasons, c.b.node) {
			t.Errorf("%s: %d findings", name, len(told))
		}
	}
}

// TestComputesFor: what the kernel computes in system calls is told with what the same code waits for in them, whichever is a little more, and by itself
// where it is much more, or at other code.
func TestComputesFor(t *testing.T) {
	top := hypotheses.Top()
	cpu := &hypothesis{Name: cpuBound, Parent: top, Samples: samples.Use{About: "cpu"}}
	calls := &hypothesis{Name: "Calls", Parent: cpu, Samples: samples.Use{About: "cpu"}}
	io := &hypothesis{Name: "Waits", Parent: top, Samples: samples.Use{About: "io"}}
	load, other := grid.Whole().Refine(grid.Code, "a.c", "load"), grid.Whole().Refine(grid.Code, "a.c", "other")
	file := load.Refine(grid.IO, "File", "/cold")
	whole := &phase{}
	at := func(h *hypothesis, f grid.Focus, stake float64) finding {
		return finding{node: &node{nodeKey: nodeKey{hyp: h, focus: f, phase: whole}, status: status{state: True}}, stake: stake}
	}
	for name, c := range map[string]struct {
		work, wait finding
		one        bool
	}{
		"computes more":        {at(calls, load, 0.52), at(io, load, 0.47), true},
		"waits more":           {at(calls, load, 0.45), at(io, load, 0.5), true},
		"for a file":           {at(calls, load, 0.52), at(io, file, 0.47), true},
		"computes for more":    {at(calls, load, 0.7), at(io, load, 0.25), false},
		"other code":           {at(calls, other, 0.52), at(io, load, 0.47), false},
		"anywhere":             {at(calls, grid.Whole(), 0.52), at(io, grid.Whole(), 0.47), false},
		"of the program's own": {at(cpu, load, 0.52), at(io, load, 0.47), false},
	} {
		s := &Search{graph: &graph{index: map[nodeKey]*node{}}}
		for _, order := range [][]finding{{c.work, c.wait}, {c.wait, c.work}} {
			told := s.sameWork(order)
			one := len(told) == 1
			if one != c.one || one && (told[0].node != c.wait.node || !slices.Equal(told[0].reasons, []*node{c.work.node})) {
				t.Errorf("%s: %d findings, first %s", name, len(told), told[0].node.hyp.Name)
			}
		}
	}
}

// TestCallersAreToldOnce: of a function that waits for an object, and its callers that do so through it, the function is told; a caller that waits for more
// by itself is told, too, and so is one of another object. Of a function without a name, and of the C library, the text says who calls it.
func TestCallersAreToldOnce(t *testing.T) {
	r := newRig(t, newModel(activity{stack: []string{"main"}, kind: "io", rate: always(0.9)}))
	list, _ := shipped()
	add := func(f grid.Focus, v float64, above ...*node) *node {
		n := r.addTrue(list[1], f, v)
		n.confidence = 0.9
		for _, p := range above {
			p.children, n.parents = append(p.children, n), append(n.parents, p)
		}
		return n
	}
	at := func(module, function string) grid.Focus { return grid.Whole().Refine(grid.Code, module, function) }
	whole := add(grid.Whole(), 0.75)
	start := add(at("libstdc++.so.6", "[libstdc++.so.6+0xd4490]"), 0.75, whole)
	pop := add(at("a.cc", "pop()"), 0.5, start)
	of := func(p *node, object string, v float64) *node {
		return add(p.focus.Refine(grid.SyncObject, "CondVar", object), v, p)
	}
	below := of(pop, "ready", 0.49)
	callers := map[string]*node{"ready": of(start, "ready", 0.5), "full": of(start, "full", 0.25)}
	told := func() (nodes []*node) {
		for _, f := range r.s.findings() {
			nodes = append(nodes, f.node)
		}
		return nodes
	}
	if got := told(); len(got) != 2 || !slices.Contains(got, below) || !slices.Contains(got, callers["full"]) {
		t.Errorf("%d findings", len(got))
	}
	other := add(start.focus.Refine(grid.Process, "a{1}", "thr_2"), 0.45, start)
	if inOther := add(pop.focus.Refine(grid.Process, "a{1}", "thr_3"), 0.45, pop); inOther.isMostOf(other) {
		t.Error("what waits in another thread is taken for the same")
	}
	below.est.Value = 0.3 // the caller has more
	if got := told(); !slices.Contains(got, callers["ready"]) {
		t.Error("a caller that waits for more is not told")
	}
	copied := add(at("libc.so.6", "__memcpy_avx"), 0.4, pop)
	for n, want := range map[*node]string{pop: "pop()", copied: "__memcpy_avx (below pop())", start: "[libstdc++.so.6+0xd4490]"} {
		if got := n.codeText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLeavesOff: of two functions that have the same time, that one is told which does not call back where it was called from: what it does is below that
// by another way. Functions call one another back in interpreters.
func TestLeavesOff(t *testing.T) {
	r := newRig(t, newModel(activity{stack: []string{"main"}, kind: "cpu", rate: always(0.9)}))
	list, _ := shipped()
	add := func(function string, v float64, above ...*node) *node {
		n := r.addTrue(list[0], grid.Whole().Refine(grid.Code, "a.c", function), v)
		n.confidence, n.Weight = 0.9, v
		for _, p := range above {
			p.children, n.parents = append(p.children, n), append(n.parents, p)
		}
		return n
	}
	r.addTrue(list[0], grid.Whole(), 0.9)
	loop := add("loop", 0.9)
	init := add("init", 0.9, add("call", 0.9, loop))
	match := add("match", 0.89, loop)
	told := func() *node { return r.s.findings()[0].node }
	if told() != init {
		t.Error("what is further down is not told, although nothing says that it calls anything")
	}
	e := expansion{n: init, st: step{h: grid.Code}}
	for range 2 {
		tested := 0
		r.s.growOne(&e, &refine.Found{Focus: loop.focus, Weight: 0.9}, []*node{init}, &tested)
	}
	if told() != match || len(init.back) != 1 {
		t.Errorf("what calls back is told, %d times noted", len(init.back))
	}
}
