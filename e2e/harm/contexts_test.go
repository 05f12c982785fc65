package harm

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// session is how long a target is searched in these scenarios.
const session = 3 * time.Second

// everyFunction watches all functions of a module: as many places are patched as the target has.
func everyFunction(metric, module string) []string {
	return []string{"--watch", metric + "@/Code/" + module + "/*"}
}

// leftBy says what culprit did not clean up. What stays on purpose is none of it.
func (r *round) leftBy(p *testprog.Prog) string {
	if v := r.run("detach", "--verify", fmt.Sprint(p.PID)); v.status != 0 {
		return fmt.Sprintf("not clean after detach: %s%s", v.out, v.err)
	}
	return ""
}

// measured searches a target, with pairs besides, and says what harm came of it.
func (r *round) measured(p *testprog.Prog, hash string, args ...string) string {
	r.Helper()
	if r.control() {
		time.Sleep(session / 8)
		return r.harmTo(p, hash)
	}
	said := r.attach(p, session, args...)
	if p.Alive() {
		if harm := r.leftBy(p); harm != "" {
			return harm
		}
	}
	if harm := r.harmTo(p, hash); harm != "" {
		return harm
	}
	if line := goByProbe.FindString(said.out); line != "" {
		return "a goroutine is timed as if it stayed on its thread: " + line
	}
	return ""
}

// goByProbe is a line of the report with a time of a Go function that a probe has told.
var goByProbe = regexp.MustCompile(`exec_time_inclusive@/Code/main/main\.\S+: sum .*\(probe\)`)

// goroutines: a cgo program whose goroutines are taken off their threads in the middle of small functions.
func goroutines(r *round) string {
	require.Tool(r.T, "gcc")
	p := r.target(testprog.BuildGo(r.T, "testdata/odd/cgo"))
	return r.measured(p, "75f9fad8771b9136", everyFunction("exec_time_inclusive", "main")...)
}

// goroutinesLoaded: the same in a library that a C program has loaded. It takes many rounds until one is parked in a jump there; that
// Go functions have probes is enough.
func goroutinesLoaded(r *round) string {
	require.Tool(r.T, "gcc")
	dir := r.TempDir()
	library := testprog.BuildGo(r.T, "testdata/odd/cgolib", "-buildmode=c-shared")
	if err := os.Rename(library, filepath.Join(dir, "libgoroutines.so")); err != nil {
		r.Fatal(err)
	}
	p := r.target(testprog.Build(r.T, "testdata/odd/loadsgo.c", "-ldl"), filepath.Join(dir, "libgoroutines.so"))
	return r.measured(p, "75f9fad8771b9136", everyFunction("exec_time_inclusive", "main")...)
}

// preempted: contexts that the handler of a timer exchanges.
func preempted(how string) func(r *round) string {
	return func(r *round) string {
		p := r.target(r.build("preempt.c"), how)
		return r.measured(p, "e72c3d4f11f54563", everyFunction("procedure_calls", "preempt.c")...)
	}
}

// preemptedAndKilled: culprit is killed while its probes are in, what it left is taken out, and another one comes.
func preemptedAndKilled(r *round) string {
	p := r.target(r.build("preempt.c"), "library")
	if r.control() {
		time.Sleep(session / 8)
		return r.harmTo(p, "e72c3d4f11f54563")
	}
	watch := everyFunction("procedure_calls", "preempt.c")
	c := r.start(append([]string{"attach", fmt.Sprint(p.PID), "--no-tui", "--for", "1m"}, watch...)...)
	time.Sleep(session * 2 / 3)
	_ = c.Process.Kill() // it may have ended with the target
	_ = c.Wait()
	if p.Alive() {
		if said := r.run("restore", fmt.Sprint(p.PID)); said.status != 0 {
			return "restore failed: " + said.err
		}
		if harm := r.leftBy(p); harm != "" {
			return harm
		}
		r.attach(p, session/3, watch...)
	}
	return r.harmTo(p, "e72c3d4f11f54563")
}

// coroutines: contexts that leave where they say so.
func coroutines(r *round) string {
	p := r.target(r.build("coroutines.c"))
	return r.measured(p, "1b16529b5076eefb", everyFunction("exec_time_inclusive", "coroutines.c")...)
}

// Most threads that are in a function of the cgo program at a time.
var threadsIn = map[string]float64{"c_wait": 3, "c_callback": 3, "c_spin": 1, "main.main.func2": 3, "main.main.func3": 3, "main.main.func4": 1,
	"main._Cfunc_c_wait.abi0": 3, "main._Cfunc_c_callback.abi0": 3, "main._Cfunc_c_spin.abi0": 1}

var watchedLine = regexp.MustCompile(`exec_time_inclusive@/Code/[^/]+/(\S+): sum ([0-9.e+-]+), average ([0-9.e+-]+)( \+- [0-9.e+-]+)? s/s \((\w+)\)`)

// cgoTimers: times of functions that goroutines call, which cannot be more than there are goroutines in them; that of one the program
// knows itself.
func cgoTimers(r *round) string {
	require.Tool(r.T, "gcc")
	p := r.target(testprog.BuildGo(r.T, "testdata/odd/cgo"))
	if r.control() {
		time.Sleep(session / 8)
		return r.harmTo(p, "75f9fad8771b9136")
	}
	args := []string{"--no-search"}
	for name := range threadsIn {
		module := "work.c"
		if strings.HasPrefix(name, "main.") {
			module = "main"
		}
		args = append(args, "--watch", "exec_time_inclusive@/Code/"+module+"/"+name)
	}
	said := r.attach(p, session, args...)
	rates := map[string]float64{}
	for _, m := range watchedLine.FindAllStringSubmatch(said.out, -1) {
		rate, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			r.Fatal(err)
		}
		if m[5] != "probe" {
			continue
		}
		if rates[m[1]] = rate; rate > 1.05*threadsIn[m[1]] {
			return fmt.Sprintf("%s is said to take %.2f s a second, and at most %v goroutines are in it", m[1], rate, threadsIn[m[1]])
		}
	}
	if harm := r.harmTo(p, "75f9fad8771b9136"); harm != "" {
		return harm
	}
	if len(rates) == 0 {
		r.Fatalf("nothing was measured by probes: %s%s", said.out, said.err)
	}
	n := p.Counts()
	if took := float64(n["c_wait_ms"]) / float64(n["life_ms"]); rates["c_wait"] > 2*took+0.05 || rates["c_wait"] < took/2-0.05 {
		return fmt.Sprintf("c_wait is said to take %.3f s a second, and took %.3f", rates["c_wait"], took)
	}
	return ""
}

// TestCoverage prints which share of the functions of ordinary objects can be instrumented, before and now; it fails where that has become
// less by a point and more.
func TestCoverage(t *testing.T) {
	if *before == "" {
		t.Skip("compares two binaries: -args -before PATH; scripts/harm-table does it")
	}
	fmt.Println("| object | functions | coverage before | now |\n|---|---|---|---|")
	for _, name := range []string{"redis-server", "nginx", "postgres", "node", "python3", "libpython3*.so*", "libstdc++.so.6", "libcrypto.so.3", "libc.so.6", "libjvm.so", "rustc"} {
		path := require.FindObject(name)
		if f, err := elf.Open(path); err != nil {
			fmt.Printf("| %s | not on this machine | | |\n", name)
			continue
		} else {
			f.Close()
		}
		was, is := coverage(t, *before, path), coverage(t, now, path)
		fmt.Printf("| %s | %d | %.2f %% | %.2f %% |\n", name, is.Functions, was.Coverage, is.Coverage)
		if is.Coverage < was.Coverage-1 {
			t.Errorf("%s: %.2f %% of the functions can be instrumented, and it was %.2f %%", name, is.Coverage, was.Coverage)
		}
	}
}

type points struct {
	Functions int     `json:"functions"`
	Coverage  float64 `json:"coverage"`
}

func coverage(t *testing.T, culprit, path string) (p points) {
	t.Helper()
	r := (&round{T: t, culprit: culprit}).run("points", "--json", path)
	if err := json.Unmarshal([]byte(r.out), &p); err != nil {
		t.Fatalf("culprit points %s: %v\n%s", path, err, r.err)
	}
	return p
}
