package peer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon"
	"culprit/internal/testprog"
)

// A list of functions in PCL.
func list(name string, items ...string) string {
	return "resourceList " + name + " is procedure { items { " + strings.Join(items, ", ") + " }; }"
}

// timer is a metric that times all functions of a list, wall clock or processor time.
func timer(kind, name, list string) string {
	word := map[string]string{"wallTimer": "WallTimer", "processTimer": "ProcessTimer"}[kind]
	return define(kind, name, nil, []string{"foreach f in " + list + " {", "append preInsn f.entry (* start" + word + "(" + name + "); *)",
		"prepend preInsn f.return (* stop" + word + "(" + name + "); *)", "}"})
}

// registersAroundHeavyCode: there, a call with arguments of its own must leave the function's registers alone. The heaviest
// code that a probe has reads clocks, one by a system call. A program that looks at every register, the flags, the vector
// registers and the red zone, at functions that change none, in three threads and below a storm of signals, sees nothing.
func registersAroundHeavyCode(t *testing.T) {
	p, bin := begin(t, "selfcheck.c")
	s := measure(t, daemon.Options{}, []string{list("leaves", `glob "leaf_*"`, `"through_c"`, `"takes_many"`, `"variadic"`, `"returns_pair"`, `"returns_x87"`, `"on_signal"`),
		timer("wallTimer", "wall", "leaves"), timer("processTimer", "cpu_time", "leaves"),
		list("plain", `glob "leaf_*"`), list("others", `"through_c"`, `"takes_many"`, `"variadic"`, `"returns_pair"`, `"returns_x87"`, `"on_signal"`),
		metric("sum", []string{"kept"}, "foreach f in plain {", "append preInsn f.entry (* kept = ((long)$arg[0] + (long)$arg[1]) * ((long)$arg[2] - (long)$arg[3]) + (long)$arg[4] * (long)$arg[5]; sum += 1; *)",
			"prepend preInsn f.return (* if (($return + kept) * 3 == $return * 3 + kept * 3) sum += 1; *)", "}"),
		metric("more", []string{"had"}, "foreach f in others {", "append preInsn f.entry (* had = (had + 3) * (had - 7) + 5 * had; more += 1; *)",
			"prepend preInsn f.return (* if ((had + 5) * 3 == had * 3 + 15) more += 1; *)", "}")}, p.PID)
	s.enable("wall", "cpu_time", "sum", "more")
	time.Sleep(time.Duration(rounds(500, 60_000)) * time.Millisecond)
	s.disable()
	if s.value("sum") < 10_000 || s.value("more") < 100 || s.value("wall") <= 0 || s.value("cpu_time") <= 0 {
		t.Errorf("%v passes, %v s, %v s of processor time", s.value("sum"), s.value("wall"), s.value("cpu_time"))
	}
	t.Logf("%.0f passes, %.3f s on the wall, %.3f s of processor time; left out: %v", s.value("sum"), s.value("wall"), s.value("cpu_time"), s.d.Probes().Refused)
	s.detach(p.PID)
	got := p.Stop(t)
	alone := testprog.StartTarget(t, bin)
	alone.Say(t, "go")
	if want := alone.Stop(t); got != want {
		t.Errorf("the program computed %s, undisturbed %s", got, want)
	}
}

// entryExitAndCall: code at a function's entry, before a call in it, inside of what is called, behind the call and at the
// exit runs in this order, each time.
func entryExitAndCall(t *testing.T) {
	s := attach(t, "peer.c", metric("inorder", []string{"at"}, at("outer", "entry", "at = 1;"),
		`foreach c in $function("outer").calls { append preInsn c (* if (at == 1) at = 2; *) prepend postInsn c (* if (at == 4) at = 5; *) }`,
		at("inner", "entry", "if (at == 2) at = 3;"), `prepend preInsn $function("inner").return (* if (at == 3) at = 4; *)`,
		`prepend preInsn $function("outer").return (* if (at == 5) inorder++; *)`))
	s.enable("inorder")
	n := s.run("outer", rounds(100_000, 10_000_000))["outer"]
	s.disable()
	s.want("inorder", n)
	s.end()
}

// behind counts at all places where the calls of a function come back to.
func behind(name, function string) string {
	return metric(name, nil, `foreach c in $function("`+function+`").calls append postInsn c (* `+name+`++; *)`)
}

// callsOnAndOff: there, calls are replaced by others and removed. Who measures must not do that: a call leads where it did, and
// what is put at its place and taken away again is a counter. All three calls of a function are instrumented before and behind, in
// and out, and each callee is called each time; two of the calls follow each other without an instruction between them. Where a
// branch leads to the place behind a call, counting there is refused, since it would count what did not return.
func callsOnAndOff(t *testing.T) {
	s := attach(t, "peer.c", metric("before", nil, `foreach c in $function("caller").calls append preInsn c (* before++; *)`),
		behind("behind", "caller"), behind("perhaps", "maybe"))
	counted := 0.0
	const calls = 1000
	for range 20 {
		s.enable("before", "behind")
		grown := s.run("caller", calls)
		s.disable()
		for k, v := range s.run("caller", calls) {
			grown[k] += v
		}
		s.d.Settle()
		for k, v := range s.run("caller", calls) {
			grown[k] += v
		}
		counted += 3 * calls
		for _, callee := range []string{"callee_a", "callee_b", "callee_c"} {
			if grown[callee] != 3*calls {
				t.Fatalf("%s was called %.0f times in %d calls of its caller", callee, grown[callee], 3*calls)
			}
		}
	}
	s.want("before", counted)
	s.want("behind", counted)
	s.refuses("perhaps", "a branch leads there too")
	s.enable("exec_time@/Code/peer.c/maybe", "exec_time_inclusive@/Code/peer.c/maybe")
	start := time.Now()
	s.run("maybe", 100_000)
	took := time.Since(start).Seconds()
	s.disable()
	own, in := s.value("exec_time@/Code/peer.c/maybe"), s.value("exec_time_inclusive@/Code/peer.c/maybe")
	if own <= 0 || in <= 0 || max(own, in) > took { // so short that the probes' own time is most of it
		t.Errorf("%.4f s in maybe itself, %.4f s with what it calls, in %.4f s", own, in, took)
	}
	s.end()
}

// returnValues: code at exits changes no result, in whichever register or memory it comes back: the callers look.
func returnValues(t *testing.T) {
	s := attach(t, "peer.c", list("ways", `glob "returns_*"`), list("numbers", `"returns_bool"`, `"returns_int"`), timer("wallTimer", "wall", "ways"), timer("processTimer", "cpu_time", "ways"),
		metric("exits", []string{"kept"}, "foreach f in ways prepend preInsn f.return (* kept = kept * 3 - 1; exits++; *)"),
		metric("whole", []string{"had"}, "foreach f in numbers prepend preInsn f.return (* had = $return * 3 - 1; if (had == $return * 3 - 1) whole++; *)"))
	s.enable("wall", "cpu_time", "exits", "whole")
	n := s.run("returns", rounds(20_000, 2_000_000))["returns"]
	s.disable()
	s.want("exits", n)
	s.want("whole", 2*n/7)
	if refused := s.d.Probes().Refused; len(refused) > 0 {
		t.Errorf("not instrumented: %v", refused)
	}
	s.end()
}

// guardedBaseTrampoline: there, inserted code that calls an instrumented function must not set off what is inserted there.
// Probes of culprit make no calls. The timers read a clock of the kernel all the time; a counter at the C library's function
// that reads the same clock sees the calls that the program makes, and no other.
func guardedBaseTrampoline(t *testing.T) {
	clocks := define("counter", "clocks", []string{"constraint procedureInclusive"},
		[]string{`append preInsn $function("clock_gettime").entry constrained (* clocks++; *)`})
	reads := list("readers", `"clock_gettime"`)
	s := attach(t, "peer.c", clocks, reads, timer("processTimer", "cpu_of_clock", "readers"))
	s.enable("clocks@/Code/peer.c/timed", "cpu_of_clock", "cpu@/Code/peer.c/timed", "cpu_inclusive@/Code/peer.c/timed",
		"exec_time@/Code/peer.c/timed", "exec_time_inclusive@/Code/peer.c/timed")
	n := s.run("timed", rounds(20_000, 1_000_000))["clocks"]
	s.disable()
	s.want("clocks@/Code/peer.c/timed", n)
	s.end()
}

// recursiveBaseTrampoline: there, with the guard off, inserted code sets off what is inserted in what it calls. Here two
// functions call each other in turn: each pass at each depth counts, a constraint that an outer activation has set holds for
// the inner ones, and a timer runs once, however deep.
func recursiveBaseTrampoline(t *testing.T) {
	below := define("counter", "below", []string{"constraint procedureInclusive"},
		[]string{`append preInsn $function("up").entry constrained (* below++; *)`})
	s := attach(t, "peer.c", below)
	const down, up = "@/Code/peer.c/down", "@/Code/peer.c/up"
	s.enable("procedure_calls"+down, "procedure_calls"+up, "exec_time_inclusive"+down, "exec_time_inclusive"+up, "below"+down)
	start := time.Now()
	n := s.run("down", rounds(100_000, 10_000_000))
	took := time.Since(start).Seconds()
	s.disable()
	s.want("procedure_calls"+down, n["down"])
	s.want("procedure_calls"+up, n["up"])
	s.want("below"+down, n["up"])
	outer, inner := s.value("exec_time_inclusive"+down), s.value("exec_time_inclusive"+up)
	if outer <= 0 || outer > took || inner <= 0 || inner > outer*1.02 {
		t.Errorf("%.4f s in down, %.4f s in up below it, in %.4f s", outer, inner, took)
	}
	t.Logf("%.4f s in down, %.4f s in up below it, in %.4f s", outer, inner, took)
	s.end()
}

// calleesOfDynamicCalls: there, code at a call through a pointer is told whom it calls. Here each function that may be called is
// counted while the caller is active, so that it is known how often that call led to which, and the call site by itself; and probes at
// the call tell its callees, with nothing known of them before.
func calleesOfDynamicCalls(t *testing.T) {
	callees := []string{"callback_a", "callback_b", "callback_c"}
	texts := []string{metric("site", nil, `foreach c in $function("dynamic").calls append preInsn c (* site++; *)`)}
	pairs := []string{"site"}
	for _, c := range callees {
		texts = append(texts, define("counter", "of_"+c, []string{"constraint procedureInclusive"},
			[]string{fmt.Sprintf("append preInsn $function(%q).entry constrained (* of_%s++; *)", c, c)}))
		pairs = append(pairs, "of_"+c+"@/Code/peer.c/dynamic")
	}
	s := attach(t, "peer.c", texts...)
	s.enable(pairs...)
	n := s.run("dynamic", rounds(100_000, 10_000_000))
	s.disable()
	s.want("site", n["dynamic"])
	for _, c := range callees {
		s.want("of_"+c+"@/Code/peer.c/dynamic", n[c])
	}
	s.seesCallees("dynamic", callees)
	s.end()
}

// seesCallees watches the one indirect call of a function while it runs.
func (s *subject) seesCallees(function string, want []string) {
	s.t.Helper()
	seen := make(chan []string, 1)
	go func() {
		var names []string
		calls, err := s.d.Callees(context.Background(), "peer.c", function, 300*time.Millisecond)
		for _, c := range calls {
			if c.Indirect {
				names = append(names, c.Callees...)
			}
		}
		if err != nil {
			names = []string{err.Error()}
		}
		seen <- names
	}()
	for {
		select {
		case names := <-seen:
			for i, n := range names {
				names[i] = strings.TrimPrefix(n, "peer.c/")
			}
			if !slices.Equal(names, want) {
				s.t.Errorf("%s calls %q, should be %q", function, names, want)
			}
			return
		default:
			s.run(function, 1_000_000) // longer than the time between two looks at it, or these meet its ends only
		}
	}
}
