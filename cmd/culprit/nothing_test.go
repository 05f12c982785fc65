package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestNoSearch: a session without a search does not say that nothing was found.
func TestNoSearch(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", fmt.Sprint(p.PID), "--quiet", "--no-search", "--for", "1s", "--json", "@REPORT", "--watch", "procedure_calls@/Code/mutex.c/lookup").want(exitNothing)
	c.has(&c.out, "No search was made (--no-search).")
	if strings.Contains(c.out.String(), "No bottleneck found") {
		t.Errorf("%s", c.story())
	}
	if r := c.read(); !r.NotSearched || len(r.Pairs) != 1 || r.Pairs[0].Sum == 0 {
		t.Errorf("%+v", r.Pairs)
	}
	untouched(t, p)
}

// TestNothingMatches: foci and callees say what is similar to what is not there, with the status of a failure.
func TestNothingMatches(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	pid := fmt.Sprint(p.PID)
	c := culprit(t, "foci", pid, "lokup").want(exitFailed)
	c.has(&c.errOut, `nothing in the process matches "lokup" (did you mean "lookup"?)`)
	if c.out.Len() > 0 {
		t.Errorf("%s", c.story())
	}
	c = culprit(t, "foci", pid, "lokup", "--json").want(exitFailed)
	if !bytes.Equal(bytes.TrimSpace(c.out.Bytes()), []byte("[]")) {
		t.Errorf("%s", c.story())
	}
	culprit(t, "foci", pid, "lookup").want(exitNothing)
	for name, near := range map[string]string{"mutx.c/lookup": "mutex.c/lookup", "libc.so.6/lookup": "mutex.c/lookup", "mutex.c/lokup": "mutex.c/lookup"} {
		c := culprit(t, "callees", pid, name).want(exitFailed)
		c.has(&c.errOut, fmt.Sprintf("did you mean %q?", near))
	}
	c = culprit(t, "callees", pid, "lokup").want(exitFailed)
	c.has(&c.errOut, `no function matches "lokup"; nearest: lookup`)
	by := map[string]string{}
	for _, name := range []string{"lookup", "mutex.c/lookup", "/Code/mutex.c/lookup"} {
		by[name] = culprit(t, "callees", pid, name, "--time", "50ms").want(exitNothing).out.String()
	}
	if all := slices.Compact(slices.Collect(maps.Values(by))); len(all) != 1 || all[0] == "" {
		t.Errorf("the same function in three ways: %q", by)
	}
	untouched(t, p)
}

// TestStars: a star stands for the loops of a function too, and one that stands for nothing of the code, or only for what is missing, is a failure
// like a pair that is. None of the objects that a star stands for need be there.
func TestStars(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	pid := fmt.Sprint(p.PID)
	parts := pclFile(t, `hierarchy Parts { item "some" is { "/Code/mutex.c/lookup", "/Code/mutex.c/lokup" }; item "gone" is { "/Code/mutex.c/srve" }; }
hierarchy Gone { item "gone" is { "/Code/mutx.c" }; }`)
	c := culprit(t, "foci", pid, "/Code/mutex.c/compute/*").want(exitNothing)
	c.has(&c.out, "/Code/mutex.c/compute/loop_1\n").has(&c.out, "/Code/mutex.c/compute/loop_1.1\n")
	for _, one := range []struct {
		watch, want string
		status      int
	}{
		{"procedure_calls@/Code/mutex.c/*", "procedure_calls@/Code/mutex.c/lookup: sum", exitNothing},
		{"exec_time_inclusive@/Code/mutex.c/compute/*", "exec_time_inclusive@/Code/mutex.c/compute/loop_1: sum", exitNothing},
		{"exec_time_inclusive@/Code/mutex.c/serve/*", "exec_time_inclusive@/Code/mutex.c/serve/*: not measured: nothing had been found below it when the measurement ended", exitFailed},
		{"procedure_calls@/Code/mutx.c/*", "not measured: nothing had been found below it when the measurement ended: the target has no module \"mutx.c\" (did you mean \"mutex.c\"?)", exitFailed},
		{"procedure_calls@/Parts/*", "procedure_calls@/Parts/some: sum", exitNothing},
		{"procedure_calls@/Parts/gone", "not measured: refused at /Parts/gone: the target has nothing of what it stands for: /Code/mutex.c/srve (nearest: serve", exitFailed},
		{"procedure_calls@/Gone/*", "not measured: refused at /Gone/gone: the target has nothing of what it stands for: /Code/mutx.c (nearest: mutex.c)", exitFailed},
		{"procedure_calls@/Process/mutex", "there is mutex{" + pid + "}", exitFailed},
		{"procedure_calls@/Process/mutex{" + pid + "}/thr_1", "no live thread \"thr_1\" of mutex{" + pid + "} is measured here; there is thr_", exitFailed},
		{"io_wait@/IO/Socket/*", "io_wait@/IO/Socket/*: not measured: nothing had been found below it when the measurement ended", exitNothing},
	} {
		c := culprit(t, "attach", pid, "--quiet", "--no-search", "--for", "1500ms", "--pcl", parts, "--watch", one.watch).want(one.status)
		c.has(&c.out, one.want)
	}
	untouched(t, p)
}

// TestStarOfLocks: a star of locks of a metric that tells them apart finds those that nobody waits for, since its own probes do.
func TestStarOfLocks(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c", "1")
	pid := fmt.Sprint(p.PID)
	for _, star := range []string{"/SyncObject/Mutex/*", "/SyncObject/*"} {
		c := culprit(t, "attach", pid, "--quiet", "--no-search", "--for", "2s", "--json", "@REPORT", "--watch", "lock_acquisitions@"+star).want(exitNothing)
		want := "lock_acquisitions@/SyncObject/Mutex"
		if strings.Contains(star, "Mutex") {
			want += "/cache_lock"
		}
		c.has(&c.out, want+": sum ")
		for _, pair := range c.read().Pairs {
			if len(pair.Focus) == 0 {
				t.Errorf("a pair that nobody asked for: %+v", pair)
			}
		}
	}
	c := culprit(t, "attach", pid, "--quiet", "--no-search", "--for", "1s", "--watch", "lock_hold@/SyncObject/Mutex/*").want(exitNothing)
	c.has(&c.out, "nothing had been found below it when the measurement ended: no thread was seen waiting for one; --watch lock_acquisitions beside it")
	untouched(t, p)
}

// TestAssertOnMixedThreads: where threads go on with the value that others left, nothing is concluded from it. A sum of changes is right.
func TestAssertOnMixedThreads(t *testing.T) {
	t.Parallel()
	text := ""
	for _, operator := range []string{"sum", "max"} {
		text += fmt.Sprintf(`metric %[1]sOf { name "%[1]s_of"; units x; aggregateOperator %[1]s; style SampledFunction; doc "Of a test.";
	base is counter { append preInsn $function("work").entry (* %[1]sOf++; *) } }
`, operator)
	}
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/oneafteranother.c"))
	c := culprit(t, "assert", "--for", "4s", "--pcl", pclFile(t, text), "-e", "expect E { max_of < 1000000; sum_of < 1000000; }", fmt.Sprint(p.PID))
	c.awaitPatched(p.PID)
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	c.want(exitFailed).has(&c.out, "UNKNOWN E: max_of < 1000000: it could not be measured: threads may have begun in the memory of ones that ended")
	c.has(&c.out, "ok      E: sum_of < 1000000: ")
	p.Stop(t)
}

// TestHelpOfNoCommand: who asks for help of a command that there is not is told so, besides the help of what is above it.
func TestHelpOfNoCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ words, says string }{
		{"watch --help", `there is no command "watch"`},
		{"pcl chek -h", `there is no command "pcl chek"; did you mean pcl check?`},
		{"pcl check --help", ""},
		{"--help", ""},
	} {
		r := culprit(t, strings.Fields(c.words)...).want(exitNothing)
		if r.has(&r.out, "Usage:"); c.says == "" && r.errOut.Len() > 0 {
			t.Errorf("%s", r.story())
		}
		r.has(&r.errOut, c.says)
	}
	r := culprit(t, "help", "foo").want(exitUsage)
	r.has(&r.errOut, `there is no command "foo"`)
	r = culprit(t, "why-not", "25755").want(exitUsage)
	r.has(&r.errOut, "culprit why-not needs a focus that begins with a slash")
}
