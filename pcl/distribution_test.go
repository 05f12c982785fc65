package pcl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// histogramCases: items of a metric m behind its name, and the plan of it or what the error says.
var histogramCases = []struct{ name, items, pair, want string }{
	{"a timer", head + `base is histogram(wallTimer) { append preInsn $start.entry (* startWallTimer(m); *) prepend preInsn $start.return (* stopWallTimer(m); *) }`, "m", `
m@/: histogram(wallTimer)
  wallTimer m
  append preInsn 1.entry { timerEnter m }
  prepend preInsn 1.return { timerLeave m }
`},
	{"processor time under a flag", head + `constraint procedureInclusive; base is histogram(processTimer) {
		append preInsn $exit.entry constrained (* startProcessTimer(m); *) prepend preInsn $exit.return constrained (* stopProcessTimer(m); *) }`, "m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: histogram(processTimer)
  processTimer m
  counter procedureInclusive
  append preInsn 11.entry { enter procedureInclusive }
  prepend preInsn 11.return { leave procedureInclusive }
  append preInsn 40.entry if procedureInclusive { timerEnter m }
  prepend preInsn 40.return if procedureInclusive { timerLeave m }
`},
	{"values that are added", head + `counter n; base is histogram(counter) { append preInsn $start.entry (* n = $arg[2]; *)
		append preInsn $start.return (* if ($return > 0) m += $return; if (n > 3) m -= n; n++; *) }`, "m", `
m@/: histogram(counter)
  counter m
  counter n
  append preInsn 1.entry { n = $arg[2] }
  append preInsn 1.return { if ($return > 0) m += $return; if (n > 3) m += -n; n += 1 }
`},
	{"a replacement that has one too", head + `constraint r /Code/* is replace histogram(counter) { append preInsn $constraint[0].entry (* m += $arg[0]; *) } base is histogram(counter) { }`,
		"m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: histogram(counter)
  counter m
  append preInsn 11.entry { m += $arg[0] }
`},
	{"a condition on an argument", head + `base is histogram(wallTimer) { append preInsn $start.entry (* if ($arg[1] > 1000) startWallTimer(m); *)
		prepend preInsn $start.return (* stopWallTimer(m); *) }`, "m", `
m@/: histogram(wallTimer)
  wallTimer m
  append preInsn 1.entry { if ($arg[1] > 1000) timerEnter m }
  prepend preInsn 1.return { timerLeave m }
`},
	{"counting events", head + `base is histogram(counter) { append preInsn $start.entry (* m++; *) }`, "", "expected m += VALUE: of values that are all 1 there is no distribution"},
	{"assigning", head + `base is histogram(counter) { append preInsn $start.entry (* m = $arg[0]; *) }`, "", "found an assignment to m, whose base is a histogram, expected m += VALUE"},
	{"adding to a timer", head + `base is histogram(wallTimer) { append preInsn $start.entry (* m += 1; *) }`, "", "found an assignment to the timer m"},
	{"the other clock", head + `base is histogram(wallTimer) { append preInsn $start.entry (* startProcessTimer(m); *) }`, "", "found startProcessTimer for a base of kind wallTimer"},
	{"of a flag", head + `constraint f /Code/* is histogram(counter) { append preInsn $constraint[0].entry (* f = 1; *) } base is counter { }`, "", `found "histogram", expected "counter"`},
	{"of what has none", head + `base is histogram(void) { }`, "", `expected "wallTimer"`},
	{"of the kernel", head + `base is histogram("off_cpu") { }`, "", `expected "wallTimer"`},
	{"a replacement without", head + `constraint r /Code/* is replace wallTimer { } base is histogram(wallTimer) { }`, "",
		"found wallTimer in the replacement r of a base of kind histogram(wallTimer), expected both or neither to be a histogram"},
	{"a replacement with", head + `constraint r /Code/* is replace histogram(counter) { } base is counter { }`, "",
		"found histogram(counter) in the replacement r of a base of kind counter"},
	{"a value that holds", `units x; aggregateOperator sum; style SampledFunction; base is histogram(counter) { }`, "", "its base is a histogram; found style SampledFunction, expected EventCounter"},
	{"another aggregate", `units x; aggregateOperator max; style EventCounter; base is histogram(counter) { }`, "", "found aggregateOperator max, expected sum"},
	{"idle time", head + `parked excluded; base is histogram(wallTimer) { }`, "", "found parked excluded, expected none"},
}

func TestHistogramBases(t *testing.T) {
	for _, c := range histogramCases {
		t.Run(c.name, func(t *testing.T) {
			text := `metric m { name "m"; ` + c.items + ` }`
			if !strings.HasPrefix(c.want, "\n") {
				_, problems, err := Load(Options{Texts: []string{text}})
				if err != nil || len(problems) == 0 || !strings.Contains(problems[0].Detail(), c.want) {
					t.Errorf("got %v %v, want %q", err, problems, c.want)
				}
				return
			}
			metric, focus := pair(t, c.pair)
			lib := load(t, text)
			plan, err := lib.Compile(metric, focus, newTarget())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want[1:], plan.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if m, _ := lib.Metric("m"); m.Values == "" || !plan.Distribution {
				t.Errorf("the metric has no distribution: %+v", m)
			}
		})
	}
}

// TestUnitOfValues: times are told in seconds, what is added in the metric's own unit.
func TestUnitOfValues(t *testing.T) {
	for _, c := range []struct{ units, kind, want string }{
		{`"s/s"`, "histogram(wallTimer)", "s"}, {"CPUs", "histogram(processTimer)", "s"}, {"B", "histogram(counter)", "B"},
		{`"B/s"`, "histogram(counter)", "B"}, {"B", "counter", ""}, {`"s/s"`, "wallTimer", ""},
	} {
		lib, problems, err := Load(Options{Texts: []string{`metric m { name "m"; units ` + c.units + `; aggregateOperator sum; style EventCounter; base is ` + c.kind + ` { } }`}})
		if err != nil || len(problems) > 0 {
			t.Errorf("%v: %v %v", c, err, problems)
			continue
		}
		if m, _ := lib.Metric("m"); m.Values != c.want {
			t.Errorf("%s in %s: values in %q, want %q", c.kind, c.units, m.Values, c.want)
		}
	}
	if doc := load(t, `metric m { name "m"; `+head+` base is histogram(processTimer) { } }`).Doc(); !strings.Contains(doc, "Counted by: histogram(processTimer).") {
		t.Error("the reference does not say that the metric has a distribution")
	}
}
