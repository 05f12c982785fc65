package daemon

import (
	"errors"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
)

const callMetrics = `
metric sentBytes { name "sent_bytes"; units Bytes; unitsType unnormalized; aggregateOperator sum; style EventCounter; counter bytes;
	base is counter { append preInsn $function("send_message").entry (* type_size($arg[2], &bytes); sentBytes += bytes * $arg[1]; *) } }
metric weighed { name "weighed"; units units; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter {
		append preInsn $function("mix").entry (* weighed += weigh(1, 1, 1, 1, 1, 1); *)
		prepend preInsn $function("mix").return (* weighed += weigh(0, 0, 0, 0, 0, -1) / 2; *)
		append preInsn $function("twist").entry (* spoil(); *)
		prepend preInsn $function("twist").return (* spoil(); *)
		append preInsn $function("wide").entry (* spoil(); *)
		prepend preInsn $function("wide").return (* spoil(); *)
	} }
metric nestedCalls { name "nested_calls"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { append preInsn $function("inner").entry (* if (outer(1) == 4) nestedCalls++; *) } }
metric escapes { name "escapes"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { append preInsn $function("hop").entry (* escapes++; escape(); *) } }
metric naps { name "naps"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { append preInsn $function("visited").entry (* naps += nap(); *) } }
metric unknown { name "unknown_call"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { append preInsn $function("hop").entry (* no_such_function_in_it(); *) } }
metric jumps { name "jump_call"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { append preInsn $function("hop").entry (* _setjmp(0); *) } }
metric resolved { name "resolved_call"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { append preInsn $function("hop").entry (* strlen($arg[0]); *) } }
`

var calledBuilds = map[string][]string{"O2": nil, "O0": {"-O0"}, "nopie": {"-no-pie", "-fno-pie"}}

// TestProbesCallFunctions: probes call functions of the target that spoil whatever they may, from several threads at once; what
// they return is exact, and the program computes what it computes without them.
func TestProbesCallFunctions(t *testing.T) {
	t.Parallel()
	for name, flags := range calledBuilds {
		t.Run(name, func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/called.c", flags...), "4", "20000")
			d := attachWith(t, callMetrics, p.PID)
			bytes, weighed, nested := key(t, "sent_bytes", "/"), key(t, "weighed", "/"), key(t, "nested_calls", "/")
			var s sums
			d.mustEnable(t, &s, bytes, weighed, nested)
			p.Say(t, "go")
			p.Expect(t, "DONE", time.Minute)
			d.Disable([]grid.PairKey{bytes, weighed, nested})
			count := p.Counts()
			// Inside of a call that a probe makes, inner is entered once more and its probe calls nothing: half of what the program
			// counts is its own.
			for _, c := range []struct {
				what string
				key  grid.PairKey
				want float64
			}{{"bytes", bytes, float64(count["bytes"])}, {"weighed", weighed, 47 * float64(count["mixed"])}, {"nested", nested, float64(count["nested"]) / 2}} {
				if got := s.of(c.key); got != c.want || c.want == 0 {
					t.Errorf("%s: %.0f, the program says %.0f", c.what, got, c.want)
				}
			}
			t.Logf("%.0f bytes, %.0f weighed, %.0f nested", s.of(bytes), s.of(weighed), s.of(nested))
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}

// TestCallsThatLeave: a function that a probe calls and that leaves by longjmp does not end the calls of its thread.
func TestCallsThatLeave(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/called.c"), "2", "3000")
	d := attachWith(t, callMetrics, p.PID)
	k := key(t, "escapes", "/")
	var s sums
	d.mustEnable(t, &s, k)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable([]grid.PairKey{k})
	count := p.Counts()
	if got := s.of(k); got != float64(count["jumps"]) || got == 0 || count["hops"] != 0 {
		t.Errorf("%.0f calls that left, %d jumps, %d hops that went on", got, count["jumps"], count["hops"])
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestStacksThroughCalls: a thread that waits in a function that a probe has called is inside the function whose probe it was, and
// whatever called that; and we leave although a thread is nearly always there.
func TestStacksThroughCalls(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/called.c"), "1", "10")
	d := attachWith(t, callMetrics, p.PID)
	naps := key(t, "naps", "/")
	var s sums
	d.mustEnable(t, &s, naps)
	time.Sleep(200 * time.Millisecond)
	m := measure(t, d, time.Second, key(t, "exec_time_inclusive", "/Code/called.c/visit"))
	near(t, "visit", m["exec_time_inclusive@/Code/called.c/visit"], 1, 0.05)
	d.Disable([]grid.PairKey{naps})
	if n := s.of(naps); n < 50 {
		t.Errorf("only %.0f naps", n)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestCallsAreRefused: what cannot be called is said when it is asked for, with the place in the text.
func TestCallsAreRefused(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/called.c"), "1", "10")
	d := attachWith(t, callMetrics, p.PID)
	for metric, want := range map[string]string{"unknown_call": "no function", "jump_call": "cannot be called", "resolved_call": "cannot be called"} {
		var s sums
		r := d.Enable([]grid.PairKey{key(t, metric, "/")}, &s)
		if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), want) || errors.As(r[0].Err, new(*pcl.Unsupported)) {
			t.Errorf("%s: %v, want %q", metric, r[0].Err, want)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
