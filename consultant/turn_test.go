package consultant

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"culprit/consultant/beat"
	"culprit/consultant/explain"
	"culprit/grid"
)

// crowd is a program with one bottleneck and forty functions beside it that do little.
func crowd() []activity {
	acts := []activity{{stack: deepStack, kind: "cpu", rate: always(0.5)}}
	for i := range 40 {
		acts = append(acts, activity{stack: []string{"main", "serve", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(0.01)})
	}
	return acts
}

// enabledOf counts how often pairs at functions with such a name were enabled.
func (m *model) enabledOf(prefix string) (n int) {
	for _, k := range m.enabled {
		if strings.HasPrefix(explain.FunctionOf(k.Focus), prefix) {
			n++
		}
	}
	return n
}

// Where processors are busy the bottleneck is found as soon as else, and what stack samples speak against waits until there is time.
func TestBusyProcessors(t *testing.T) {
	spare := -5.0
	m := newModel(crowd()...)
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return spare } })
	at := r.runUntil(5, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
	r.run(at + 5)
	if n := m.enabledOf("f"); n != 0 {
		t.Errorf("%d pairs at functions that stack samples speak against were enabled", n)
	}
	if n := r.node(cpuBound, code(grid.Whole(), "f7")); n.State != Queued || !strings.Contains(n.Reason, "CPUs are busy") {
		t.Errorf("f7 is %s: %q", n.State, n.Reason)
	}
	if says := r.s.Status(); !strings.Contains(says, "40 candidates wait until CPUs are less busy") {
		t.Errorf("status: %s", says)
	}
	settled := r.runUntil(30, "settled", r.s.Settled)
	t.Logf("found after %.1f s, settled after %.1f", at, settled)
	spare = 1
	r.runUntil(settled+60, "tested", func() bool { return r.node(cpuBound, code(grid.Whole(), "f7")).State == False })
	if b := r.only(); !strings.Contains(b.Sentence, "scan") {
		t.Errorf("bottleneck %s", b.Sentence)
	}
}

// What stack samples say nothing about may run ahead of the search's share, and then waits too.
func TestRunsAhead(t *testing.T) {
	spare := -1.0 // more than it may run ahead
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	m.samples = false
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return spare } })
	r.run(8)
	if n := r.node(cpuBound, code(grid.Whole(), "main")); n.State != Queued || m.enabledOf("main") != 0 || len(m.enabled) == 0 {
		t.Errorf("main is %s, enabled %d times; %d pairs enabled in all, the first hypotheses' are wanted", n.State, m.enabledOf("main"), len(m.enabled))
	}
	spare = -0.25
	r.runUntil(30, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
}

// Where processors are busy few candidates of little promise are begun at once, and all where they are not.
func TestFewAtOnce(t *testing.T) {
	spare := 1.0
	m := newModel(crowd()...)
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return spare } })
	most := func(until float64) (most int) {
		for last := m.enabledOf("f"); m.now() < until; {
			r.run(m.now() + beat.Short)
			n := m.enabledOf("f")
			last, most = n, max(most, n-last)
		}
		return most
	}
	if n := most(4); n == 0 || n > 2*fewAtOnce { // a beat may begin just before and just behind
		t.Errorf("%d were begun at once where processors are busy", n)
	}
	spare = math.Inf(1)
	if n := most(9); n <= 2*fewAtOnce {
		t.Errorf("%d were begun at once where they are not", n)
	}
}

// A function that gets hot while it waits for time is tested at once.
func TestGetsHotWhileWaiting(t *testing.T) {
	m := newModel(append(crowd(), activity{stack: []string{"main", "serve", "late"}, kind: "cpu", rate: func(at float64) float64 {
		if at < 10 {
			return 0.01
		}
		return 0.45
	}})...)
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return -5 } })
	r.run(10)
	if n := r.node(cpuBound, code(grid.Whole(), "late")); n.State != Queued {
		t.Fatalf("late is %s", n.State)
	}
	at := r.runUntil(40, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "late")).State == True })
	t.Logf("found after %.1f s", at-10)
	if n := m.enabledOf("f"); n != 0 {
		t.Errorf("%d pairs at functions that stack samples speak against were enabled", n)
	}
}

// The user does not wait.
func TestByHandAtOnce(t *testing.T) {
	m := newModel(crowd()...)
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return math.Inf(-1) } })
	r.runUntil(5, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
	r.run(8)
	if err := r.s.Retest(r.node(cpuBound, code(grid.Whole(), "f3")).ID); err != nil {
		t.Fatal(err)
	}
	r.runUntil(14, "tested", func() bool { return r.node(cpuBound, code(grid.Whole(), "f3")).State == False })
}

// A search that may use no time rests until there are new values, until the user wants something, or for a while.
func TestRests(t *testing.T) {
	m := newModel(crowd()...)
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return -5 } })
	r.run(5)
	rest := func() {
		r.s.budget.Changed(m.now() - newTime)
		r.s.alarm.HasNews()
		r.s.alarm.Seen()
		r.s.alarm.Granted()
		r.s.tickedAt = m.now()
	}
	if rest(); r.s.isDue() {
		t.Error("it has a turn, and nothing is new")
	}
	if r.s.tickedAt -= restTime.Seconds() + 0.01; !r.s.isDue() {
		t.Error("it has no turn after a while")
	}
	rest()
	if err := r.s.Pin(r.node(cpuBound, code(grid.Whole(), "scan")).ID, true); err != nil || !r.s.isDue() {
		t.Errorf("it has no turn after a wish (%v)", err)
	}
	rest()
	if m.advance(0.5); !r.s.isDue() {
		t.Error("it has no turn after new values")
	}
	if rest(); r.s.budget.ChangedSince(m.now() - newTime) {
		t.Error("the last change is no old one")
	}
	if r.s.budget.Changed(m.now()); r.s.isResting() || !r.s.isDue() {
		t.Error("it rests although what is new may cost too much")
	}
	if rest(); !r.s.isResting() {
		t.Error("it does not rest")
	}
	if r.s.budget.SetAllowance(1); r.s.isResting() || !r.s.isDue() {
		t.Error("it rests although there is time")
	}
}

// TestStopsArePaid: where each batch holds the program for long, batches wait until the budget has paid for those before; where it does not, they
// come as else. The bottleneck is found either way.
func TestStopsArePaid(t *testing.T) {
	found := map[float64]float64{}
	for _, each := range []float64{0, 0.001, 0.11} {
		m := newModel(crowd()...)
		m.samples = false // so that it takes many batches
		r := newRig(t, m, func(w *world) { w.stood = func() float64 { return each * float64(m.batches) } })
		found[each] = r.runUntil(40, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
		for _, now := range []float64{found[each], 60} {
			r.run(now)
			stood := each * float64(m.batches)
			t.Logf("stops of %.3f s: after %.1f s %d batches, %.2f s", each, now, m.batches, stood)
			if most := 0.02*(now+2.5) + each; stood > most {
				t.Errorf("stops of %.2f s: the program stood still for %.2f s in %.1f s, %.2f are paid for", each, stood, now, most)
			}
		}
	}
	if found[0.001] != found[0] || found[0.11] > 30 {
		t.Errorf("found after %v s", found)
	}
}

// What the kernel keeps at the whole program is measured at once: it does not wait until calls were counted and probes put in for the others.
func TestKeptByTheKernelComesFirst(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	batch := map[string]int{}
	m.enableErr = func(k grid.PairKey, _ int) error { // it holds the lock
		batch[k.Metric] = m.batches
		return nil
	}
	r := newRig(t, m)
	r.s.graph.nodes[0].hyp.Children[0].Kept = true // CPUbound
	r.turn()
	if batch["cpu_inclusive"] != 1 || batch["io_wait_inclusive"] != 2 {
		t.Errorf("cpu_inclusive came with batch %d, io_wait_inclusive with batch %d; want 1 and 2", batch["cpu_inclusive"], batch["io_wait_inclusive"])
	}
}

// TestFewBatchesLater: after its beginning a search changes what is measured once a second at most, whatever happens in the program, and goes on
// finding what begins.
func TestFewBatchesLater(t *testing.T) {
	acts := []activity{{stack: deepStack, kind: "cpu", rate: always(0.5)}}
	for i := range 30 {
		from := 8 + 2*float64(i)
		acts = append(acts, activity{stack: []string{"main", "serve", "turn" + strconv.Itoa(i), "deep" + strconv.Itoa(i)}, kind: "cpu", rate: between(from, from+6, 0.4)})
	}
	m := newModel(acts...)
	var at []float64
	m.enableErr = func(grid.PairKey, int) error { // a batch is enabled at one time; the lock of the model is held
		if len(at) == 0 || at[len(at)-1] != m.t {
			at = append(at, m.t)
		}
		return nil
	}
	r := newRig(t, m)
	found := map[int]bool{} // of what begins, each lasts for six seconds, and two others begin meanwhile
	for m.now() < 70 {
		r.run(m.now() + tickTime.Seconds())
		for i := range 30 {
			if r.node(cpuBound, code(grid.Whole(), "deep"+strconv.Itoa(i))).State == True {
				found[i] = true
			}
		}
	}
	if len(found) < 5 {
		t.Errorf("of what began only %v were found", found)
	}
	later := 0
	for i, a := range at {
		if a < beat.Early+beat.Long {
			continue
		}
		if later++; a-at[i-1] < beat.Long-tickTime.Seconds() {
			t.Errorf("batches at %.2f and %.2f s", at[i-1], a)
		}
	}
	if later < 20 {
		t.Errorf("%d batches in all: the search does nothing", later)
	}
}

// TestBehindHoldsUpNobody: a candidate that waits for tests which take long, since they are near their threshold, does not hold up the next way of the function
// that calls it.
func TestBehindHoldsUpNobody(t *testing.T) {
	m := newModel(
		activity{thread: "thr_1", kind: "sync", rate: always(0.21), stack: []string{"main", "accept"}, object: []string{"Semaphore", "places"}},
		activity{thread: "thr_2", kind: "sync", rate: always(0.7), stack: []string{"serve", "look_up"}, object: []string{"Mutex", "catalogue"}},
		activity{thread: "thr_2", kind: "cpu", rate: always(0.1), stack: []string{"serve", "look_up", "scan"}},
	)
	m.active = 1
	r := newRig(t, m)
	where := code(grid.Whole(), "look_up").Refine(grid.SyncObject, "Mutex", "catalogue")
	found := r.runUntil(20, "found", func() bool { return r.node(syncWait, where).State == True })
	t.Logf("found after %.1f s", found)
	if found > 6 {
		t.Errorf("found after %.1f s", found)
	}
}
