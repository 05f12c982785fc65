package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestSysbenchMutex: a program that nobody wrote for us, whose threads do nothing but contend for one mutex. Millions of
// operations a second on it are too many to be timed within the usual budget: stack samples tell of them.
func TestSysbenchMutex(t *testing.T) {
	require.Root(t)
	bench := require.Tool(t, "sysbench")
	p := testprog.Start(t, bench, "mutex", "--threads=16", "--mutex-num=1", "--mutex-locks=2000000000", "--mutex-loops=0", "run")
	p.Expect(t, "Threads started!", 30*time.Second)
	r := searchFor(t, []finding{{"ExcessiveSyncWaitingTime", []string{"/SyncObject/Mutex/"}}}, fmt.Sprint(p.PID))
	b := r.mustFind(t, "ExcessiveSyncWaitingTime", "mutex ")
	if b.Object == "" || !strings.Contains(b.Sentence, b.Object) {
		t.Errorf("the mutex is not named: %+v", b)
	}
	clean(t, p.PID)
	p.Signal(t, 15)
	if status := p.Wait(t, 20*time.Second); status != 128+15 {
		t.Errorf("sysbench ended with %d", status)
	}
}

// TestNothingToFind: programs that wait for work, not for each other, are not slow.
func TestNothingToFind(t *testing.T) {
	for _, c := range []struct {
		source string
		args   []string
	}{{"sleeper.c", nil}, {"idlewaits.c", nil}, {"atomicpool.cc", nil}, {"idlepool.c", nil}, {"idlepool.c", []string{"16", "60"}}, {"idlepool.c", []string{"4", "10"}}, {"idlepool.c", []string{"4", "1"}}, {"threads.c", []string{"1000", "500"}}} {
		t.Run(strings.Join(append([]string{c.source}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			p := target(t, c.source, c.args...)
			s := start(t, "attach", "--no-tui", "--for", "4s", "--json", "@REPORT", fmt.Sprint(p.PID))
			status := s.status()
			r := s.read()
			if len(r.Bottlenecks) != 0 {
				t.Errorf("found: %s", r.sentences())
			}
			answers := map[bool]int{true: statusNothing, false: statusUnknown} // where the machine is busy a question may stay open
			if want := answers[strings.Contains(s.out.String(), "No bottleneck found.\n")]; len(r.Bottlenecks) == 0 && status != want {
				t.Errorf("exit status %d, want %d\n%s", status, want, s.story())
			}
			if len(c.args) > 0 && c.source == "threads.c" && r.Targets[0].Threads != 1001 {
				t.Errorf("%d threads, there are 1001", r.Targets[0].Threads)
			}
			undisturbed(t, p, c.source, c.args...)
		})
	}
}

// An answer is what must be found in a target.
type answer struct {
	hypothesis string
	at         []string // its place, or one that the search came by; what ends with a slash stands for all within
	words      []string // that its sentence must have
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		source  string
		args    []string // FILE stands for a file of the test
		alone   bool     // it uses a processor, so that others would disturb it
		answers []answer
	}{
		{"mutex.c", nil, false, []answer{
			{"ExcessiveSyncWaitingTime", lockInLookup.at, []string{"mutex cache_lock", "lookup (", "mutex.c:"}}}},
		{"condvar.c", nil, true, []answer{
			{"ExcessiveSyncWaitingTime", []string{"/Code/condvar.c/take", "/queue_filled"}, []string{"condition variable queue_filled", "take ("}},
			{"CPUbound", []string{"/Code/condvar.c/make_item"}, []string{"make_item ("}}}},
		{"piperead.c", []string{"100000"}, false, []answer{ // ten messages a second are work that is waited for
			{"ExcessiveIOBlockingTime", []string{"/Code/piperead.c/receive", "/IO/Pipe/"}, []string{"pipe", "receive ("}}}},
		{"piperead.c", nil, false, []answer{
			{"ExcessiveIOBlockingTime", []string{"/Code/piperead.c/receive", "/IO/Pipe/"}, []string{"pipe", "receive ("}}}},
		{"askpeer.c", nil, false, []answer{ // the clients wait in poll for a slow peer; the server's poll is idle
			{"ExcessiveIOBlockingTime", []string{"/Code/askpeer.c/ask", "/IO/Socket/"}, []string{"socket tcp 127.0.0.1:", "wait_for_answer ("}}}},
		{"askpeer.c", []string{"20000", "1"}, false, []answer{ // the same in epoll_wait
			{"ExcessiveIOBlockingTime", []string{"/Code/askpeer.c/ask", "/IO/Socket/"}, []string{"socket tcp 127.0.0.1:", "wait_for_answer ("}}}},
		{"latches.c", nil, false, []answer{ // a row lock that is waited for by a latch
			{"ExcessiveSyncWaitingTime", []string{"/Code/latches.c/wait_latch"}, []string{"for other threads in wait_latch ("}}}},
		{"cpu.c", nil, true, []answer{
			{"CPUbound", []string{"/Code/cpu.c/distance"}, []string{"distance (", "cpu.c:"}}}},
		{"iofile.c", []string{"FILE"}, false, []answer{
			{"ExcessiveIOBlockingTime", []string{"/Code/iofile.c/save"}, []string{"save ("}}, {"ExcessiveIOBlockingTime", []string{"/data"}, []string{"data"}}}},
		{"smallio.c", []string{"FILE", "16", "4000"}, true, []answer{ // nobody ever waits for the file
			{"FrequentSmallIOOps", []string{"/IO/File/", "/data"}, []string{"data", "moves 16 bytes"}}}},
		{"smallio.c", []string{"FILE", "16", "300"}, true, []answer{ // too many to be told apart by file; stack samples may lead to read_small or write_small past main
			{"FrequentSmallIOOps", []string{"/Code/smallio.c/"}, []string{"smallio.c:", "moves 16 bytes"}}}},
	} {
		t.Run(c.source, func(t *testing.T) {
			if !c.alone {
				t.Parallel()
			}
			args := append([]string{}, c.args...)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "FILE", filepath.Join(t.TempDir(), "data"))
			}
			p := target(t, c.source, args...)
			var places []finding
			for _, a := range c.answers {
				places = append(places, finding{a.hypothesis, a.at})
			}
			r := searchFor(t, places, fmt.Sprint(p.PID))
			for _, a := range c.answers {
				r.cameBy(t, r.mustFind(t, a.hypothesis, a.words...), a.at)
			}
			undisturbed(t, p, c.source, args...)
		})
	}
}

// cameBy fails the test unless the search came by the functions among the places to the bottleneck, or ended there.
func (r *report) cameBy(t *testing.T, b *bottleneck, places []string) {
	t.Helper()
	for _, p := range places {
		within := func(at string) bool { return at == p || strings.HasSuffix(p, "/") && strings.HasPrefix(at, p) }
		if way := r.way(b); strings.HasPrefix(p, "/Code/") && !slices.ContainsFunc(way, within) {
			t.Errorf("%s was found by way of %q, not of %s", b.Sentence, way, p)
		}
	}
}

// TestTwoProcesses: both are searched, and the answer says which it is.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	busy, idle := target(t, "mutex.c"), target(t, "sleeper.c")
	r := searchFor(t, []finding{lockInLookup}, fmt.Sprint(busy.PID), fmt.Sprint(idle.PID))
	if len(r.Targets) != 2 {
		t.Errorf("%d targets", len(r.Targets))
	}
	r.mustFind(t, "ExcessiveSyncWaitingTime", "cache_lock", "lookup")
	for i := range r.Bottlenecks {
		for _, code := range r.way(&r.Bottlenecks[i]) {
			if strings.Contains(code, "sleeper.c") {
				t.Errorf("the sleeper is blamed: %s", r.Bottlenecks[i].Sentence)
			}
		}
	}
	undisturbed(t, busy, "mutex.c")
	undisturbed(t, idle, "sleeper.c")
}
