package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestSamplesNameTheSameBottleneck: what probes find in these programs (answers_test.go, and the demonstration), samples find too. The
// third program of the demonstration waits for a disk, which not every machine does: another one reads a pipe.
func TestSamplesNameTheSameBottleneck(t *testing.T) {
	for source, want := range map[string]finding{
		"testdata/demo/cpu.c":         {"CPUbound", []string{"word_distance"}},
		"testdata/demo/lock.c":        {"ExcessiveSyncWaitingTime", []string{"session_table_lock"}},
		"testdata/targets/piperead.c": {"ExcessiveIOBlockingTime", []string{"receive"}},
	} {
		t.Run(source, func(t *testing.T) {
			p := testprog.Start(t, testprog.Build(t, source))
			if strings.Contains(source, "targets") {
				p.Expect(t, "READY", 10*time.Second)
				p.Say(t, "go")
			}
			r := searchFor(t, []finding{want}, "--backend", "sample", fmt.Sprint(p.PID))
			b := r.find(want.hypothesis, want.at...)
			if b == nil {
				t.Fatalf("%v is not found:\n%s", want, r.sentences())
			}
			for _, n := range r.Nodes {
				if n.ID == b.Node && n.Tier != "sample" {
					t.Errorf("%s: tier %q", b.Sentence, n.Tier)
				}
			}
			if r.Probes.Inserted != 0 || r.Overhead.Pauses.Count != 0 || r.Targets[0].Backend != "sample" {
				t.Errorf("probes %+v, pauses %+v, backend %s", r.Probes, r.Overhead.Pauses, r.Targets[0].Backend)
			}
		})
	}
}

// TestEachValueSaysItsTier: beside each other in one report, with the uncertainty of what is estimated.
func TestEachValueSaysItsTier(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
	p.Say(t, "go")
	s := start(t, "attach", "--no-tui", "--no-search", "--backend", "sample", "--for", "1s", "--json", "@REPORT", "--watch", "cpu", "--watch",
		"cpu_inclusive@/Code/shares.c/half", "--watch", "procedure_calls@/Code/shares.c/half", fmt.Sprint(p.PID)).want(statusNothing)
	var r struct {
		Pairs []struct {
			Metric, Tier, Error  string
			Average, Uncertainty *float64
		}
	}
	b, err := os.ReadFile(s.report)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || len(r.Pairs) != 3 {
		t.Fatalf("%v: %s", err, b)
	}
	t.Log("\n" + s.out.String())
	cpu, half, calls := r.Pairs[0], r.Pairs[1], r.Pairs[2]
	if cpu.Tier != "kernel" || cpu.Uncertainty != nil {
		t.Errorf("cpu: %+v", cpu)
	}
	if half.Tier != "sample" || half.Uncertainty == nil || *half.Uncertainty <= 0 || *half.Uncertainty > 0.1 || !strings.Contains(s.out.String(), " +- ") {
		t.Errorf("cpu_inclusive: %+v", half)
	}
	if !strings.Contains(calls.Error, "cannot be counted by stack samples; it needs probes (--backend probe)") {
		t.Errorf("procedure_calls: %+v", calls)
	}
	p.Stop(t)
}

// TestRowsAreInsistedOn: what the kernel keeps by eBPF is told of a process that is only looked at, and who asks for it without the
// right to it is told what gives it.
func TestRowsAreInsistedOn(t *testing.T) {
	require.Root(t)
	public := publicCopy(t)
	p := testprog.StartCmd(t, nobody(exec.Command(publicCopyOf(t, testprog.Build(t, testprog.Target(t, "shares.c"))))))
	p.Expect(t, "READY", 10*time.Second)
	p.Say(t, "go")
	args := []string{"attach", "--no-tui", "--no-search", "--backend", "ebpf", "--for", "1s", "--json", "@REPORT", "--watch", "blocked_pipe", fmt.Sprint(p.PID)}
	s := startCmd(t, nobody(exec.Command(public, args...)))
	if status := s.status(); status != statusForbidden || !strings.Contains(s.errOut.String(), "setcap") {
		t.Errorf("without the right: status %d: %s", status, s.errOut.String())
	}
	s = start(t, args...)
	if status := s.status(); status == statusForbidden || strings.Contains(s.errOut.String(), "ebpf is not supported") {
		require.Skip(t, s.errOut.String())
	}
	r := s.read()
	t.Logf("%s%s", s.out.String(), s.errOut.String())
	if r.Targets[0].Backend != "ebpf" || r.Probes.Inserted != 0 || r.Overhead.Pauses.Count != 0 || !strings.Contains(s.out.String(), "blocked_pipe") {
		t.Errorf("%+v, probes %+v, pauses %+v", r.Targets, r.Probes, r.Overhead.Pauses)
	}
	p.Stop(t)
}

// TestFilteredTarget: a program whose filter kills it at the calls that mapping would need is searched by samples, also by somebody
// who may not suspend the filter.
func TestFilteredTarget(t *testing.T) {
	require.Root(t)
	p := target(t, "seccomp.c")
	p.Say(t, "go")
	cmd := exec.Command(culprit, "attach", "--no-tui", "--for", "1s", "--json", "@REPORT", fmt.Sprint(p.PID))
	setpriv := require.Tool(t, "setpriv")
	cmd.Path, cmd.Args = setpriv, append([]string{setpriv, "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"}, cmd.Args...)
	s := startCmd(t, cmd)
	status := s.status()
	r := s.read()
	t.Logf("status %d\n%s%s", status, s.out.String(), s.errOut.String())
	if r.Targets[0].Backend != "sample" || !strings.Contains(r.Targets[0].Why, "seccomp") {
		t.Errorf("%+v", r.Targets)
	}
	undisturbed(t, p, "seccomp.c")
}

// TestGoProgram: a program whose threads trampolines cannot tell apart is measured by samples.
func TestGoProgram(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "spin")
	source := filepath.Join(t.TempDir(), "spin.go")
	text := "package main\n\nimport \"os\"\n\nvar x uint64\n\n//go:noinline\nfunc spin(n int) {\n\tfor i := 0; i < n; i++ {\n\t\tx = x*31 + uint64(i)\n\t}\n}\n\nfunc main() {\n\tfor os.Getppid() > 1 {\n\t\tspin(1e6)\n\t}\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", bin, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	r := searchFor(t, []finding{{"CPUbound", []string{"main.spin"}}}, fmt.Sprint(cmd.Process.Pid))
	if r.Targets[0].Backend != "sample" || !strings.Contains(r.Targets[0].Why, "thread pointer") {
		t.Errorf("%+v", r.Targets)
	}
}
