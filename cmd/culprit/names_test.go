package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// mistypedPCL has metrics of names that mean nothing, or nothing that could be told, and one of a name that does.
const mistypedPCL = `
metric handled { name "handled"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	constraint procedureInclusive; base is counter { append preInsn $function("handl").entry constrained (* handled++; *) } }
metric pushed { name "pushed"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { append preInsn $function("push").entry (* pushed++; *) } }
metric doubled { name "doubled"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { append preInsn $function("twice").entry (* doubled++; *) } }
metric reallyHandled { name "really_handled"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	constraint procedureInclusive; base is counter { append preInsn $function("handle").entry constrained (* reallyHandled++; *) } }
hypothesis HandlesTooMuch { test handled > 5; refine { Code }; label "x"; explain "y"; }
hypothesis DoublesTooMuch { test doubled / max(really_handled, 1) > 5; label "x"; explain "y"; }`

// TestWatchedNamesThatMeanNothing: it is said before anything is measured, and the status says that something failed.
func TestWatchedNamesThatMeanNothing(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "daemon/testdata/meant.cc", "-ldl")
	for _, c := range []struct{ watch, want string }{
		{"handled", `culprit: no function matches "handl"; nearest: handle(Job*`},
		{"pushed", `culprit: "push" may be any of app::Pool::push(int), other::Queue::push(int); name one of them; pushed@/ is not measured`},
		{"doubled", `culprit: no function matches "twice": it is inlined everywhere (in 2 places)`},
		{"procedure_calls@/Code/meant.cc/handl", `culprit: refused at /Code/meant.cc/handl: the target has no such function; nearest: handle(Job*`},
		{"procedure_calls@/Code/ment.cc", `culprit: refused at /Code/ment.cc: the target has no such module; nearest: meant.cc; procedure_calls@/Code/ment.cc is not measured`},
	} {
		p := testprog.StartTarget(t, bin)
		r := culprit(t, "attach", "--quiet", "--no-search", "--pcl", pclFile(t, mistypedPCL), "--watch", c.watch, "--for", "1s", fmt.Sprint(p.PID)).want(exitFailed)
		if first, _, _ := strings.Cut(r.errOut.String(), "\n"); !strings.Contains(first, c.want) {
			t.Errorf("%s: the first line is %q, want %q", c.watch, first, c.want)
		}
		r.has(&r.out, ": not measured: ")
		untouched(t, p)
	}
	p := testprog.StartTarget(t, bin)
	culprit(t, "attach", "--quiet", "--no-search", "--pcl", pclFile(t, mistypedPCL), "--watch", "really_handled", "--for", "1s", fmt.Sprint(p.PID)).want(exitNothing)
	untouched(t, p)
	r := culprit(t, "run", "--no-search", "--pcl", pclFile(t, mistypedPCL), "--watch", "handled", "--for", "1s", "--", demoProgram(t, "cpu.c"))
	r.want(exitFailed)
	if first, _, _ := strings.Cut(r.errOut.String(), "\n"); !strings.Contains(first, `no function matches "handl"`) {
		t.Errorf("run: the first line is %q", first)
	}
}

// TestHypothesesOnNothing: a hypothesis on such a metric is not measurable, and is not among those that were ruled out.
func TestHypothesesOnNothing(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/meant.cc", "-ldl"))
	r := culprit(t, "attach", "--quiet", "--pcl", pclFile(t, mistypedPCL), "--for", "6s", fmt.Sprint(p.PID)).want(exitUnknown)
	answer, untested, _ := strings.Cut(r.out.String(), "\nNot concluded")
	for hypothesis, why := range map[string]string{"HandlesTooMuch": `no function matches "handl"; nearest: handle(Job*`, "DoublesTooMuch": `no function matches "twice": it is inlined everywhere`} {
		if !strings.Contains(untested, "  "+hypothesis+": not measurable: "+why) || strings.Contains(answer, "  "+hypothesis+":") {
			t.Errorf("%s:\n%s", hypothesis, r.out.String())
		}
	}
	untouched(t, p)
}

// TestAssertOnNothing: an expectation on such a metric is unknown, with the nearest names.
func TestAssertOnNothing(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/meant.cc", "-ldl"))
	c := culprit(t, "assert", "--for", "1s", "--pcl", pclFile(t, mistypedPCL), "-e",
		`expect E { handled < 5; not handled > 5; not HandlesTooMuch; pushed < 5; doubled < 5; really_handled < 5; handled < 5 at "/Code/meant.cc/main"; }`, fmt.Sprint(p.PID)).want(exitFailed)
	c.has(&c.out, "1 held, 0 failed, 6 could not be measured").has(&c.out, `UNKNOWN E: handled < 5: it could not be measured: no function matches "handl"; nearest: handle(Job*`)
	c.has(&c.out, `UNKNOWN E: not HandlesTooMuch: it could not be measured: no function matches "handl"`).has(&c.out, `UNKNOWN E: pushed < 5: it could not be measured: "push" may be any of`)
	c.has(&c.out, "UNKNOWN E: doubled < 5: it could not be measured: no function matches \"twice\": it is inlined everywhere").has(&c.out, "ok      E: really_handled < 5: ")
	untouched(t, p)
}

// TestWatchedNamesThatComeLater: a function of a library that is loaded later is told of, and measured from then on.
func TestWatchedNamesThatComeLater(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, "testdata/targets/plugin.c", "-shared", "-fPIC")
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/dlopener.c"), plugin, "50", "1")
	r := culprit(t, "attach", "--no-search", "--for", "6s", "--watch", "plugged", "--pcl", pclFile(t, `
metric plugged { name "plugged"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { append preInsn $function("plugin_work").entry (* plugged++; *) } }`), fmt.Sprint(p.PID))
	time.Sleep(2 * time.Second)
	p.Say(t, "hold")
	r.want(exitNothing).has(&r.errOut, `no function matches "plugin_work"`).has(&r.out, "plugged@/: sum ")
	if strings.Contains(r.out.String(), "plugged@/: sum 0,") {
		t.Errorf("what came later was not measured:\n%s%s", r.out.String(), r.errOut.String())
	}
	p.Say(t, "release")
	untouched(t, p)
}

// TestInlinedBesides: where a function that is counted is inlined besides it is said wherever its value is shown.
func TestInlinedBesides(t *testing.T) {
	t.Parallel()
	const note = "warning: twice is inlined at 2 places: those calls are not counted"
	metric := `metric twos { name "twos"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test."; base is counter { append preInsn $function("twice").entry (* twos++; *) } }`
	bin := testprog.Build(t, "daemon/testdata/inlinedtoo.c", "-O2")
	p := testprog.StartTarget(t, bin)
	r := culprit(t, "attach", "--quiet", "--no-search", "--pcl", pclFile(t, metric), "--watch", "twos", "--watch", "cpu", "--for", "1s", fmt.Sprint(p.PID)).want(exitNothing)
	r.has(&r.out, "    "+note)
	if strings.Count(r.out.String(), "warning") != 1 {
		t.Errorf("warnings of a metric of no function:\n%s", r.out.String())
	}
	r = culprit(t, "assert", "--quiet", "--pcl", pclFile(t, metric), "-e", "expect E { twos < 5; }", "--for", "1s", fmt.Sprint(p.PID)).want(exitNothing)
	r.has(&r.out, "ok      E: twos < 5").has(&r.errOut, "culprit: warning: twos@/: twice is inlined at 2 places: those calls are not counted")
	r = culprit(t, "attach", "--quiet", "--pcl", pclFile(t, metric+` hypothesis ManyTwos { test twos > 5; label "x"; explain "y"; }`), "--for", "6s", fmt.Sprint(p.PID)).want(exitNothing)
	r.has(&r.out, "sure); "+note)
	untouched(t, p)
	test := filepath.Join(t.TempDir(), "besides.pcltest")
	if err := os.WriteFile(test, []byte("pcl\n    "+metric+"\n\ntest besides\nstart "+bin+"\nawait line ^READY\nmeasure\nsay go\nawait line ^DONE\nexpect twos is 0\nsay quit\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = culprit(t, "pcl", "test", test).want(exitNothing)
	r.has(&r.out, note)
}

// TestBottleneckHasItsWarning: what the value of a bottleneck does not tell of stands below it, and in the report.
func TestBottleneckHasItsWarning(t *testing.T) {
	const note = "grind is inlined at 1 place: those calls are not counted"
	p := testprog.StartTarget(t, testprog.Build(t, "cmd/culprit/testdata/inlinedhot.c", "-O2"))
	p.Say(t, "go")
	c := culprit(t, "attach", "--quiet", "--for", "8s", "--json", "@REPORT", fmt.Sprint(p.PID)).want(exitBottleneck)
	c.has(&c.out, "\n   warning: "+note+"\n")
	r := c.read()
	if len(r.Bottlenecks) == 0 || !strings.Contains(r.Bottlenecks[0].Sentence, "grind") {
		t.Fatalf("%+v", r.Bottlenecks)
	}
	for _, n := range r.Nodes {
		if n.ID == r.Bottlenecks[0].Node && n.Note != note {
			t.Errorf("%+v", n)
		}
	}
	untouched(t, p)
}
