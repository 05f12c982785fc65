package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/daemon/plans"
	"culprit/daemon/segment"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/session/report"
)

// These tests run culprit as a user would, against real programs.

// A tool is a culprit that runs.
type tool struct {
	t           *testing.T
	cmd         *exec.Cmd
	out, errOut bytes.Buffer
	report      string // path, for --json
	done        chan error
}

// culprit starts the program with arguments; "@REPORT" stands for the path of its report.
func culprit(t *testing.T, args ...string) *tool {
	t.Helper()
	return culpritAs(t, nil, args...)
}

func culpritAs(t *testing.T, attr *syscall.SysProcAttr, args ...string) *tool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &tool{t: t, report: filepath.Join(t.TempDir(), "report.json"), done: make(chan error, 1)}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@REPORT", c.report)
	}
	c.cmd = exec.Command(self, args...)
	c.cmd.SysProcAttr = attr
	c.cmd.Env = append(os.Environ(), beCulprit+"=1", "XDG_CONFIG_HOME="+t.TempDir())
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = &c.out, &c.errOut, time.Second
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.cmd.Wait() }()
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
		}
	})
	return c
}

// patienceOfTests is generous: the machine may be busy.
const patienceOfTests = 60 * time.Second

// status waits for the end and returns the exit status.
func (c *tool) status() int {
	c.t.Helper()
	select {
	case <-c.done:
		c.done <- nil
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(patienceOfTests):
		c.t.Fatalf("culprit did not end: %s", c.story())
	}
	return -1
}

// want fails unless the exit status is one of these.
func (c *tool) want(statuses ...int) *tool {
	c.t.Helper()
	got := c.status()
	for _, s := range statuses {
		if got == s {
			return c
		}
	}
	c.t.Fatalf("exit status %d, want %v\n%s", got, statuses, c.story())
	return c
}

func (c *tool) story() string {
	return fmt.Sprintf("%v\n--- stdout\n%s\n--- stderr\n%s", c.cmd.Args[1:], c.out.String(), c.errOut.String())
}

// has fails unless the text is in the output.
func (c *tool) has(where *bytes.Buffer, text string) *tool {
	c.t.Helper()
	if !strings.Contains(where.String(), text) {
		c.t.Errorf("%q is missing\n%s", text, c.story())
	}
	return c
}

// read reads the report and checks what holds for every one.
func (c *tool) read() *report.Report {
	c.t.Helper()
	b, err := os.ReadFile(c.report)
	if err != nil {
		c.t.Fatalf("%v\n%s", err, c.story())
	}
	return c.parse(b)
}

func (c *tool) parse(b []byte) *report.Report {
	c.t.Helper()
	var r report.Report
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || dec.More() {
		c.t.Fatalf("the report is not one JSON value of the schema: %v\n%s", err, b)
	}
	if r.Schema != 1 || len(r.Targets) == 0 {
		c.t.Errorf("schema %d, %d targets", r.Schema, len(r.Targets))
	}
	if r.ExitStatus != c.cmd.ProcessState.ExitCode() {
		c.t.Errorf("the report says exit status %d, it was %d", r.ExitStatus, c.cmd.ProcessState.ExitCode())
	}
	return &r
}

// awaitProbes waits until something of culprit is in the target.
func (c *tool) awaitProbes(pid int) {
	c.t.Helper()
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, alive, found, err := segment.Owner(pid); err == nil && found && alive {
			return
		}
		if c.cmd.ProcessState != nil {
			break
		}
	}
	c.t.Fatalf("no probes came\n%s", c.story())
}

// untouched fails unless the target goes on and nothing of culprit is in it; then the target checks itself.
func untouched(t *testing.T, p *testprog.Prog) {
	t.Helper()
	culprit(t, "detach", "--verify", fmt.Sprint(p.PID)).want(0)
	c := culprit(t, "detach", "--verify", fmt.Sprint(p.PID)).want(0)
	c.has(&c.out, "0 bytes differ, 0 mappings of ours, TracerPid 0")
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
}

func startTarget(t *testing.T, source string, args ...string) *testprog.Prog {
	t.Helper()
	require.Root(t)
	return testprog.StartTarget(t, build(t, source), args...)
}

func build(t *testing.T, source string) string {
	t.Helper()
	return testprog.Build(t, testprog.Target(t, source))
}

func TestAttachFindsTheLock(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", "--for", "6s", "--json", "@REPORT", fmt.Sprint(p.PID)).want(exitBottleneck)
	r := c.read()
	if !r.RemovedClean || r.Probes.Left != 0 || r.Probes.Inserted == 0 || r.End != "time" || float64(r.Seconds) < 6 {
		t.Errorf("%+v", r)
	}
	found := false
	for _, b := range r.Bottlenecks {
		found = found || strings.Contains(b.Sentence, "cache_lock")
	}
	if !found {
		t.Errorf("cache_lock is not named: %+v", r.Bottlenecks)
	}
	c.has(&c.out, "cache_lock").has(&c.out, "Ruled out:").has(&c.errOut, "+").has(&c.errOut, "ExcessiveSyncWaitingTime")
	untouched(t, p)
}

func TestInterruptRemovesTheProbes(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := startTarget(t, "mutex.c")
		c := culprit(t, "attach", "--no-search", "--watch", "sync_wait_inclusive", "--quiet", "--json", "-", fmt.Sprint(p.PID))
		c.awaitProbes(p.PID)
		time.Sleep(500 * time.Millisecond)
		c.cmd.Process.Signal(sig)
		c.want(exitNothing)
		if r := c.parse(c.out.Bytes()); r.End != "interrupted" || !r.RemovedClean {
			t.Errorf("%v: %+v", sig, r)
		}
		if c.errOut.Len() > 0 {
			t.Errorf("%v: not quiet: %s", sig, c.errOut.String())
		}
		untouched(t, p)
	}
}

// TestSecondInterruptForces: it ends at once, whatever it is doing, and what it leaves can be restored.
func TestSecondInterruptForces(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", fmt.Sprint(p.PID))
	c.awaitProbes(p.PID)
	for c.cmd.Process.Signal(os.Interrupt) == nil { // until it has ended
		time.Sleep(200 * time.Microsecond)
	}
	if s := c.status(); s == exitFailed {
		c.has(&c.errOut, "culprit restore")
	} else if s != exitNothing && s != exitUnknown && s != exitBottleneck { // it may have been faster than the second signal
		t.Errorf("exit status %d\n%s", s, c.story())
	}
	p.MustBeat(t, 10*time.Second)
	untouched(t, p)
}

func TestTargetKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", "--json", "@REPORT", fmt.Sprint(p.PID))
	c.awaitProbes(p.PID)
	time.Sleep(time.Second)
	p.Kill()
	c.want(exitEnded)
	r := c.read()
	if !r.Targets[0].Ended || r.End != "ended" {
		t.Errorf("%+v %q", r.Targets, r.End)
	}
	c.has(&c.out, "it ended")
}

// awaitAllPatched waits until code is changed, and no more of it for half a second.
func (c *tool) awaitAllPatched(pid int) {
	c.t.Helper()
	c.awaitPatched(pid)
	changed, since := 0, time.Now()
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r, err := patch.Verify(pid)
		switch {
		case err != nil:
			c.t.Fatal(err)
		case r.DifferingBytes != changed:
			changed, since = r.DifferingBytes, time.Now()
		case time.Since(since) > 500*time.Millisecond:
			return
		}
	}
	c.t.Fatalf("more and more code is changed: %d bytes\n%s", changed, c.story())
}

// TestTargetKilledWhileProbesAreRemoved: it has ended before the session, though the session was over for another reason first.
func TestTargetKilledWhileProbesAreRemoved(t *testing.T) {
	t.Parallel()
	require.Root(t)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/manypages.c"))
	c := culprit(t, "attach", "--no-tui", "--no-search", "--watch", "procedure_calls@/Code/manypages.c/*", "--json", "@REPORT", fmt.Sprint(p.PID))
	c.awaitAllPatched(p.PID)
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond) // there are thousands to be removed, in a few tens of milliseconds
	p.Kill()
	c.want(exitEnded)
	if r := c.read(); !r.Targets[0].Ended || r.End != "ended" || r.Probes.Left != 0 || r.Probes.Removed >= r.Probes.Inserted {
		t.Errorf("%+v %q %+v", r.Targets, r.End, r.Probes)
	}
	c.has(&c.out, "it ended").has(&c.errOut, "the target has ended")
}

func TestDetachEndsTheOther(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", "--no-search", "--watch", "sync_wait_inclusive", fmt.Sprint(p.PID))
	c.awaitProbes(p.PID)
	busy := culprit(t, "restore", fmt.Sprint(p.PID)).want(exitFailed)
	busy.has(&busy.errOut, "culprit detach")
	culprit(t, "detach", fmt.Sprint(p.PID)).want(0)
	c.want(exitNothing)
	untouched(t, p)
}

// TestDetachEndsOneThatSamples: nothing of it is in the process, and it ends all the same.
func TestDetachEndsOneThatSamples(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", "--backend", "sample", fmt.Sprint(p.PID))
	for end := time.Now().Add(patienceOfTests); ; time.Sleep(50 * time.Millisecond) {
		d := culprit(t, "detach", fmt.Sprint(p.PID)).want(0)
		if strings.Contains(d.out.String(), "took stack samples of it, has ended") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is not asked to end: %s", d.story())
		}
	}
	if c.status() == exitFailed {
		t.Errorf("%s", c.story())
	}
	untouched(t, p)
}

func TestRestoreAfterKill(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", fmt.Sprint(p.PID))
	c.awaitProbes(p.PID)
	time.Sleep(time.Second)
	c.cmd.Process.Kill()
	c.status()
	p.MustBeat(t, 10*time.Second)
	v := culprit(t, "restore", fmt.Sprint(p.PID)).want(0)
	v.has(&v.out, "restored")
	untouched(t, p)
}

func TestUnwritableReport(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", "--for", "2s", "--json", "/dev/full", fmt.Sprint(p.PID)).want(exitFailed)
	c.has(&c.errOut, "no space left on device").has(&c.out, "Probes:")
	old := filepath.Join(t.TempDir(), "no", "r.json")
	c = culprit(t, "attach", "--for", "1s", "--json", old, fmt.Sprint(p.PID)).want(exitFailed)
	c.has(&c.errOut, "warning: the report cannot be written").has(&c.out, "Probes:")
	untouched(t, p)
}

func TestWatchCountsExactly(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "calls.c", "100000", "2")
	c := culprit(t, "attach", "--no-search", "--json", "@REPORT", "--watch", "procedure_calls@/Code/calls.c/work",
		"--watch", fmt.Sprintf("procedure_calls@/Code/calls.c/tail_first,/Process/%d", p.PID), fmt.Sprint(p.PID))
	c.awaitAllPatched(p.PID) // both are enabled in one batch
	p.Say(t, "go")
	p.Expect(t, "DONE", 30*time.Second)
	c.cmd.Process.Signal(os.Interrupt)
	c.want(exitNothing)
	pairs := c.read().Pairs
	untouched(t, p)
	counts := p.Counts()
	if len(pairs) != 2 {
		t.Fatalf("%+v", pairs)
	}
	for i, name := range []string{"work", "tail_first"} {
		if pairs[i].Error != "" || uint64(pairs[i].Sum) != counts[name] || pairs[i].Tier != "probe" || len(pairs[i].Bins) == 0 {
			t.Errorf("%s: counted %+v, the program made %d", name, pairs[i], counts[name])
		}
	}
}

func TestWatchStar(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "calls.c", "10000", "2")
	c := culprit(t, "attach", "--no-search", "--for", "3s", "--json", "@REPORT", "--watch", "procedure_calls@/Code/calls.c/*",
		"--watch", "procedure_calls@/Code/nowhere.c/*", fmt.Sprint(p.PID)).want(exitFailed)
	c.has(&c.out, "procedure_calls@/Code/nowhere.c/*: not measured: nothing had been found below it when the measurement ended")
	names := map[string]bool{}
	empty := ""
	for _, pair := range c.read().Pairs {
		names[pair.Focus["Code"]] = true
		if pair.Focus["Code"] == "/Code/nowhere.c/*" {
			empty = pair.Error
		}
	}
	for _, name := range []string{"work", "recurse", "tail_first", "deep_jump"} {
		if !names["/Code/calls.c/"+name] {
			t.Errorf("%s is missing of %v", name, names)
		}
	}
	if empty == "" {
		t.Error("a star that stands for nothing is not told")
	}
	untouched(t, p)
}

func TestRunReportsTheExitCode(t *testing.T) {
	t.Parallel()
	require.Root(t)
	c := culprit(t, "run", "--no-tui", "--json", "@REPORT", "--", "sh", "-c", "echo to-stdout; echo to-stderr >&2; sleep 2; exit 37")
	c.want(exitEnded)
	r := c.read()
	if r.Targets[0].ExitCode == nil || *r.Targets[0].ExitCode != 37 || !r.Targets[0].Ended {
		t.Errorf("%+v", r.Targets[0])
	}
	c.has(&c.out, "to-stdout\n").has(&c.errOut, "to-stderr\n").has(&c.errOut, "exit code 37")
	j := culprit(t, "run", "--json", "-", "--", "sh", "-c", "echo to-stdout; sleep 2").want(exitEnded)
	j.parse(j.out.Bytes())
	j.has(&j.errOut, "to-stdout")
}

// TestRunLeavesTheProgram: when the time is over the program goes on.
func TestRunLeavesTheProgram(t *testing.T) {
	t.Parallel()
	require.Root(t)
	c := culprit(t, "run", "--for", "1s", "--quiet", "--json", "@REPORT", "--", "sleep", "61.5")
	c.want(exitNothing, exitUnknown)
	pid := c.read().Targets[0].PID
	ended := culprit(t, "run", "--for", "1s", "--quiet", "--end", "--json", "@REPORT", "--", "sleep", "61.5")
	ended.want(exitNothing, exitUnknown)
	if pid := ended.read().Targets[0].PID; syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d was to end", pid)
	}
	if c = culprit(t, "run", "--for", "1s", "--", "true"); strings.Contains(c.errOut.String(), "goes on") {
		t.Errorf("a program that has ended: %s", c.errOut.String())
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || string(b) != "sleep\x0061.5\x00" {
		t.Fatalf("%q %v", b, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestNotPermitted(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "sleeper.c")
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // both were made for this test alone
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "culprit")
	copyFile(t, self, bin)
	c := exec.Command(bin, "attach", "--no-tui", fmt.Sprint(p.PID))
	c.SysProcAttr, c.Env, c.Dir = nobody, append(os.Environ(), beCulprit+"=1", "HOME=/nonexistent"), "/"
	out, err := c.CombinedOutput()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != exitForbidden || !strings.Contains(string(out), "sudo culprit") {
		t.Errorf("%v: %s", err, out)
	}
	d := exec.Command(bin, "doctor", fmt.Sprint(p.PID))
	d.SysProcAttr, d.Env, d.Dir = nobody, c.Env, "/"
	out, err = d.CombinedOutput()
	if d.ProcessState == nil || d.ProcessState.ExitCode() != exitForbidden || !strings.Contains(string(out), "sudo culprit attach") {
		t.Errorf("%v: %s", err, out)
	}
	p.Stop(t)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDoctorOfATarget(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "sleeper.c")
	c := culprit(t, "doctor", fmt.Sprint(p.PID)).want(0)
	c.has(&c.out, "attach is permitted").has(&c.out, "attach would work")
	p.Stop(t)
}

// TestRestoreOfNothing: where nothing was left the answer says so, and nothing of a ledger.
func TestRestoreOfNothing(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "sleeper.c")
	c := culprit(t, "restore", fmt.Sprint(p.PID)).want(0)
	c.has(&c.out, "there is nothing of culprit in it")
	p.Stop(t)
}

func TestPoints(t *testing.T) {
	t.Parallel()
	require.Root(t)
	bin := build(t, "calls.c")
	c := culprit(t, "points", bin).want(0)
	c.has(&c.out, "can be instrumented")
	c = culprit(t, "points", "--names", bin).want(0)
	c.has(&c.out, "_start in calls: process start code")
	j := culprit(t, "points", "--json", bin).want(0)
	var r plans.Report
	if err := json.Unmarshal(j.out.Bytes(), &r); err != nil || r.Functions < 10 || r.Instrumentable > r.Functions || len(r.Tactics) == 0 {
		t.Errorf("%v %+v", err, r)
	}
	if r.ByRule < 1 || r.Coverage < 99 || len(r.RefusedNames) != r.Functions-r.Instrumentable || r.RefusedNames[0].Reason == "" {
		t.Errorf("%+v", r)
	}
	culprit(t, "points", "/nowhere/at/all").want(exitFailed)
	culprit(t, "points", "/etc").want(exitUsage)
}

// TestDisasm prints the code of a metric for a process, and of one that the kernel keeps.
func TestDisasm(t *testing.T) {
	require.Root(t)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/called.c"), "1", "10")
	pid := fmt.Sprint(p.PID)
	c := culprit(t, "pcl", "disasm", "exec_time_inclusive@/Code/called.c/mix", pid, "--sites", "1").want(0)
	c.has(&c.out, "called.c/mix, entry at").has(&c.out, "rdtsc").has(&c.out, "and 1 more places").has(&c.out, "ns for each probe")
	c = culprit(t, "pcl", "disasm", "cpu", pid).want(0)
	c.has(&c.out, "kept by the kernel")
	c = culprit(t, "pcl", "disasm", "cpux", pid).want(exitUsage, exitFailed)
	c.has(&c.errOut, "did you mean").has(&c.errOut, "cpu")
	p.Stop(t)
}

// TestAttachToWhatExecutes: a process that becomes another program again and again is begun with again, or it has ended as far as the session
// goes; it never fails.
func TestAttachToWhatExecutes(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/bin/sh", "-c", `sleep 0.0$1; exec /bin/sh -c "$0" "$0" $((6 - $1))`, "", "3")
	cmd.Args[3] = cmd.Args[2]
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { cmd.Process.Kill(); <-ended }()
	for range 5 {
		culprit(t, "attach", "--no-tui", "--for", "300ms", fmt.Sprint(cmd.Process.Pid)).want(exitUnknown, exitEnded)
	}
	select {
	case err := <-ended:
		t.Errorf("it ended: %v", err)
	default:
	}
}

// TestRunOfWhatGoesIntoTheBackground: a program that leaves a process behind and ends at once is measured in that process, however often it has forked
// before, and --end ends it.
func TestRunOfWhatGoesIntoTheBackground(t *testing.T) {
	t.Parallel()
	for _, script := range []string{`"$0" >/dev/null & exit 0`, `(setsid "$0" >/dev/null &) & exit 0`} {
		c := culprit(t, "run", "--no-tui", "--end", "--for", "4s", "--json", "@REPORT", "--", "/bin/sh", "-c", script, demoProgram(t, "cpu.c")).want(exitBottleneck)
		c.has(&c.out, "1. ").has(&c.out, "uses")
		r := c.read()
		if len(r.Targets) != 1 || filepath.Base(r.Targets[0].Exe) != "cpu" || r.Targets[0].Ended {
			t.Fatalf("%s: %+v", script, r.Targets)
		}
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", r.Targets[0].PID)); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d goes on", r.Targets[0].PID)
			}
		}
	}
}

// TestRunOfWhatEndsAtOnce: a program that has ended before it could be measured is said to have, with its exit code.
func TestRunOfWhatEndsAtOnce(t *testing.T) {
	t.Parallel()
	for script, code := range map[string]int{"exit 7": 7, "kill -9 $$": 137} {
		c := culprit(t, "run", "--no-tui", "--", "/bin/sh", "-c", script).want(exitEnded)
		c.has(&c.errOut, fmt.Sprintf("/bin/sh ended with exit code %d", code))
	}
}
