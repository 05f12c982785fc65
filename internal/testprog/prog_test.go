package testprog

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	return Build(t, filepath.Join("testdata", "targets", name), flags...)
}

// untilStop lists the targets that work until they are told to stop, with arguments.
var untilStop = map[string][]string{
	"eventloop.c": nil, "sleeper.c": nil, "generatedwait.c": nil, "mutex.c": nil, "busylocks.c": nil, "databaselock.c": nil, "condvar.c": nil, "piperead.c": nil, "cpu.c": nil, "askpeer.c": nil, "latches.c": nil, "modes.c": nil, "oddnames.c": nil, "tailwait.c": nil,
	"threads.c": {"300", "100"}, "churn.c": nil, "selfcheck.c": nil, "forker.c": nil, "vforker.c": nil,
	"switch.c": nil, "dispatch.c": nil, "idlepool.c": nil, "idlewaits.c": nil, "atomicpool.cc": nil, "ipara.c": nil, "seccomp.c": nil, "smallio.c": {"FILE"}, "iofile.c": {"FILE"},
	"locks.c": {"5"}, "allocs.cc": {"500"}, "messages.c": {"1000"}, "account.c": {"FILE", "20"},
	"transfer.c": {"FILE", "50"}, "descriptors.c": {"DIRECTORY"}, "clock.c": nil, "reuse.c": nil, "peer.c": nil, "peerthread.c": nil, "peerstack.c": nil, "peerfork.c": nil,
	"bulk.c": nil, "crowd.c": {"3", "2"}, "timeouts.c": {"50"}, "shares.c": {"150"}, "woken.c": {"50"}, "pingpong.c": nil, "parts.c": {"44"}, "appears.c": nil, "turns.c": nil,
}

// chance lists what depends on the machine: whether others want the processor, and whether a file lies on a disk.
var chance = map[string]bool{"forced": true, "major": true}

func TestTargetsThatRunUntilStop(t *testing.T) {
	for name, args := range untilStop {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{}, args...)
			for i := range args {
				switch args[i] {
				case "FILE":
					args[i] = filepath.Join(t.TempDir(), "data")
				case "DIRECTORY":
					args[i] = t.TempDir()
				}
			}
			var flags []string
			if strings.HasSuffix(name, ".cc") {
				flags = []string{"-std=c++20", "-Wno-volatile"}
			}
			bin := build(t, name, flags...)
			first := runOnce(t, bin, args, func(p *Prog) string { return p.Stop(t) })
			second := runOnce(t, bin, args, func(p *Prog) string {
				p.Signal(t, syscall.SIGTERM)
				return p.Finish(t, 20*time.Second)
			})
			if first != second {
				t.Errorf("two undisturbed runs differ: %s, %s", first, second)
			}
		})
	}
}

func runOnce(t *testing.T, bin string, args []string, stop func(*Prog) string) string {
	p := StartTarget(t, bin, args...)
	p.Say(t, "go")
	for range 4 { // 0.2 s, in which each of its threads has its turn
		p.MustBeat(t, 5*time.Second)
	}
	hash := stop(p)
	if len(p.Counts()) == 0 {
		t.Errorf("no COUNT line: %q", p.Lines())
	}
	for name, n := range p.Counts() {
		if n == 0 && !chance[name] {
			t.Errorf("%s was counted 0 times: the target did nothing", name)
		}
	}
	return hash
}

func TestCallsCountsAreExact(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "calls.c"), "10000", "3")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	want := map[string]uint64{
		"work": 30000, "tail_first": 7500, "tail_second": 7500, "getppid": 1875, "toupper": 1875,
		"library_calls": 1875, "try_jump": 237, "deep_jump": 237 * 6,
		// recurse(9) makes 2*fib(11)-1 = 177 activations counting from n=9 down to n<=0, 157 times a thread.
		"recurse": 3 * 157 * 177,
	}
	got := p.Counts()
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d, want %d", name, got[name], n)
		}
	}
	if n := got["tail_last"]; n == 0 || n >= got["tail_second"] {
		t.Errorf("tail_last: %d of %d", n, got["tail_second"])
	}
}

// TestTransferIsCountedByTheKernel: what the program says that it moved is what the kernel says.
func TestTransferIsCountedByTheKernel(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "transfer.c"), filepath.Join(t.TempDir(), "data"), "100")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	n := p.Counts()
	t.Logf("%d operations with %d bytes", n["ops"], n["bytes"])
	if kernel := n["syscr"] + n["syscw"] - n["twice_ops"] + n["unseen_ops"]; n["ops"] != kernel || kernel == 0 {
		t.Errorf("%d operations, the kernel counts %d", n["ops"], kernel)
	}
	if kernel := n["rchar"] + n["wchar"] - n["twice_bytes"] + n["unseen_bytes"]; n["bytes"] != kernel {
		t.Errorf("%d bytes, the kernel counts %d", n["bytes"], kernel)
	}
}

func TestNarrowCountsAreExact(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "narrow.c"), "1000", "3")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	got := p.Counts()
	for _, name := range []string{"push_call", "push_loop", "bare_return", "two_bytes", "short_returns",
		"call_first", "two_call", "three_call", "four_call", "endbr_call", "short_tail",
		"page_entry", "page_return", "page_tail"} {
		if got[name] != 3000 {
			t.Errorf("%s: %d, want 3000", name, got[name])
		}
	}
	if got["leaf"] < 9000 {
		t.Errorf("leaf: %d", got["leaf"])
	}
}

func TestLoopsAreLeftInEveryWay(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "loops.c"), "2000", "2")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	got := p.Counts()
	if got["outer_enter"] != 4000 || got["inner_enter"] != got["outer"] || got["leaf_inside"] != got["inner"] || got["deep"] != 2*125*(3+9+27+81) {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"inner_break", "inner_return", "chosen"} {
		if got[name] == 0 {
			t.Errorf("%s: never", name)
		}
	}
}

func TestCalledCountsAreExact(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "called.c"), "2", "1000")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	got := p.Counts()
	for name, want := range map[string]uint64{"messages": 2000, "mixed": 2000, "hops": 2000, "jumps": 2000, "nested": 4000} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}

func TestThrowCountsAreExact(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "throw.cc"), "3000")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	want := map[string]uint64{"attempt": 3000, "source": 3000, "middle": 15000, "middle_returned": 5000,
		"outer": 3000, "outer_returned": 1000, "caught": 2000, "rethrown": 1000}
	got := p.Counts()
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d, want %d", name, got[name], n)
		}
	}
}

func TestArgumentCountsAreExact(t *testing.T) {
	p := StartTarget(t, build(t, "command.c"), "2000")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	got, calls := p.Counts(), uint64(0)
	for name, n := range got {
		if strings.HasPrefix(name, "call_") {
			calls += n
		}
	}
	if calls != 4000 || got["argc"] != 12000 || got["ninth"] != 12000 || got["tagged"] != 3200 || got["opened"] != 1000 {
		t.Errorf("%d calls, %v", calls, got)
	}
	p = StartTarget(t, build(t, "shapes.cc"), "2000")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	if got := p.Counts(); got["radius"] != 99000 || got["rich"] != 101000 || got["last"] != 99000 || got["id"] != 9000 {
		t.Errorf("%v", got)
	}
}

func TestLatencyCallsWhatItSays(t *testing.T) {
	p := StartTarget(t, build(t, "latency.cc"), "2", "2")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	got := map[string]int{}
	for _, l := range p.Lines() {
		if f := strings.Fields(l); f[0] == "TOOK" || f[0] == "SIZE" {
			got[f[0]+" "+f[1]]++
		}
	}
	for name, n := range map[string]int{"TOOK nap": 200, "TOOK spin": 50, "TOOK find_small": 20, "TOOK find_large": 20,
		"SIZE 100": 180, "SIZE 5000": 18, "SIZE 70000": 2} {
		if got[name] != n {
			t.Errorf("%s: %d, want %d", name, got[name], n)
		}
	}
	if c := p.Counts(); c["returned"] != 16 || c["thrown"] != 4 {
		t.Errorf("%v", c)
	}
}

func TestExecerKeepsItsPID(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"exec", "execthread"} {
		p := StartTarget(t, build(t, "execer.c"))
		p.Say(t, command)
		again := p.Expect(t, "READY", 10*time.Second)
		if want := "READY " + strconv.Itoa(p.PID); again != want {
			t.Errorf("%s: %q, want %q", command, again, want)
		}
		p.MustBeat(t, 5*time.Second)
		p.Stop(t)
	}
}

func TestDlopenerLoadsThePlugin(t *testing.T) {
	t.Parallel()
	plugin := build(t, "plugin.c", "-shared", "-fPIC")
	p := StartTarget(t, build(t, "dlopener.c"), plugin)
	p.MustBeat(t, 5*time.Second)
	p.MustBeat(t, 5*time.Second)
	p.Stop(t)
	if p.Counts()["plugin_work"] == 0 || p.Counts()["dlopen"] == 0 {
		t.Errorf("counts: %v", p.Counts())
	}
}

func TestRustAllocationsAreCounted(t *testing.T) {
	p := StartTarget(t, build(t, "allocs.rs", "-C", "opt-level=0"), "1000")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	if got := p.Counts(); got["allocations"] < 10000 || got["bytes"] < 20*got["allocations"] {
		t.Errorf("%v", got)
	}
}

// TestWaitsAreAsLongAsTheyShould: each wait of the programs that time their waits lasts 5 ms or a little more.
func TestWaitsAreAsLongAsTheyShould(t *testing.T) {
	const rounds = 10
	for name, flags := range map[string][]string{"waits.cc": {"-std=c++20", "-Wno-volatile"}, "waits.rs": nil, "c11.c": {"-std=gnu11"}, "streams.c": nil, "filelocks.c": nil} {
		args := []string{strconv.Itoa(rounds)}
		if name == "filelocks.c" {
			args = []string{t.TempDir(), args[0]}
		}
		p := StartTarget(t, build(t, name, flags...), args...)
		p.Say(t, "go")
		p.Expect(t, "DONE", 20*time.Second)
		p.Stop(t)
		if len(p.Counts()) < 4 {
			t.Errorf("%s: %v", name, p.Counts())
		}
		for kind, ns := range p.Counts() {
			if kind == "own_calls" || kind == "locks" || kind == "calls" || kind == "tries" {
				continue
			}
			if each := time.Duration(ns / rounds); each < 4*time.Millisecond || each > 100*time.Millisecond {
				t.Errorf("%s: a wait for %s lasts %v", name, kind, each)
			}
		}
	}
}

// TestMutexesAreWaitedFor: each of the mutexes is taken by each thread in each round, and waited for as long as it is held.
func TestMutexesAreWaitedFor(t *testing.T) {
	const rounds = 3
	p := StartTarget(t, build(t, "mutexes.cc"), strconv.Itoa(rounds))
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	got := p.Counts()
	for i := range 16 {
		n, ns := got["taken"+strconv.Itoa(i)], got["waited"+strconv.Itoa(i)]
		if each := time.Duration(ns / rounds / 2); n != 3*rounds || each < 3*time.Millisecond || each > 100*time.Millisecond {
			t.Errorf("mutex %d: taken %d times, waited for %v", i, n, each)
		}
	}
}

func TestStripesAreTaken(t *testing.T) {
	p := StartTarget(t, build(t, "stripes.c"), "50", "3")
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	p.Stop(t)
	if got := p.Counts(); got["taken"] != 50*20+3*20 || got["mutexes"] != 51 {
		t.Errorf("%v", got)
	}
}

func TestKillIsSeenAsASignal(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "sleeper.c"))
	p.Kill()
	if code := p.Wait(t, time.Second); code != 128+int(syscall.SIGKILL) {
		t.Errorf("status %d", code)
	}
	if p.Alive() {
		t.Error("still alive")
	}
}

func TestEndOfPipeStopsATarget(t *testing.T) {
	t.Parallel()
	p := StartTarget(t, build(t, "cpu.c"))
	p.Stdin.Close()
	p.Finish(t, 10*time.Second)
}

func TestEveryTargetIsRun(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(Root(t), "testdata", "targets", "*.[cr]*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no targets: %v", err)
	}
	source, err := os.ReadFile("prog_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.Contains(string(source), `"`+filepath.Base(file)+`"`) {
			t.Errorf("%s is not run by any test here", filepath.Base(file))
		}
	}
}

func TestMPICountsAreExact(t *testing.T) {
	j := StartMPI(t, "mpi.c", 2, "50")
	j.Tell(t, "go")
	j.ExpectAll(t, "DONE", 30*time.Second)
	j.End(t)
	got := j.Counts()
	for name, want := range map[string]uint64{"sent0": 150, "sent1": 100, "received0": 100, "received1": 150, "coll_ops0": 200, "coll_ops1": 200,
		"rma_ops0": 50, "rma_ops1": 50, "sent_tagged0": 50} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
	if ns := got["recv_ns1"]; ns < 50*1_000_000 {
		t.Errorf("the second waited %d ns for 50 messages that came 2 ms late", ns)
	}
}

func TestSlowRankIsWaitedFor(t *testing.T) {
	j := StartMPI(t, "slowrank.c", 2, "1")
	j.Tell(t, "go")
	time.Sleep(500 * time.Millisecond)
	j.End(t)
	got := j.Counts()
	if got["rounds0"] != got["rounds1"] || got["rounds0"] < 5 {
		t.Errorf("%d and %d rounds", got["rounds0"], got["rounds1"])
	}
	if got["reduce_ns0"] < 2*got["reduce_ns1"] || got["reduce_ns0"] > got["worked_ns0"] {
		t.Errorf("in reductions for %d and %d ns of %d", got["reduce_ns0"], got["reduce_ns1"], got["worked_ns0"])
	}
}

// TestOrphansDoNotHoldATest: what a program leaves behind keeps its output open, and the end of the program is seen all the same.
func TestOrphansDoNotHoldATest(t *testing.T) {
	p := Start(t, "/bin/sh", "-c", "sleep 30 & echo $!; exit 3")
	orphan := p.Expect(t, "", 5*time.Second)
	t.Cleanup(func() {
		if pid, err := strconv.Atoi(orphan); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if status := p.Wait(t, 15*time.Second); status != 3 {
		t.Errorf("status %d", status)
	}
}
