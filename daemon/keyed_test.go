package daemon

import (
	"errors"
	"slices"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// byNothing counts in functions that no program has; byStripe counts two for each call of a function, by its argument.
const (
	byNothing = `resourceList none_such is procedure { items { "no_program_has_this" }; flavor { any }; library true; }
		metric byNothing { name "by_nothing"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; counter lock;
		constraint eachMutex; base is counter by lock { foreach f in none_such append preInsn f.entry (* lock = $arg[0]; byNothing++; *) } }`
	byStripe = `metric byStripe { name "by_stripe"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; counter at;
		constraint eachMutex; base is counter by at { append preInsn $function("touch").entry (* at = $arg[0]; byStripe += 2; *) } }`
)

// TestKeysThatCannotBe: what could never be counted is refused and leaves nothing behind, neither a pair nor a probe.
func TestKeysThatCannotBe(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/stripes.c"), "10", "2")
	d := attachWith(t, byNothing, p.PID)
	var s sums
	for _, c := range []struct {
		metric, focus string
		is            func(error) bool
	}{
		{"by_nothing", "/", func(err error) bool { var u grid.ErrUnsupported; return errors.As(err, &u) }},
		{"by_nothing", "/SyncObject/Mutex/table.lock", func(err error) bool { var u grid.ErrUnsupported; return errors.As(err, &u) }},
		{"lock_acquisitions", "/SyncObject/Mutex/no such lock", func(err error) bool { return err != nil }},
		{"lock_acquisitions", "/Code/stripes.c/no_function,/SyncObject/Mutex/table.lock", func(err error) bool { return err != nil }},
	} {
		r := d.Enable([]grid.PairKey{key(t, c.metric, c.focus)}, &s)
		if t.Logf("%s at %s: %v", c.metric, c.focus, r[0].Err); !c.is(r[0].Err) {
			t.Errorf("%s at %s: %v", c.metric, c.focus, r[0].Err)
		}
	}
	d.Settle()
	if len(d.pairs) != 0 || d.Probes().Left != 0 {
		t.Errorf("%d pairs and %d probes are left", len(d.pairs), d.Probes().Left)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestKeysComeAndGo: pairs that choose a key share one that serves them, which begins with the first of them and ends with the last;
// each counts from when it was enabled, and asking the price of one more says that it is for nothing.
func TestKeysComeAndGo(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/stripes.c"), "100", "2")
	d := attachWith(t, byStripe, p.PID)
	at := func(n string) grid.PairKey { return key(t, "by_stripe", "/SyncObject/Mutex/table.stripes["+n+"].lock") }
	var s sums
	first := at("3")
	enableSoon(t, d, &s, []grid.PairKey{first})
	one := d.Probes().Inserted
	prices, errs := d.Price([]grid.PairKey{at("4")})
	if errs[0] != nil || prices[0].Fraction != 0 {
		t.Errorf("one more costs %+v, %v", prices[0], errs[0])
	}
	enableSoon(t, d, &s, []grid.PairKey{at("4"), at("5")})
	if more := d.Probes().Inserted - one; more != 0 || len(d.pairs) != 4 {
		t.Errorf("two more made %d probes, %d pairs", more, len(d.pairs))
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", 10*time.Second)
	spare := append(make([]grid.PairKey, 0, 8), first, at("4"))
	d.Disable(spare)
	if tail := spare[:8]; slices.ContainsFunc(tail[2:], func(k grid.PairKey) bool { return k != grid.PairKey{} }) {
		t.Error("the list of the caller was written to")
	}
	late := at("6")
	enableSoon(t, d, &s, []grid.PairKey{late})
	d.Disable([]grid.PairKey{at("5"), late})
	if len(d.pairs) != 0 {
		t.Errorf("%d pairs are left", len(d.pairs))
	}
	for _, c := range []struct {
		k    grid.PairKey
		want float64
	}{{first, 40}, {at("5"), 40}, {late, 0}} {
		if got := s.of(c.k); got != c.want {
			t.Errorf("%v: %v, want %v", c.k, got, c.want)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
