package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestAnotherLibraryAtTheSameAddress instruments two libraries that take each other's place all the time: neither ever gets what
// belongs to the other.
func TestAnotherLibraryAtTheSameAddress(t *testing.T) {
	t.Parallel()
	one := testprog.Build(t, "daemon/testdata/twin.c", "-shared", "-fPIC", "-DTWIN=1")
	two := testprog.Build(t, "daemon/testdata/twin.c", "-shared", "-fPIC", "-DTWIN=2")
	bin := testprog.Build(t, "daemon/testdata/twins.c")
	want := undisturbed(t, bin, one, two)
	p := testprog.StartTarget(t, bin, one, two)
	d := attachTo(t, p.PID)
	var s sums
	in := map[string]int{}
	twins := func(f *program.Function) bool { return strings.HasPrefix(f.Fn.Name, "twin_") }
	for until := time.Now().Add(time.Duration(rounds(1200, 60000)) * time.Millisecond); time.Now().Before(until); {
		d.discover()
		keys := append(functionsOf(d, "procedure_calls", twins), functionsOf(d, "exec_time_inclusive", twins)...)
		for _, r := range d.Enable(keys, &s) {
			if r.Err == nil {
				e := r.Key.Focus.Elements(grid.Code)
				in[e[len(e)-1]]++
			}
		}
		if len(in)%2 == 0 {
			time.Sleep(2 * time.Millisecond)
		}
		d.Disable(keys)
		d.Settle()
		if !p.Alive() {
			t.Fatalf("the target has died: status %d, last lines %q", p.Wait(t, time.Second), last(p.Lines(), 3))
		}
	}
	detachClean(t, d, p.PID)
	got := p.Stop(t)
	if got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
	counts := p.Counts()
	t.Logf("instrumented %v; %d loads, %d of them at the address of the other", in, counts["loads"], counts["at_the_same_address"])
	if counts["at_the_same_address"] < 10 {
		t.Errorf("only %d loads were at the address of the other", counts["at_the_same_address"])
	}
	if in["twin_first"] == 0 || in["twin_third"] == 0 {
		t.Errorf("not both were instrumented: %v", in)
	}
}

// TestCompiledAtRunTime measures a program that writes code, runs it and throws it away: what it calls is counted exactly, with
// frames on the stacks that nobody can unwind, while probes come and go.
func TestCompiledAtRunTime(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/jit.c"))
	d := attachTo(t, p.PID)
	var s sums
	callee := nameOf(t, d, "procedure_calls", "callee")
	d.mustEnable(t, &s, callee)
	p.Say(t, "go")
	times := 0
	others := append(functionsOf(d, "exec_time_inclusive", inMain(d)), functionsOf(d, "exec_time", inMain(d))...)
	for until := time.Now().Add(time.Duration(rounds(700, 60000)) * time.Millisecond); time.Now().Before(until); times++ {
		on := enableAll(t, d, &s, others)
		d.Disable(on)
		d.Settle()
	}
	p.Say(t, "stop")
	p.Expect(t, "DONE", 20*time.Second)
	d.Disable([]grid.PairKey{callee})
	if got, want := uint64(s.of(callee)), p.Counts()["callee"]; got != want || got == 0 {
		t.Errorf("%d calls counted, the program made %d", got, want)
	}
	t.Logf("%d calls from %d functions compiled at run time; probes in and out %d times", p.Counts()["callee"], p.Counts()["compiled"], times)
	detachClean(t, d, p.PID)
	p.Stop(t)
}
