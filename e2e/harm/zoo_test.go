package harm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// An oddTarget is a program that does what few do, or one at a place where few are.
type oddTarget struct {
	name   string
	source string                    // of the program, in testdata/odd
	flags  []string                  // of the compiler
	build  func(t *testing.T) string // builds it where that takes more than a source and flags
	args   func(r *round) []string
	// start starts it where that takes more than a command line.
	start func(r *round, bin string, args []string) *testprog.Prog
	// wrap gives a program that runs culprit somewhere odd.
	wrap func(r *round) string
	// beside puts something at the other end of the target during the first sessions; the function that it gives ends it.
	beside func(r *round, p *testprog.Prog) (end func())
	// looked, if not empty, is why culprit may look at it only (samples): a pattern for what it has to say then.
	looked string
	watch  string // what to watch in particular where it is killed or left
	say    string // what it is told at its beginning
	// stays says that trampolines may stay in it: contexts of its own may come back to them. Whoever restores a program with a thread on a
	// foreign stack and a signal handler cannot tell whether that handler exchanges contexts.
	stays bool
	// changes says that it writes its own text, so that nobody can compare that with its file.
	changes bool
	// lacks says what of the machine it needs and does not have; "" if all is there.
	lacks func(t *testing.T) string
}

// zoo is all of them. Each is there for a mechanism that somebody's production has.
var zoo = []oddTarget{
	{name: "own loader", source: "ownloader.c", args: objectToLoad},
	{name: "dlopen storm", source: "loadstorm.c", args: twoPlugins},
	{name: "SIGALRM at 10 kHz", source: "alarms.c"},
	{name: "gdb at the other end", source: "crunch.c", beside: gdb, looked: "already traced by .*gdb"},
	{name: "strace at the other end", source: "crunch.c", beside: strace, looked: "already traced by .*strace"},
	{name: "read-only file system", source: "crunch.c", start: startOn("ro"), wrap: culpritOn("ro")},
	{name: "full file system", source: "crunch.c", start: startOn("size=4k"), wrap: culpritOn("size=4k")},
	{name: "namespaces", source: "crunch.c", start: startInNamespaces},
	{name: "stacks of 16 KiB from a pool", source: "pooledstacks.c"},
	{name: "vfork", source: "../targets/vforker.c"},
	{name: "posix_spawn storm", source: "spawnstorm.c"},
	{name: "userfaultfd", source: "pagefaults.c", lacks: noUserfaultfd},
	{name: "restartable sequences", source: "percpu.c", watch: "exec_time_inclusive@/Code/percpu.c/*"},
	{name: "restartable sequences that no file tells of", source: "madeseq.c", watch: "exec_time_inclusive@/Code/madeseq.c/*"},
	{name: "coroutines of swapcontext", source: "fibers.c", args: words("0"), stays: true},
	{name: "coroutines by hand", source: "fibers.c", args: words("1"), stays: true},
	{name: "coroutines by hand at a label", source: "fibers.c", args: words("2"), stays: true},
	{name: "code made at run time", source: "jit.c"},
	{name: "text that it patches itself", source: "selfpatch.c", changes: true},
	{name: "longjmp and exceptions", source: "leaps.cc"},
	{name: "signalfd with all signals blocked", source: "blocked.c"},
	{name: "futures of Rust", source: "futures.rs"},
	{name: "static-pie", source: "crunch.c", flags: []string{"-static-pie"}},
	{name: "static", source: "crunch.c", flags: []string{"-static", "-no-pie"}},
	{name: "stripped", source: "crunch.c", flags: []string{"-s"}},
	{name: "goroutines beside C code", build: goBeside},
	{name: "library of Go code", source: "loadsgo.c", args: goLibrary},
	{name: "contexts exchanged by a timer's signal", source: "preempt.c", stays: true, looked: "not supported"},
	{name: "filter without restart_syscall", source: "filtered.c", args: words("poll", "kill", "before")},
	{name: "filter that comes late", source: "filtered.c", args: words("futex", "trap", "late")},
	{name: "all memory locked", source: "lockall.c", args: words("lock")},
	{name: "little address space", source: "lockall.c", args: words("space"), looked: "address space"},
	{name: "io_uring workers", source: "uring.c", flags: []string{"-luring"}, args: words("work")},
	{name: "io_uring poller", source: "uring.c", flags: []string{"-luring"}, args: words("sqpoll")},
	{name: "thread pointer zero", source: "fsbase.c", flags: []string{"-fno-stack-protector"}, looked: "keeps no thread pointer|has given up its thread pointer"},
	{name: "processes on one memory", source: "clonevm.c", args: words("6"), looked: "shares its memory"},
	{name: "text in anonymous memory", source: "remap.c", say: "over"},
	{name: "faults that are recovered by their address", source: "faulter.c", say: "go"},
	{name: "counter forbidden", source: "forbids.c", args: words("tsc"), looked: "forbidden itself to read the time-stamp counter"},
	{name: "calls dispatched", source: "forbids.c", args: words("dispatch"), looked: "system calls turned into signals"},
	{name: "calls dispatched late", source: "forbids.c", args: words("dispatch-late"), looked: "system calls turned into signals"},
	{name: "all calls dispatched", source: "forbids.c", args: words("dispatch-all"), looked: "system calls turned into signals"},
	{name: "shadow stacks", source: "leaps.cc", flags: []string{"-fcf-protection=full"}, lacks: noShadowStacks,
		start: startWith("GLIBC_TUNABLES=glibc.cpu.x86_shstk=on")},
}

// TestZoo measures each of them as users do: a search, a search with probes in many functions whose culprit is killed at a random
// moment, restore, and a last session that somebody else ends. It has to end with the hash that it has alone.
func TestZoo(t *testing.T) {
	for _, a := range zoo {
		t.Run(a.name, func(t *testing.T) {
			if a.lacks != nil {
				if what := a.lacks(t); what != "" {
					t.Skip(what) // a matter of the kernel: also where nothing else may be missing
				}
			}
			r := &round{T: t, culprit: now}
			bin := a.program(t)
			if a.wrap != nil {
				r.culprit = a.wrap(r)
			}
			t.Parallel()
			a.check(r, bin)
		})
	}
}

// check runs the target alone, then with culprit.
func (a *oddTarget) check(r *round, bin string) {
	alone := a.begin(r, bin)
	time.Sleep(300 * time.Millisecond)
	if harm := r.harmTo(alone, ""); harm != "" {
		r.Fatalf("without culprit: %s", harm)
	}
	lines := alone.Lines()
	hash := strings.TrimPrefix(lines[len(lines)-1], "OK ")

	p := a.begin(r, bin)
	a.sessions(r, p)
	if harm := r.harmTo(p, hash); harm != "" {
		r.Errorf("%s%s", harm, lastWords(p))
	}
}

func (a *oddTarget) program(t *testing.T) string {
	if a.build != nil {
		return a.build(t)
	}
	return testprog.Build(t, filepath.Join("testdata/odd", a.source), a.flags...)
}

func lastWords(p *testprog.Prog) string {
	lines := p.Lines()
	return fmt.Sprintf("\nits last lines: %q", lines[max(0, len(lines)-3):])
}

func (a *oddTarget) begin(r *round, bin string) (p *testprog.Prog) {
	var args []string
	if a.args != nil {
		args = a.args(r)
	}
	if a.start != nil {
		p = a.start(r, bin, args)
	} else {
		p = r.target(bin, args...)
	}
	if a.say != "" {
		fmt.Fprintln(p.Stdin, a.say)
	}
	return p
}

// remains says how many mappings of culprit are in a target that should have none.
func (a *oddTarget) remains(p *testprog.Prog) int {
	if a.stays {
		return 0
	}
	return left(p.PID)
}

// span is how long a session lasts.
func span() time.Duration {
	if *longRuns {
		return 20 * time.Second
	}
	return 2 * time.Second
}

func (a *oddTarget) sessions(r *round, p *testprog.Prog) {
	end := func() {}
	if a.beside != nil {
		end = a.beside(r, p)
	}
	a.search(r, p)
	a.kill(r, p)
	end()
	a.leave(r, p)
}

// many puts probes into many functions.
func (a *oddTarget) many() []string {
	if a.watch != "" {
		return []string{"--no-search", "--watch", a.watch}
	}
	return []string{"--watch", "procedure_calls@/Code/*", "--watch", "exec_time_inclusive@/Code/*"}
}

var inserted = regexp.MustCompile(`Probes: ([0-9]+) inserted, ([0-9]+) removed, 0 left`)

// search attaches for the whole time and looks at the report.
func (a *oddTarget) search(r *round, p *testprog.Prog) {
	res := r.attach(p, span())
	m := inserted.FindStringSubmatch(res.out)
	looked := strings.Contains(res.out, "measured by sampling only")
	switch {
	case !p.Alive():
		r.Errorf("it ended during a search%s\n%s%s", lastWords(p), res.out, res.err)
	case !searched(res.status) || m == nil || m[1] != m[2]:
		r.Errorf("the search ended with status %d:\n%s%s", res.status, res.out, res.err)
	case looked && a.looked == "":
		r.Errorf("it was not patched:\n%s", res.out)
	case looked && !regexp.MustCompile(a.looked).MatchString(res.out):
		r.Errorf("the report does not say %q:\n%s", a.looked, res.out)
	case m[1] == "0" && a.looked != "" && regexp.MustCompile(a.looked).MatchString(res.out): // refused pair by pair, because of what it did after the attach
	case !looked && m[1] == "0" && !a.stays: // where contexts are exchanged there may be no way in but samples
		r.Errorf("no probe was put in:\n%s%s", res.out, res.err)
	}
	if n := a.remains(p); n > 0 {
		r.Errorf("%d mappings are left after a search", n)
	}
}

// kill ends culprit with SIGKILL at a random moment, and has the rest removed.
func (a *oddTarget) kill(r *round, p *testprog.Prog) {
	moment := rand.N(span())
	cmd := r.start(append([]string{"attach", fmt.Sprint(p.PID), "--no-tui", "--for", (2 * span()).String()}, a.many()...)...)
	time.Sleep(moment)
	_ = cmd.Process.Kill() // it has not ended: it has twice the time
	_ = cmd.Wait()
	res := r.run("restore", fmt.Sprint(p.PID))
	if refused := a.looked != "" && regexp.MustCompile(a.looked).MatchString(res.err); res.status != 0 && !refused {
		r.Errorf("restore after a kill at %v ended with status %d: %s%s%s", moment, res.status, res.out, res.err, lastWords(p))
	}
	if n := a.remains(p); n > 0 {
		r.Errorf("%d mappings are left after a kill at %v and restore", n, moment)
	}
}

// leave attaches once more and has the session ended by another culprit, which looks whether all is as it was.
func (a *oddTarget) leave(r *round, p *testprog.Prog) {
	before := left(p.PID) // trampolines that stay
	cmd := r.start(append([]string{"attach", fmt.Sprint(p.PID), "--no-tui", "--for", "60s"}, a.many()...)...)
	for began := time.Now(); left(p.PID) <= before && time.Since(began) < 5*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(rand.N(span() / 2))
	res := r.run("detach", "--verify", fmt.Sprint(p.PID))
	clean := res.status == 0 && strings.Contains(res.out, "0 bytes differ, 0 mappings of ours, TracerPid 0")
	if a.stays {
		clean = res.status == 0 && strings.Contains(res.out, "0 bytes differ")
	}
	if a.changes {
		clean = strings.Contains(res.out, " 0 mappings of ours, TracerPid 0")
	}
	if !clean {
		r.Errorf("detach --verify ended with status %d: %s%s%s", res.status, res.out, res.err, lastWords(p))
	}
	_ = cmd.Process.Signal(os.Interrupt) // one that only looked was not found by detach
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		r.Errorf("culprit still runs ten seconds after it was told to leave")
		_ = cmd.Process.Kill()
		<-ended
	}
	if n := a.remains(p); n > 0 {
		r.Errorf("%d mappings are left after detach", n)
	}
}

func goBeside(t *testing.T) string { return testprog.BuildGo(t, "testdata/odd/cgo") }

func goLibrary(r *round) []string {
	return words(testprog.BuildGo(r.T, "testdata/odd/cgolib", "-buildmode=c-shared"))(r)
}

func words(args ...string) func(*round) []string { return func(*round) []string { return args } }

func objectToLoad(r *round) []string {
	return words(testprog.Build(r.T, "testdata/odd/loaded.c", "-shared", "-fPIC", "-nostdlib", "-Wl,-e,loaded_work"))(r)
}

func twoPlugins(r *round) []string {
	build := func(level string) string {
		return testprog.Build(r.T, "testdata/targets/plugin.c", "-shared", "-fPIC", level)
	}
	return words(build("-O2"), build("-O1"))(r)
}

// gdb attaches gdb, which lets the target run.
func gdb(r *round, p *testprog.Prog) (end func()) {
	tool := require.Tool(r.T, "gdb")
	return other(r, p, syscall.SIGINT, exec.Command(tool, "-q", "-nx", "-batch", "-p", fmt.Sprint(p.PID), "-ex", "continue"))
}

func strace(r *round, p *testprog.Prog) (end func()) {
	tool := require.Tool(r.T, "strace")
	return other(r, p, syscall.SIGTERM, exec.Command(tool, "-f", "-qq", "-o", "/dev/null", "-p", fmt.Sprint(p.PID)))
}

// other starts a tracer and waits until the target runs under it; a signal ends it.
func other(r *round, p *testprog.Prog, sig syscall.Signal, cmd *exec.Cmd) (end func()) {
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	end = func() {
		_ = cmd.Process.Signal(sig)
		_ = cmd.Wait()
	}
	r.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // fail if it was ended as it should
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
		if strings.Contains(string(status), fmt.Sprintf("TracerPid:\t%d\n", cmd.Process.Pid)) && time.Since(began) > time.Second {
			p.MustBeat(r.T, 10*time.Second)
			return end
		}
		if time.Since(began) > 10*time.Second {
			r.Fatalf("%s does not attach", cmd.Path)
		}
	}
}

// startOn starts the target with its working directory on a file system of its own: read-only, or full.
func startOn(options string) func(*round, string, []string) *testprog.Prog {
	return func(r *round, bin string, args []string) *testprog.Prog {
		return r.target(on(r, options, bin), args...)
	}
}

func culpritOn(options string) func(*round) string {
	return func(r *round) string { return on(r, options, r.culprit) }
}

// on writes a script that runs a program in a mount namespace in which its working directory, its home and where it keeps temporary
// files are one file system with these options, which is full. The program has the script's process.
func on(r *round, options, program string) string {
	require.Root(r.T)
	dir := r.TempDir()
	script := filepath.Join(dir, "run")
	text := fmt.Sprintf(`#!/bin/sh
exec unshare -m --propagation private sh -c '
mkdir -p %[1]s/disk; mount -t tmpfs -o size=4k none %[1]s/disk; cd %[1]s/disk
cat /dev/zero >full 2>/dev/null; mount -o remount,%[2]s %[1]s/disk
export HOME=$PWD TMPDIR=$PWD XDG_CONFIG_HOME=$PWD XDG_CACHE_HOME=$PWD
exec %[3]s "$@"' sh "$@"
`, dir, options, program)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		r.Fatal(err)
	}
	return script
}

// startInNamespaces starts the target as another user in namespaces of all kinds, in which it is root and has the number 1.
func startInNamespaces(r *round, bin string, args []string) *testprog.Prog {
	require.Root(r.T)
	cmd := exec.Command(r.share(bin), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC |
			syscall.CLONE_NEWUTS | syscall.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{HostID: nobody, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: nobody, Size: 1}},
	}
	p := testprog.StartCmd(r.T, cmd)
	p.Expect(r.T, "READY 1", 10*time.Second)
	return p
}

func startWith(variable string) func(*round, string, []string) *testprog.Prog {
	return func(r *round, bin string, args []string) *testprog.Prog {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(os.Environ(), variable)
		p := testprog.StartCmd(r.T, cmd)
		p.Expect(r.T, "READY", 10*time.Second)
		return p
	}
}

func noUserfaultfd(*testing.T) string {
	if _, err := os.Stat("/proc/sys/vm/unprivileged_userfaultfd"); err != nil {
		return "the kernel has no userfaultfd"
	}
	return ""
}

func noShadowStacks(t *testing.T) string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(info), " user_shstk") {
		return "the kernel and the processor give no shadow stacks to programs (no user_shstk in /proc/cpuinfo)"
	}
	return ""
}
