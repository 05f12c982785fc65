package consultant

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culprit/consultant/explain"
	"culprit/grid"
)

const cpuBound, syncWait, ioWait = "CPUbound", "ExcessiveSyncWaitingTime", "ExcessiveIOBlockingTime"

var deepStack = []string{"main", "serve", "handle", "parse", "scan"}

func TestDeepCPUBottleneck(t *testing.T) {
	for _, samples := range []bool{true, false} {
		m := newModel(
			activity{stack: deepStack, kind: "cpu", rate: always(0.9)},
			activity{stack: []string{"main", "log"}, kind: "cpu", rate: always(0.05)},
		)
		m.samples = samples
		r := newRig(t, m)
		at := r.runUntil(20, "settled", r.s.Settled)
		b := r.only()
		n := r.node(cpuBound, code(grid.Whole(), "scan"))
		if b.Node != n.ID || n.State != True || n.Confidence < 0.75 || n.Since > 0.3 {
			r.dump()
			t.Errorf("samples %v: bottleneck is node %d (%s), want scan: %+v", samples, b.Node, b.Sentence, n)
		}
		if len(b.Chain) != 7 || b.Chain[0] != 1 {
			t.Errorf("samples %v: chain %v, want top, CPUbound and five functions", samples, b.Chain)
		}
		limit := 15.0
		if samples {
			limit = 4
		}
		if at > limit {
			t.Errorf("samples %v: settled after %.1f s, want at most %g", samples, at, limit)
		}
		if r.run(at + 3); r.node(cpuBound, code(grid.Whole(), "scan")).Confidence < 0.95 {
			t.Errorf("samples %v: three seconds later it is %.3f sure", samples, r.node(cpuBound, code(grid.Whole(), "scan")).Confidence)
		}
		t.Logf("samples %v: settled after %.1f s: %s", samples, at, b.Sentence)
	}
}

func TestLockIsNamedWithItsFunction(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "work", "lookup"}, kind: "sync", object: []string{"Mutex", "cache_lock"}, rate: always(0.72)},
		activity{stack: []string{"main", "work", "lookup"}, kind: "cpu", rate: always(0.1)},
		activity{stack: []string{"main", "log"}, kind: "sync", object: []string{"Mutex", "log_lock"}, rate: always(0.05)},
	)
	r := newRig(t, m)
	r.runUntil(30, "settled", r.s.Settled)
	b := r.only()
	want := code(grid.Whole(), "lookup").Refine(grid.SyncObject, "Mutex", "cache_lock")
	if n := r.node(syncWait, want); n.ID != b.Node || b.Object != "cache_lock" {
		r.dump()
		t.Fatalf("bottleneck %+v, want the node at %v", b, want)
	}
	for _, part := range []string{" for mutex cache_lock in lookup (a.c:41). Since 0.", " % sure (", " readings, threshold 20 %)."} {
		if !strings.Contains(b.Sentence, part) {
			t.Errorf("sentence %q lacks %q", b.Sentence, part)
		}
	}
	if !strings.HasPrefix(b.Sentence, "Threads wait 7") {
		t.Errorf("sentence %q", b.Sentence)
	}
	if n := r.node(syncWait, grid.Whole().Refine(grid.SyncObject, "Mutex", "log_lock")); n.State != False {
		t.Errorf("log_lock is %s, want false", n.State)
	}
	t.Log(b.Sentence)
}

func TestFileIsNamedWithItsFunction(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "load"}, kind: "io", object: []string{"File", "/var/data"}, rate: always(0.6)})
	r := newRig(t, m)
	r.runUntil(30, "settled", r.s.Settled)
	if b := r.only(); b.Object != "/var/data" || !strings.Contains(b.Sentence, "file /var/data in load") {
		r.dump()
		t.Errorf("bottleneck %+v", b)
	}
}

// A callee of ten callers, each of which is below the threshold by itself.
func TestHotCalleeOfCoolCallers(t *testing.T) {
	for _, samples := range []bool{true, false} {
		var acts []activity
		for i := range 10 {
			acts = append(acts, activity{stack: []string{"main", "caller" + strconv.Itoa(i), "step" + strconv.Itoa(i), "hash"}, kind: "cpu", rate: always(0.08)})
		}
		m := newModel(acts...)
		m.samples = samples
		r := newRig(t, m)
		r.runUntil(40, "settled", r.s.Settled)
		n := r.node(cpuBound, code(grid.Whole(), "hash"))
		if n.State != True || len(n.Parents) < 2 {
			r.dump()
			t.Fatalf("samples %v: hash is %q with parents %v, want true with several", samples, n.State, n.Parents)
		}
		if b := r.only(); b.Node != n.ID {
			t.Errorf("samples %v: bottleneck %s", samples, b.Sentence)
		}
	}
}

func TestSleepingProgram(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "poll"}, kind: "cpu", rate: always(0.01)})
	m.active = 0
	r := newRig(t, m)
	r.run(30)
	if b := r.s.Bottlenecks(); len(b) != 0 {
		t.Errorf("found %v in a program that sleeps", b)
	}
	if !r.s.Settled() {
		t.Errorf("not settled: %s", r.s.Status())
	}
	if n := len(r.s.Nodes()); n != 4 {
		t.Errorf("%d nodes, want the root and three hypotheses", n)
	}
}

func TestBudgetIsKept(t *testing.T) {
	acts := []activity{{stack: deepStack, kind: "cpu", rate: always(0.5)}}
	for i := range 40 {
		acts = append(acts, activity{stack: []string{"main", "serve", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(0.01)})
	}
	m := newModel(acts...)
	m.predict = func(k grid.PairKey) (grid.Price, error) {
		return grid.Price{Fraction: 0.0045, Rate: 1e4, Points: 2}, nil
	}
	r := newRig(t, m)
	r.runUntil(120, "settled", r.s.Settled)
	for _, n := range r.s.Nodes() {
		if n.State == Queued {
			t.Errorf("%v was never tested: %s; true nodes must give way", n.Focus, n.Reason)
		}
	}
	if m.maxCost > 0.02+1e-9 {
		t.Errorf("observed cost rose to %g, budget 0.02", m.maxCost)
	}
	if b := r.only(); !strings.Contains(b.Sentence, "scan") {
		r.dump()
		t.Errorf("bottleneck %s", b.Sentence)
	}
}

// Predictions that are wrong by a factor of four: the excess is at most what one batch costs, and it does not last.
func TestWrongPredictions(t *testing.T) {
	acts := []activity{{stack: deepStack, kind: "cpu", rate: always(0.5)}}
	for i := range 20 {
		acts = append(acts, activity{stack: []string{"main", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(0.02)})
	}
	m := newModel(acts...)
	const predicted, real = 0.002, 0.008
	m.predict = func(grid.PairKey) (grid.Price, error) {
		return grid.Price{Fraction: predicted, Rate: 1e4, Points: 2}, nil
	}
	m.real = func(grid.PairKey) float64 { return real }
	r := newRig(t, m)
	over := 0
	for m.now() < 60 {
		r.run(m.now() + 0.1)
		if m.overdone > 0 {
			t.Fatal("more was enabled while the budget was exceeded")
		}
		if m.ObservedCost() > 0.02 {
			over++
		} else {
			over = 0
		}
		if over > 15 {
			t.Fatalf("the budget is exceeded for more than two seconds at %.1f s: %g", m.now(), m.ObservedCost())
		}
	}
	if worst := 0.02 / predicted * real; m.maxCost > worst {
		t.Errorf("observed cost rose to %g; a batch that fits the budget as predicted costs at most %g", m.maxCost, worst)
	}
	if len(r.s.Bottlenecks()) == 0 {
		r.dump()
		t.Error("nothing found")
	}
}

func TestOverBudgetIsJudgedBySamples(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "loop", "tiny"}, kind: "cpu", rate: always(0.8)},
		activity{stack: []string{"main", "loop", "small"}, kind: "cpu", rate: always(0.05)},
	)
	tiny, small := code(grid.Whole(), "tiny"), code(grid.Whole(), "small")
	m.predict = func(k grid.PairKey) (grid.Price, error) {
		if k.Focus == tiny || k.Focus == small {
			return grid.Price{Fraction: 0.5, Rate: 5e7, Points: 2}, nil
		}
		return grid.Price{Fraction: 0.0001, Rate: 10, Points: 2}, nil
	}
	r := newRig(t, m)
	r.run(15)
	n := r.node(cpuBound, tiny)
	if n.State != True || n.Tier != grid.TierSample || !strings.Contains(n.Reason, "stack samples") || n.Confidence > 0.9 {
		r.dump()
		t.Errorf("tiny: %+v", n)
	}
	if n := r.node(cpuBound, small); n.State != Never && (n.State != False || n.Tier != grid.TierSample) {
		t.Errorf("small: %+v", n)
	}
	if b := r.only(); !strings.Contains(b.Sentence, "from stack samples") {
		t.Errorf("sentence %q does not say that it is an estimate", b.Sentence)
	}
	for _, k := range m.enabled {
		if k.Focus == tiny || k.Focus == small {
			t.Errorf("%v was enabled although it costs 50 %%", k)
		}
	}
	m2 := newModel(m.acts...)
	m2.samples, m2.predict = false, m.predict
	r = newRig(t, m2)
	r.run(15)
	if n := r.node(cpuBound, tiny); n.State != OverBudget || !strings.Contains(n.Reason, "50 %") {
		t.Errorf("without samples: %+v", n)
	}
}

// TestSamplesOfSeveralCallers: what only samples judge has the value of all of its callers, also of those that are ruled out.
func TestSamplesOfSeveralCallers(t *testing.T) {
	var acts []activity
	for caller, share := range map[string]float64{"key": 0.22, "value": 0.45, "comment": 0.08, "header": 0.15} {
		acts = append(acts, activity{stack: []string{"main", "document", caller, "length"}, kind: "cpu", rate: always(share)})
	}
	m := newModel(acts...)
	length := code(grid.Whole(), "length")
	m.predict = func(k grid.PairKey) (grid.Price, error) {
		if k.Focus == length {
			return grid.Price{Fraction: 0.023, Rate: 5e6, Points: 2}, nil
		}
		return grid.Price{Fraction: 0.0001, Rate: 10, Points: 2}, nil
	}
	r := newRig(t, m)
	r.run(15)
	if n := r.node(cpuBound, length); n.State != True || n.Tier != grid.TierSample || n.Value < 0.85 || n.Value > 0.95 {
		r.dump()
		t.Errorf("%+v", n)
	}
}

// TestOwnPart: of a function that computes itself, and calls one that computes as well, both are told, each with what it has; of one that only calls
// others, or has little of its own, nothing is.
func TestOwnPart(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "search", "match", "check"}, kind: "cpu", rate: always(0.35)},
		activity{stack: []string{"main", "search", "match"}, kind: "cpu", rate: always(0.5)},
		activity{stack: []string{"main", "search"}, kind: "cpu", rate: always(0.1)},
	)
	m.noise = 0
	r := newRig(t, m)
	r.run(15)
	var told []string
	for _, b := range r.s.Bottlenecks() {
		told = append(told, b.Sentence[:strings.Index(b.Sentence, ". Since")])
	}
	want := []string{"match (a.c:41) uses 50 % of the processors. 85 % with what it calls", "check (a.c:41) uses 35 % of the processors"}
	if !slices.Equal(told, want) {
		r.dump()
		t.Errorf("%q", told)
	}
}

func TestDeferredIsRetriedAndRefusedIsShown(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "later"}, kind: "cpu", rate: always(0.5)},
		activity{stack: []string{"main", "tricky"}, kind: "cpu", rate: always(0.45)},
	)
	later, tricky := code(grid.Whole(), "later"), code(grid.Whole(), "tricky")
	sawDeferred := false
	m.enableErr = func(k grid.PairKey, try int) error {
		switch {
		case k.Focus == later && try <= 3:
			return grid.ErrDeferred{Reason: "a thread stands in it"}
		case k.Focus == tricky:
			return grid.ErrRefused{Point: "tricky", Reason: "jump into its first bytes"}
		case k.Metric == "io_wait_inclusive":
			return grid.ErrUnsupported{What: "io_wait", Needs: "Linux 9"}
		}
		return nil
	}
	r := newRig(t, m)
	r.runUntil(30, "true", func() bool {
		n := r.node(cpuBound, later)
		sawDeferred = sawDeferred || n.State == Deferred && strings.Contains(n.Reason, "stands in it")
		return n.State == True
	})
	if !sawDeferred || m.tries[grid.PairKey{Metric: "cpu_inclusive", Focus: later}] != 4 {
		t.Errorf("deferred seen: %v, tries %d, want 4", sawDeferred, m.tries[grid.PairKey{Metric: "cpu_inclusive", Focus: later}])
	}
	if n := r.node(cpuBound, tricky); n.State != True || n.Tier != grid.TierSample || !strings.Contains(n.Reason, "cannot be measured: ") || !strings.Contains(n.Reason, "jump into") {
		t.Errorf("tricky, which stack samples tell of: %+v", n)
	}
	blind := newModel(m.acts...)
	blind.samples, blind.enableErr = false, m.enableErr
	b := newRig(t, blind)
	b.run(10)
	if n := b.node(cpuBound, tricky); n.State != Refused || !strings.Contains(n.Reason, "jump into") {
		t.Errorf("tricky, of which nothing tells: %+v", n)
	}
	if n := r.node(ioWait, grid.Whole()); n.State != Never || !strings.Contains(n.Reason, "Linux 9") {
		t.Errorf("io: %+v", n)
	}
}

func TestBeginsLater(t *testing.T) {
	m := newModel(
		activity{stack: deepStack, kind: "cpu", rate: between(30, 1e9, 0.9)},
		activity{stack: []string{"main", "idle"}, kind: "cpu", rate: always(0.02)},
	)
	r := newRig(t, m)
	r.run(29.9)
	if len(r.s.Bottlenecks()) != 0 {
		t.Fatal("found before it began")
	}
	scan := code(grid.Whole(), "scan")
	at := r.runUntil(45, "found", func() bool { return r.node(cpuBound, scan).State == True })
	n := r.node(cpuBound, scan)
	if n.Since < 29.79 || n.Since > 30.21 {
		r.dump()
		t.Errorf("since %g, want 30 within a bin", n.Since)
	}
	t.Logf("found at %.1f s, since %.1f s", at, n.Since)
}

func TestEnds(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "burn"}, kind: "cpu", rate: between(0, 15, 0.9)},
		activity{stack: []string{"main", "next"}, kind: "cpu", rate: between(25, 1e9, 0.8)},
	)
	r := newRig(t, m)
	burn, next := code(grid.Whole(), "burn"), code(grid.Whole(), "next")
	r.run(14)
	if n := r.node(cpuBound, burn); n.State != True {
		r.dump()
		t.Fatalf("burn is %s", n.State)
	}
	r.run(24)
	if n := r.node(cpuBound, burn); n.State != False {
		r.dump()
		t.Errorf("burn is %s nine seconds after its end", n.State)
	}
	if b := r.s.Bottlenecks(); len(b) != 0 {
		t.Errorf("still reported: %v", b)
	}
	r.run(40)
	if n := r.node(cpuBound, next); n.State != True {
		r.dump()
		t.Errorf("next is %s; its test was false before and had to be repeated", n.State)
	}
}

// A program that computes for three seconds and rests for three: the callees must not be ruled out while it rests.
func TestBursts(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: func(t float64) float64 {
		if int(t/3)%2 == 0 {
			return 0.95
		}
		return 0
	}})
	for _, samples := range []bool{true, false} {
		m := newModel(m.acts...)
		m.samples = samples
		r := newRig(t, m)
		scan := code(grid.Whole(), "scan")
		at := r.runUntil(60, "found", func() bool { return r.node(cpuBound, scan).State == True })
		t.Logf("samples %v: found at %.1f s", samples, at)
	}
}

func TestSecondParent(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "left", "shared"}, kind: "cpu", rate: always(0.45)},
		activity{stack: []string{"main", "right", "shared"}, kind: "cpu", rate: always(0.45)},
	)
	r := newRig(t, m)
	r.runUntil(20, "settled", r.s.Settled)
	n := r.node(cpuBound, code(grid.Whole(), "shared"))
	if n.State != True || len(n.Parents) != 2 {
		r.dump()
		t.Errorf("shared: %s with parents %v, want two", n.State, n.Parents)
	}
	count := 0
	for _, m := range r.s.Nodes() {
		if m.Focus == n.Focus && m.Hypothesis == n.Hypothesis {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d nodes for shared", count)
	}
}

// Recursion must not make a circle, and the deepest function of it is still found.
func TestRecursion(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "eval", "apply"}, kind: "cpu", rate: always(0.9)})
	m.edges["apply"] = []string{"eval", "apply", "main"}
	r := newRig(t, m)
	r.runUntil(30, "settled", r.s.Settled)
	if b := r.only(); !strings.Contains(b.Sentence, "apply") {
		t.Errorf("bottleneck %s", b.Sentence)
	}
	for _, n := range r.s.graph.nodes {
		for _, p := range n.parents {
			if n.above(p) {
				t.Errorf("node %d is above its parent %d", n.id, p.id)
			}
		}
	}
}

func TestBreadthIsBounded(t *testing.T) {
	acts := []activity{{stack: []string{"main"}, kind: "cpu", rate: always(0.9)}}
	for i := range 200 {
		acts = append(acts, activity{stack: []string{"main", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(0.0001)})
	}
	m := newModel(acts...)
	r := newRig(t, m)
	r.runUntil(60, "settled", r.s.Settled)
	never, tested := 0, 0
	for _, n := range r.s.Nodes() {
		if !strings.HasPrefix(n.Focus.String(), "/Code/a.c/f") {
			continue
		}
		if n.State == Never && strings.HasPrefix(n.Reason, "not tested: ") {
			never++
		} else {
			tested++
		}
	}
	if tested != 64 || never != 136 {
		t.Errorf("%d tested, %d never; want 64 and 136", tested, never)
	}
	if b := r.only(); !strings.Contains(b.Sentence, "main") {
		t.Errorf("bottleneck %s", b.Sentence)
	}
}

// One hot thread of four is named with the function it runs.
func TestThread(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "spin"}, thread: "thr_2", kind: "cpu", rate: always(0.9)},
		activity{stack: []string{"main", "rest"}, thread: "thr_1", kind: "cpu", rate: always(0.01)},
	)
	m.threads = []string{"thr_1", "thr_2", "thr_3"}
	r := newRig(t, m)
	r.runUntil(40, "settled", r.s.Settled)
	if b := r.only(); !strings.Contains(b.Sentence, "spin") || !strings.Contains(b.Sentence, "in thread 2.") {
		r.dump()
		t.Errorf("bottleneck %s", b.Sentence)
	}
	rest := code(grid.Whole(), "spin").Refine(grid.Process, "srv{1}", "thr_1")
	if n := r.node(cpuBound, rest); n.State != Never || !strings.Contains(n.Reason, "a part of /Process/srv{1}/thr_1") {
		t.Errorf("spin in thr_1: %+v; thr_1 as a whole was false", n)
	}
}

// A function that cannot be measured rules nothing out: what it calls is tested in its place.
func TestLooksPastRefused(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	m.samples = false
	m.enableErr = func(k grid.PairKey, _ int) error {
		switch f := explain.FunctionOf(k.Focus); f {
		case "main":
			return grid.ErrRefused{Point: f, Reason: "too short"}
		case "handle":
			return grid.ErrUnsupported{What: f}
		}
		return nil
	}
	r := newRig(t, m)
	r.runUntil(30, "settled", r.s.Settled)
	if b := r.only(); !strings.Contains(b.Sentence, "scan") {
		r.dump()
		t.Errorf("bottleneck %s", b.Sentence)
	}
}

// Candidates that can never be afforded do not keep the search from being settled, and say why they wait.
func TestNoBudgetIsSaid(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "a"}, kind: "cpu", rate: always(0.45)},
		activity{stack: []string{"main", "b"}, kind: "cpu", rate: always(0.45)},
	)
	m.predict = func(grid.PairKey) (grid.Price, error) { return grid.Price{Fraction: 0.015, Rate: 1e5, Points: 2}, nil }
	m.samples = false // else they would answer
	r := newRig(t, m)
	r.runUntil(10, "reached", func() bool { return r.node(cpuBound, code(grid.Whole(), "main")).ID != 0 })
	if err := r.s.Pin(r.node(cpuBound, code(grid.Whole(), "main")).ID, true); err != nil {
		t.Fatal(err)
	}
	r.runUntil(60, "settled", r.s.Settled)
	waits := 0
	for _, f := range []string{"a", "b"} {
		if n := r.node(cpuBound, code(grid.Whole(), f)); n.State == Queued && strings.Contains(n.Reason, "waits for budget") {
			waits++
		}
	}
	slow := slices.ContainsFunc(r.events, func(e Event) bool { return strings.HasPrefix(e.Text, "search slowed: ") })
	if waits == 0 || !slow || !strings.Contains(r.s.Status(), "for budget") {
		r.dump()
		t.Errorf("%d wait, slowed said: %v", waits, slow)
	}
	if m.maxCost > 0.02 {
		t.Errorf("cost %g", m.maxCost)
	}
}

// Candidates for which there is no room since what must stay uses the budget are judged by stack samples.
func TestStarvedIsJudgedBySamples(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "a"}, kind: "cpu", rate: always(0.7)},
		activity{stack: []string{"main", "b"}, kind: "cpu", rate: always(0.1)},
	)
	m.predict = func(grid.PairKey) (grid.Price, error) { return grid.Price{Fraction: 0.015, Rate: 1e5, Points: 2}, nil }
	r := newRig(t, m)
	r.runUntil(10, "reached", func() bool { return r.node(cpuBound, code(grid.Whole(), "main")).ID != 0 })
	if err := r.s.Pin(r.node(cpuBound, code(grid.Whole(), "main")).ID, true); err != nil {
		t.Fatal(err)
	}
	r.runUntil(20, "settled", r.s.Settled)
	n := r.node(cpuBound, code(grid.Whole(), "a"))
	if n.State != True || n.Tier != grid.TierSample || !strings.Contains(n.Reason, "others use the budget") {
		r.dump()
		t.Errorf("%+v", n)
	}
	if m.maxCost > 0.02 {
		t.Errorf("cost %g", m.maxCost)
	}
}

// The stop in which something is inserted shows in the observed cost and fades: nothing is given up for it.
func TestAStopIsNoCost(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	m.whole = map[string]float64{"sync_wait_inclusive": 0.001}
	r := newRig(t, m)
	m.stopped = func(since float64) float64 { return 0.5 * math.Pow(0.7, math.Floor(since/0.2)) }
	r.runUntil(30, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
	for _, e := range r.events {
		if strings.Contains(e.Text, "exceeds the budget") {
			r.dump()
			t.Errorf("at %.1f s: %s", e.At, e.Text)
		}
	}
}

// A hypothesis of the first level that costs more than predicted is given up rather than the search.
func TestExpensiveFirstLevel(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	m.whole = map[string]float64{"sync_wait_inclusive": 0.05}
	r := newRig(t, m)
	r.runUntil(30, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
	over := 0
	for m.now() < 60 {
		r.run(m.now() + 0.1)
		if m.ObservedCost() > 0.02 {
			over++
		}
	}
	if over > 60 {
		r.dump()
		t.Errorf("the budget was exceeded at %d of some 200 ticks", over)
	}
}

// Work moves from one function to another while their caller stays busy.
func TestHandover(t *testing.T) {
	for _, watched := range []bool{true, false} {
		m := newModel(
			activity{stack: []string{"main", "first"}, kind: "cpu", rate: between(0, 20, 0.9)},
			activity{stack: []string{"main", "second"}, kind: "cpu", rate: between(20, 1e9, 0.9)},
		)
		m.samples = false
		r := newRig(t, m)
		second := code(grid.Whole(), "second")
		if watched { // somebody else looks at the function all the time
			if res := r.g.Enable(r.s.top.Children[0].Pairs(second)...); res[0].Err != nil {
				t.Fatal(res[0].Err)
			}
		}
		r.run(15)
		if n := r.node(cpuBound, second); n.State != False {
			t.Fatalf("second is %s", n.State)
		}
		r.runUntil(40, "found", func() bool { return r.node(cpuBound, second).State == True })
		n := r.node(cpuBound, second)
		if watched && (n.Since < 19.7 || n.Since > 20.3) || n.Since < 19.7 || n.Since > m.now() {
			t.Errorf("watched %v: since %g, the work moved at 20 s", watched, n.Since)
		}
	}
}

// What is left beside a callee that explains its caller is not tested.
func TestExplained(t *testing.T) {
	m := twoLevels()
	m.acts[1].rate = always(0.05)
	r := newRig(t, m)
	r.runUntil(20, "settled", r.s.Settled)
	if n := r.node(cpuBound, code(grid.Whole(), "other")); n.State != Never || !strings.Contains(n.Reason, "explains") {
		r.dump()
		t.Errorf("other: %+v", n)
	}
}

// Predictions of nothing at all: what is enabled in one batch may exceed the budget, nothing is added while it does.
func TestFreeOfCharge(t *testing.T) {
	acts := []activity{{stack: deepStack, kind: "cpu", rate: always(0.5)}}
	for i := range 30 {
		acts = append(acts, activity{stack: []string{"main", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(0.01)})
	}
	m := newModel(acts...)
	m.predict = func(grid.PairKey) (grid.Price, error) { return grid.Price{}, nil }
	m.real = func(grid.PairKey) float64 { return 0.008 }
	r := newRig(t, m)
	r.run(40)
	if m.overdone > 0 {
		t.Errorf("%d batches were enabled while the budget was exceeded", m.overdone)
	}
	if len(r.s.Bottlenecks()) == 0 {
		r.dump()
		t.Error("nothing found")
	}
}

// A function that was recorded by somebody else before its first test: its beginning is read from the record, and is not
// that of its caller.
func TestSinceFromTheRecord(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "first"}, kind: "cpu", rate: between(0, 20, 0.9)},
		activity{stack: []string{"main", "second"}, kind: "cpu", rate: between(20, 1e9, 0.9)},
		activity{stack: []string{"main", "second"}, kind: "cpu", rate: always(0.02)},
	)
	r := newRig(t, m)
	second := code(grid.Whole(), "second")
	if res := r.g.Enable(r.s.top.Children[0].Pairs(second)...); res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	r.run(15)
	if n := r.node(cpuBound, second); n.State != Never {
		t.Fatalf("second is %s, want never: first explains main", n.State)
	}
	r.runUntil(40, "found", func() bool { return r.node(cpuBound, second).State == True })
	if n := r.node(cpuBound, second); n.Since < 19.79 || n.Since > 20.21 {
		t.Errorf("since %g, it began at 20 s", n.Since)
	}
}
