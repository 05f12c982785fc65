package peer

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/daemon"
	"culprit/daemon/survey"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// everywhere is a metric that counts at the entry and at all exits of every function of the program and its libraries.
var everywhere = metric("everywhere", nil, "foreach f in $procedures { append preInsn f.entry (* everywhere++; *) prepend preInsn f.return (* everywhere++; *) }")

// calling is a timer that runs while a thread is in any function itself, and stands still while it calls another: points before and
// behind every call there is.
var calling = define("wallTimer", "calling", nil, []string{"foreach f in $procedures { append preInsn f.entry (* startWallTimer(calling); *)",
	"foreach c in f.calls { append preInsn c (* stopWallTimer(calling); *) prepend postInsn c (* startWallTimer(calling); *) } }"})

// everyFunctionMoves: there, each function of the program and its libraries is moved as a whole. culprit moves the instructions
// at the points that it needs and no more; here it moves those at every entry and every exit of all functions of everything
// that is mapped, in one step, then those at every call, and the program does each of its cases meanwhile.
func everyFunctionMoves(t *testing.T) {
	s := attach(t, "peer.c", everywhere, calling)
	for range rounds(2, 50) {
		for _, metric := range []string{"everywhere", "calling"} {
			s.enable(metric)
			s.run("every", 300)
			s.disable()
			s.run("every", 300)
		}
	}
	probes := s.d.Probes()
	if v := s.value("calling"); v <= 0 {
		t.Errorf("%.4f s in functions themselves", v)
	}
	t.Logf("%d points of all functions; %.0f passes; %d functions left out", probes.Inserted, s.value("everywhere"), len(probes.Refused))
	if probes.Inserted < 4000 || s.value("everywhere") < 100_000 {
		t.Errorf("only %d points and %.0f passes", probes.Inserted, s.value("everywhere"))
	}
	s.end()
}

// everyFunctionOfLs: every function of ls and of its libraries is instrumented while it is at work; it lists what it lists
// without, and ends as it does.
func everyFunctionOfLs(t *testing.T) {
	ls := require.Tool(t, "ls")
	dir := manyFiles(t, 8, rounds(400, 2000))
	want, err := exec.Command(ls, "-lRn", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	report, err := survey.Points(resolved(t, ls))
	if err != nil || report.Functions < 100 {
		t.Fatalf("%+v, %v", report, err)
	}
	t.Logf("of %d functions of ls %d can be instrumented", report.Functions, report.Instrumentable)
	cmd := exec.Command(ls, "-lRn", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil { // it is at work, and soon waits for a reader
		t.Fatal(err)
	}
	s := measure(t, daemon.Options{}, []string{everywhere}, cmd.Process.Pid)
	s.enable("everywhere")
	probes := s.d.Probes()
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ls: %v", err)
	}
	s.ended()
	if got := append(first, rest...); sha256.Sum256(got) != sha256.Sum256(want) {
		t.Errorf("%d bytes, undisturbed %d, or different ones", len(got), len(want))
	}
	t.Logf("%d bytes listed; %d points, %.0f passes, %d functions left out", len(want), probes.Inserted, s.value("everywhere"), len(probes.Refused))
	if probes.Inserted < 2000 || s.value("everywhere") < 10_000 {
		t.Errorf("only %d points and %.0f passes", probes.Inserted, s.value("everywhere"))
	}
}

// manyFiles makes directories of empty files with long names.
func manyFiles(t *testing.T, dirs, files int) string {
	t.Helper()
	top := t.TempDir()
	for d := range dirs {
		dir := filepath.Join(top, fmt.Sprintf("directory-%d", d))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range files {
			name := filepath.Join(dir, fmt.Sprintf("%d-%s", f, strings.Repeat("name", 20)))
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return top
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exceptionThroughInstrumentedFrames: an exception of C++ is thrown through frames that are instrumented at entry, exit and all
// calls, and so is the library's function that throws; the unwinder itself is refused. It is caught where it should be, destructors run, and all counts
// are exact; the suite's own tool ends the program there.
func exceptionThroughInstrumentedFrames(t *testing.T) {
	const throws = "20000"
	p, bin := begin(t, "throw.cc", throws)
	s := measure(t, daemon.Options{}, []string{metric("thrown", nil, at("__cxa_throw", "entry", "thrown++;")),
		metric("unwound", nil, at("_Unwind_RaiseException", "entry", "unwound++;"))}, p.PID)
	functions := map[string]string{"source": "source(unsigned long)", "middle": "middle(unsigned long, int)", "outer": "outer(unsigned long)",
		"attempt": "attempt(unsigned long)"}
	s.refuses("unwound", "exception unwinder")
	pairs := []string{"thrown"}
	for _, f := range functions {
		for _, m := range []string{"procedure_calls@", "exec_time@", "exec_time_inclusive@", "cpu@"} {
			pairs = append(pairs, m+"/Code/throw.cc/"+f)
		}
	}
	s.enable(pairs...)
	start := time.Now()
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	took := time.Since(start).Seconds()
	s.disable()
	counts := p.Counts()
	for name, f := range functions {
		s.want("procedure_calls@/Code/throw.cc/"+f, float64(counts[name]))
		if in := s.value("exec_time_inclusive@/Code/throw.cc/" + f); in <= 0 || in > took*1.01 {
			t.Errorf("%s: %.3f s of %.3f s", name, in, took)
		}
	}
	s.want("thrown", float64(counts["caught"]))
	s.detach(p.PID)
	got := p.Stop(t)
	alone := testprog.StartTarget(t, bin, throws)
	alone.Say(t, "go")
	if want := alone.Stop(t); got != want {
		t.Errorf("the program computed %s, undisturbed %s", got, want)
	}
}
