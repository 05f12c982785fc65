package daemon

import (
	"testing"

	"culprit/daemon/image/lazy"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stops"
	"culprit/internal/testprog"
)

// TestNothingIsBuiltInAStop asks in a stop for what is not there: it must not be made while all threads stand still, but afterwards, and the
// stop must be made again.
func TestNothingIsBuiltInAStop(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "1000")
	d := attachTo(t, p.PID)
	built.allow(t)
	d.lockAll()
	tgt := d.targets[0]
	var o *program.Object
	for _, one := range tgt.Objects() {
		if one.Holds(uint64(tgt.Proc.Loader())) {
			o = one
		}
	}
	if o == nil {
		t.Skip("the program has no loader")
	}
	asks := map[string]func() bool{
		"a table of functions": func() bool { return tgt.FunctionAt(o.Text) != nil || len(o.Functions()) > 0 },
		"code that is decoded": func() bool {
			fns := o.Functions()
			if len(fns) == 0 {
				return false
			}
			f := tgt.Func(tgt.Know(o, fns[:1])[0])
			pl := tgt.Plans.Made(f)
			return f.Flow() != nil || pl.Plan() != nil || pl.Reason() != ""
		},
		"where sequences are": func() bool { o.InSequence(0, 1); return o.SequencesRead() },
	}
	for _, what := range []string{"a table of functions", "code that is decoded", "where sequences are"} {
		stops, answered := tgt.Stops.Count(), []bool{}
		err := tgt.Stops.Stop(func(*process.World) error {
			ok := asks[what]()
			answered = append(answered, ok && tgt.Stops.Missing() == nil)
			return tgt.Stops.Missing()
		})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := len(answered); n == 0 || !answered[n-1] {
			t.Errorf("%s: not there in the last of %d stops", what, n)
		}
		t.Logf("%s: %d stops", what, tgt.Stops.Count()-stops)
	}
	if o.Err() != nil {
		t.Error(o.Err())
	}
	d.unlockAll()
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestNoStopIsTriedForEver asks for what never comes.
func TestNoStopIsTriedForEver(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "1000")
	d := attachTo(t, p.PID)
	built.allow(t)
	d.lockAll()
	tgt := d.targets[0]
	before := tgt.Stops.Count()
	err := tgt.Stops.Stop(func(*process.World) error {
		lazy.InStop("what never comes", func() {})
		return tgt.Stops.Missing()
	})
	if n := tgt.Stops.Count() - before; err == nil || n != stops.MostTries {
		t.Errorf("%d stops, then %v", n, err)
	}
	d.unlockAll()
	detachClean(t, d, p.PID)
	p.Stop(t)
}
