package consultant

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"culprit/grid"
)

// hours is how old the session of a test is when something is looked for.
var hours = []float64{0, 1000, 4000, 7200, 3 * 86400}

// A known program is one whose answer is known.
type known struct {
	name string
	of   func() *model
	hyp  string
	at   grid.Focus
}

// programs are those that are searched in sessions of any age.
func programs() []known {
	wait := func(kind, class, object string, share float64, stack ...string) activity {
		return activity{stack: stack, kind: kind, object: []string{class, object}, rate: always(share)}
	}
	plain := func(acts ...activity) func() *model { return func() *model { return newModel(acts...) } }
	deep := activity{stack: deepStack, kind: "cpu", rate: always(0.9)}
	var callers []activity
	for i := range 10 {
		callers = append(callers, activity{stack: []string{"main", "caller" + strconv.Itoa(i), "hash"}, kind: "cpu", rate: always(0.08)})
	}
	unsampled := func() *model {
		m := newModel(deep)
		m.samples = false
		return m
	}
	dear := func() *model {
		m := newModel(activity{stack: []string{"main", "loop", "tiny"}, kind: "cpu", rate: always(0.8)})
		m.predict = func(k grid.PairKey) (grid.Price, error) {
			if k.Focus == code(grid.Whole(), "tiny") {
				return grid.Price{Fraction: 0.5, Rate: 5e7, Points: 2}, nil
			}
			return grid.Price{Fraction: 0.0001, Rate: 10, Points: 2}, nil
		}
		return m
	}
	threads := func() *model {
		m := newModel(activity{stack: []string{"main", "spin"}, thread: "thr_2", kind: "cpu", rate: always(0.9)})
		m.threads = []string{"thr_1", "thr_2", "thr_3"}
		return m
	}
	bursts := activity{stack: deepStack, kind: "cpu", rate: func(t float64) float64 { return 0.95 * float64((int(t/3)+1)%2) }}
	scan, lookup := code(grid.Whole(), "scan"), code(grid.Whole(), "lookup")
	return []known{
		{"a function", plain(deep), cpuBound, scan},
		{"a function without samples", unsampled, cpuBound, scan},
		{"a lock", plain(wait("sync", "Mutex", "cache_lock", 0.72, "main", "work", "lookup")), syncWait, lookup.Refine(grid.SyncObject, "Mutex", "cache_lock")},
		{"a file", plain(wait("io", "File", "/var/data", 0.6, "main", "load")), ioWait, code(grid.Whole(), "load").Refine(grid.IO, "File", "/var/data")},
		{"a callee of many", plain(callers...), cpuBound, code(grid.Whole(), "hash")},
		{"a function among many", plain(crowd()...), cpuBound, scan},
		{"what is too dear", dear, cpuBound, code(grid.Whole(), "tiny")},
		{"a thread", threads, cpuBound, grid.Whole().Refine(grid.Process, "srv{1}", "thr_2")},
		{"bursts", plain(bursts), cpuBound, scan},
		{"a busy one that also waits", plain(deep, wait("sync", "Mutex", "log_lock", 0.4, "main", "log")), syncWait, mutex("log_lock")},
	}
}

// beginning has a program do nothing before a time, and then what it does from its beginning.
func (m *model) beginning(at float64) *model {
	for i := range m.acts {
		rate := m.acts[i].rate
		m.acts[i].rate = func(t float64) float64 {
			if t < at {
				return 0
			}
			return rate(t - at)
		}
	}
	return m
}

// ages compares how soon programs are answered at an age with how soon they are when the session is young: each takes at most a fifth longer, and as
// much as lies between two turns and two readings; all together a fifth.
func ages(t *testing.T, young, old []float64, age float64) {
	t.Helper()
	before, after := 0.0, 0.0
	for i, p := range programs() {
		t.Logf("%-30s %5.2f s, after %g s %5.2f s", p.name, young[i], age, old[i])
		if old[i] > 1.2*young[i]+0.3 {
			t.Errorf("%s is found in %.1f s after %g s, and in %.1f s at the beginning", p.name, old[i], age, young[i])
		}
		before, after = before+young[i], after+old[i]
	}
	if after > 1.2*before {
		t.Errorf("after %g s all are found in %.1f s, at the beginning in %.1f s", age, after, before)
	}
}

// A search in a session of any age finds what it does in a new one, as soon: histograms are folded, and readings are not.
func TestOldSessionFinds(t *testing.T) {
	var young []float64
	for _, age := range hours {
		var took []float64
		for _, p := range programs() {
			m := p.of().beginning(age)
			m.t = age
			r := newRig(t, m)
			r.g.Enable(grid.PairKey{Metric: "cpu", Focus: grid.Whole()}) // the grid is as old as the session
			took = append(took, r.runUntil(age+60, p.name+" is found", func() bool { return r.node(p.hyp, p.at).State == True })-age)
		}
		if age == 0 {
			young = took
			continue
		}
		ages(t, young, took, age)
	}
}

// A search that has gone on for two hours finds what begins then as soon as what begins after half a minute.
func TestSecondHour(t *testing.T) {
	took := func(begins float64) (list []float64) {
		for _, p := range programs() {
			m := p.of().beginning(begins)
			r := newRig(t, m)
			grain, step := m.grain, m.step
			for m.grain, m.step = 1, 1; m.now() < begins-10; { // nothing happens: fewer readings miss nothing
				m.advance(1)
				r.turn()
			}
			m.grain, m.step = grain, step
			r.run(begins)
			list = append(list, r.runUntil(begins+60, p.name+" is found", func() bool { return r.node(p.hyp, p.at).State == True })-begins)
		}
		return list
	}
	ages(t, took(30), took(7200), 7200)
}

// What changes late is noticed as soon as what changes early, on a busy machine too, and what held before is told as earlier.
func TestOldSessionNotices(t *testing.T) {
	for _, busy := range []bool{false, true} {
		for _, at := range []float64{45, 840} {
			m := newModel(
				activity{stack: []string{"main", "first"}, kind: "cpu", rate: between(0, at, 0.9)},
				activity{stack: []string{"main", "second"}, kind: "cpu", rate: between(at, 1e9, 0.9)},
			)
			r := newRig(t, m, func(w *world) {
				if busy {
					w.spare = func() float64 { return math.Inf(-1) }
				}
			})
			r.run(at)
			if r.node(cpuBound, code(grid.Whole(), "first")).State != True {
				r.dump()
				t.Fatalf("busy %v: the first was not found", busy)
			}
			took := r.runUntil(at+60, "noticed", func() bool {
				return r.node(cpuBound, code(grid.Whole(), "first")).State != True && r.node(cpuBound, code(grid.Whole(), "second")).State == True
			}) - at
			t.Logf("busy %v: a change at %g s is noticed after %.1f s", busy, at, took)
			if took > 20 {
				t.Errorf("busy %v: a change at %g s is noticed after %.1f s", busy, at, took)
			}
			b, over := r.s.Bottlenecks(), r.s.Earlier()
			if len(b) != 1 || !strings.Contains(b[0].Sentence, "second") || len(over) != 1 || !strings.Contains(over[0].Sentence, "first") || math.Abs(over[0].To-at) > 1 && !busy || over[0].To > at+1 {
				r.dump()
				t.Errorf("busy %v: a change at %g s: %+v; over: %+v", busy, at, b, over)
			}
		}
	}
}

// An answer that is not watched on a busy machine is judged again, however old the session is.
func TestOldSessionJudgesAgain(t *testing.T) {
	for _, age := range hours {
		m := newModel(activity{stack: []string{"main", "first"}, kind: "cpu", rate: between(0, age+60, 0.9)})
		m.t = age
		r := newRig(t, m, func(w *world) { w.spare = func() float64 { return math.Inf(-1) } })
		r.run(age + 60)
		r.runUntil(age+150, "judged again", func() bool { return r.node(cpuBound, code(grid.Whole(), "first")).State == False })
	}
}
