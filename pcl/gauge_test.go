package pcl

import (
	"strings"
	"testing"

	"culprit/grid"
)

// held is what the twins know of a gauge. The one that runs the plan adds up changes times when they were, as probes do; the one that
// runs the text adds up what the value was times for how long.
type held struct {
	area        int64
	most, least int64 // of the values that changes led to
	changed     bool
}

// change notes that a gauge changes by d.
func (c *cell) change(d, now int64) {
	if c.held != nil {
		c.held.area += d * now
		c.held.saw(c.value + d)
	}
}

// led notes which value a change has led to.
func (c *cell) led() {
	if c.held != nil {
		c.held.saw(c.value)
	}
}

func (h *held) saw(v int64) {
	if !h.changed {
		h.changed, h.most, h.least = true, v, v
	}
	h.most, h.least = max(h.most, v), min(h.least, v)
}

// figures are what is compared, besides the last value.
func (h *held) figures(integral int64) []int64 { return []int64{integral, h.most, h.least} }

// counts is the kind of the variable of the body that applies at the twin's focus.
func (t *twin) counts(m *metric) Kind {
	kind := m.base.kind
	for _, c := range m.constraints {
		if elems := t.focus.Elements(c.hierarchy); c.replace && len(elems) == len(c.path)+1 && fits(c.path, elems) {
			kind = c.body.kind
		}
	}
	if kind == Counter && m.Style == grid.SampledFunction {
		return ThreadGauge
	}
	return kind
}

const gaugeHead = `units x; aggregateOperator sum; style SampledFunction; `

var gaugeCases = []struct{ name, items, pair, want string }{
	{"of the process", gaugeHead + `base is gauge { append preInsn $start.entry (* m++; m -= $arg[0]; *) append preInsn $start.return (* if (m > 3) m = 0; *) }`, "m", `
m@/: gauge
  gauge m
  append preInsn 1.entry { m += 1; m += -$arg[0] }
  append preInsn 1.return { if (m > 3) m = 0 }
`},
	{"of each thread", gaugeHead + `counter n; base is counter { append preInsn $start.entry (* m = $arg[0]; n++; *) }`, "m", `
m@/: gauge of each thread
  gauge of each thread m
  counter n
  append preInsn 1.entry { m = $arg[0]; n += 1 }
`},
	{"a counter stays one", head + `base is counter { append preInsn $start.entry (* m = $arg[0]; *) }`, "m", `
m@/: counter
  counter m
  append preInsn 1.entry { m = $arg[0] }
`},
	{"of a process by name", gaugeHead + `base is gauge { append preInsn $start.entry (* m++; *) }`, "m@/Process/a{7}", `
m@/Process/a{7}: gauge, process "a{7}"
  gauge m
  append preInsn 1.entry { m += 1 }
`},
	{"of a thread", gaugeHead + `base is gauge { append preInsn $start.entry (* m++; *) }`, "m@/Process/a{7}/thr_8", "one of each thread is written"},
	{"of another style", head + `base is gauge { }`, "", "found a gauge and the style EventCounter, expected style SampledFunction"},
	{"a replacement of another style", head + `constraint c /Code is replace gauge { } base is counter { }`, "", "found a gauge and the style EventCounter"},
	{"its address", gaugeHead + `base is gauge { append preInsn $start.entry (* f(&m); *) }`, "", "found the address of the gauge m, expected that of a counter"},
	{"the address of one of each thread", gaugeHead + `base is counter { append preInsn $start.entry (* f(&m); *) }`, "", "found the address of the gauge m"},
	{"told apart", gaugeHead + `counter n; base is gauge by n { append preInsn $start.entry (* n = $arg[0]; m++; *) }`, "", "found a base of kind gauge with a key"},
	{"with a distribution", gaugeHead + `base is histogram(gauge) { }`, "", `expected "wallTimer"`},
	{"a timer", gaugeHead + `base is gauge { append preInsn $start.entry (* startWallTimer(m); *) }`, "", "found startWallTimer for a base of kind gauge"},
}

func TestGaugeBases(t *testing.T) {
	for _, c := range gaugeCases {
		t.Run(c.name, func(t *testing.T) {
			text := `metric m { name "m"; ` + c.items + ` }`
			if c.pair == "" {
				_, problems, err := Load(Options{Texts: []string{text}})
				if err != nil || len(problems) == 0 || !strings.Contains(problems[0].Detail(), c.want) {
					t.Errorf("got %v %v, want %q", err, problems, c.want)
				}
				return
			}
			metric, focus := pair(t, c.pair)
			plan, err := load(t, text).Compile(metric, focus, newTarget())
			switch {
			case err != nil && !strings.Contains(err.Error(), c.want), err == nil && plan.String() != c.want[1:]:
				t.Errorf("got %v %v, want %s", err, plan, c.want)
			}
		})
	}
}

// TestSinceAttach: a gauge of which only changes are seen says so.
func TestSinceAttach(t *testing.T) {
	for code, want := range map[string]bool{
		`base is gauge { append preInsn $start.entry (* m++; m -= 3; *) }`:                                                                          true,
		`base is counter { append preInsn $start.entry (* m += 1; *) }`:                                                                             true,
		`base is gauge { append preInsn $start.entry (* m++; *) append preInsn $start.return (* m = 0; *) }`:                                        false,
		`constraint c /Code is replace gauge { append preInsn $start.entry (* m = 1; *) } base is gauge { append preInsn $start.entry (* m++; *) }`: false,
		`base is kernel("active_threads");`:                                                                                                         false,
	} {
		m, ok := load(t, `metric m { name "m"; `+gaugeHead+code+` }`).Metric("m")
		if !ok || m.SinceAttach != want {
			t.Errorf("%s: since the attach %v, want %v", code, m.SinceAttach, want)
		}
	}
	m, _ := load(t, `metric m { name "m"; `+head+`base is counter { append preInsn $start.entry (* m++; *) } }`).Metric("m")
	if m.SinceAttach {
		t.Error("a counter grows from 0 and says nothing of what was before")
	}
}
