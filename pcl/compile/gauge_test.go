package compile

import (
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
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
func (t *twin) counts(m *pcl.Metric) pcl.Kind {
	kind := m.Base.Kind
	for _, c := range m.Constraints {
		if elems := t.focus.Elements(c.Hierarchy); c.Replace && len(elems) == len(c.Path)+1 && fits(c.Path, elems) {
			kind = c.Body.Kind
		}
	}
	if kind == pcl.Counter && m.Style == grid.SampledFunction {
		return pcl.ThreadGauge
	}
	return kind
}

func TestGaugeBases(t *testing.T) {
	for _, c := range cases.Gauges {
		t.Run(c.Name, func(t *testing.T) {
			text := `metric m { name "m"; ` + c.Items + ` }`
			if c.Pair == "" {
				_, problems, err := check.Load(check.Options{Texts: []string{text}})
				if err != nil || len(problems) == 0 || !strings.Contains(problems[0].Detail(), c.Want) {
					t.Errorf("got %v %v, want %q", err, problems, c.Want)
				}
				return
			}
			metric, focus := cases.Pair(t, c.Pair)
			plan, err := Plan(cases.Load(t, text), metric, focus, cases.NewTarget())
			switch {
			case err != nil && !strings.Contains(err.Error(), c.Want), err == nil && plan.String() != c.Want[1:]:
				t.Errorf("got %v %v, want %s", err, plan, c.Want)
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
		m, ok := cases.Load(t, `metric m { name "m"; `+cases.GaugeHead+code+` }`).Metric("m")
		if !ok || m.SinceAttach != want {
			t.Errorf("%s: since the attach %v, want %v", code, m.SinceAttach, want)
		}
	}
	m, _ := cases.Load(t, `metric m { name "m"; `+cases.Head+`base is counter { append preInsn $start.entry (* m++; *) } }`).Metric("m")
	if m.SinceAttach {
		t.Error("a counter grows from 0 and says nothing of what was before")
	}
}
