package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestSecondCulpritOnlyLooks: a process that a culprit measures is measured by a second one by stack samples, and that says so. With
// --backend probe it is refused, and doctor tells.
func TestSecondCulpritOnlyLooks(t *testing.T) {
	t.Parallel()
	require.Root(t)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	first := culprit(t, "attach", "--no-tui", "--for", "60s", fmt.Sprint(p.PID))
	who := fmt.Sprintf("culprit with pid %d", first.cmd.Process.Pid)
	for end := time.Now().Add(20 * time.Second); !measured(p.PID); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the first one did not attach: %s", first.story())
		}
	}
	second := culprit(t, "attach", "--no-tui", "--for", "1s", "--json", "@REPORT", fmt.Sprint(p.PID)).want(exitNothing, exitUnknown, exitBottleneck)
	if why := second.read().Targets[0].Why; why != who+" measures it" {
		t.Errorf("the second one only looks because of %q", why)
	}
	refused := culprit(t, "attach", "--no-tui", "--for", "1s", "--backend", "probe", fmt.Sprint(p.PID)).want(exitFailed)
	refused.has(&refused.errOut, "probes are in it already: "+who)
	first.cmd.Process.Signal(ending[0])
	first.want(exitNothing, exitUnknown, exitBottleneck)
	untouched(t, p)
}

// TestRunBesideAnother: a program that is started to be measured runs to its end though another culprit, which measures its parent and all that
// this starts, comes to it first, or at the same time.
func TestRunBesideAnother(t *testing.T) {
	t.Parallel()
	require.Root(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 1
	if os.Getenv("CULPRIT_LONG") == "1" {
		rounds = 10
	}
	for _, backend := range []string{"auto", "probe"} {
		for range rounds {
			script := fmt.Sprintf("sleep 1; %s=1 %s run --no-tui --for 1s --backend %s -- sh -c 'sleep 5; echo RAN'; echo inner=$?; sleep 4", beCulprit, self, backend)
			sh := exec.Command("/bin/sh", "-c", script)
			var out strings.Builder
			sh.Stdout, sh.Stderr = &out, &out
			if err := sh.Start(); err != nil {
				t.Fatal(err)
			}
			outer := culprit(t, "attach", "--no-tui", "--children", "--for", "60s", fmt.Sprint(sh.Process.Pid))
			sh.Wait()
			outer.status()
			if text := out.String(); !strings.Contains(text, "RAN\n") {
				t.Errorf("%s: the program was ended\n%s\n%s", backend, text, outer.story())
			} else if backend == "auto" && !strings.Contains(text, "inner=0") && !strings.Contains(text, "inner=10") && !strings.Contains(text, "inner=12") {
				t.Errorf("%s: %s", backend, text)
			}
		}
	}
}

// measured reports whether a process has probes.
func measured(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && strings.Contains(string(maps), "/memfd:culprit")
}
