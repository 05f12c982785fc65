package consultant

import (
	"testing"

	"culprit/consultant/decide"
	"culprit/grid"
)

const systemCalls = "SystemCallTimeHigh"

// ofSystemCalls is a hypothesis whose value is a ratio of two times.
func ofSystemCalls() *hypothesis {
	global := []string{"active_threads"}
	value := func(get func(string) float64) float64 { return ratio(get("system_time"), get("cpu_inclusive")) }
	test := decide.NewTest([]string{"system_time", "cpu_inclusive", "active_threads"}, global, true, value, func(func(string) float64) float64 { return 0.5 })
	test.Staking(func(get func(string) float64) float64 { return ratio(get("system_time"), get("active_threads")) })
	return (&hypothesis{Name: systemCalls, Label: "{function} spends {percent} in system calls", Why: true, Where: true, Refine: []grid.Hierarchy{grid.Code}}).With(test)
}

// TestARatioIsJudgedBySamples: functions that are called too often to be timed are judged by the samples of both times, each for itself, however
// many of them lie one above the other. What no sample saw stays unknown.
func TestARatioIsJudgedBySamples(t *testing.T) {
	changed := []string{"main", "loop", "record", "config_changed"}
	account := []string{"main", "loop", "record", "account"}
	m := newModel(
		activity{stack: changed, kind: "cpu", rate: always(0.7)},
		activity{stack: changed, kind: "system_call", rate: always(0.63)},
		activity{stack: account, kind: "cpu", rate: always(0.3)},
		activity{stack: account, kind: "system_call", rate: always(0.03)},
	)
	m.edges["record"] = []string{"never"}
	m.predict = func(k grid.PairKey) (grid.Price, error) {
		if e := k.Focus.Elements(grid.Code); len(e) == 2 && e[1] != "main" {
			return grid.Price{Fraction: 0.03, Rate: 2e6, Points: 4}, nil
		}
		return grid.Price{Fraction: 0.0001, Rate: 10, Points: 2}, nil
	}
	r := newRig(t, m)
	list, parents := []*hypothesis{ofSystemCalls()}, []string{""}
	r.s = newSearch(Config{World: r.w}, list, parents)
	r.s.readFrom(r.g)
	r.run(15)
	for name, want := range map[string]struct {
		state State
		value float64
	}{
		"record": {True, 0.66}, "config_changed": {True, 0.9}, "account": {False, 0.1},
	} {
		n := r.node(systemCalls, code(grid.Whole(), name))
		if n.State != want.state || n.Tier != grid.TierSample || n.Value < want.value-0.05 || n.Value > want.value+0.05 {
			r.dump()
			t.Errorf("%s: %+v", name, n)
		}
	}
	if n := r.node(systemCalls, code(grid.Whole(), "never")); n.State != OverBudget {
		t.Errorf("what was never seen: %+v", n)
	}
	b := r.only()
	if n := r.node(systemCalls, code(grid.Whole(), "config_changed")); b.Node != n.ID || b.Severity < 0.55 || b.Severity > 0.7 {
		t.Errorf("%+v", b)
	}
}
