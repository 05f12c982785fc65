package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// A redis is a server of Debian's package on a socket in a directory of the test.
type redis struct {
	t      *testing.T
	prog   *testprog.Prog
	socket string
}

func startRedis(t *testing.T) *redis {
	t.Helper()
	require.Root(t)
	server := require.Tool(t, "redis-server")
	require.Tool(t, "redis-benchmark")
	dir := t.TempDir()
	r := &redis{t: t, socket: filepath.Join(dir, "s")}
	r.prog = testprog.Start(t, server, "--port", "0", "--unixsocket", r.socket, "--dir", dir, "--save", "", "--appendonly", "no")
	for range 200 {
		if _, err := os.Stat(r.socket); err == nil {
			return r
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("redis-server does not answer")
	return nil
}

// load runs redis-benchmark until the test ends, or until the function that it returns is called.
func (r *redis) load(args ...string) (end func()) {
	r.t.Helper()
	cmd := exec.Command("redis-benchmark", append([]string{"-s", r.socket, "-l", "-q"}, args...)...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	r.t.Cleanup(end)
	r.served(time.Second)
	return end
}

// longScript keeps the Lua interpreter busy for some milliseconds.
const longScript = "local s=0; for i=1,200000 do s = s + i*i % 7 end; return s"

func (r *redis) loadLua() (end func())    { return r.load("-c", "4", "EVAL", longScript, "0") }
func (r *redis) loadGetSet() (end func()) { return r.load("-c", "10", "-t", "get,set") }

// commands is how many commands the server has processed.
func (r *redis) commands() int64 {
	r.t.Helper()
	conn, err := net.DialTimeout("unix", r.socket, 5*time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, "INFO stats\r\n"); err != nil {
		r.t.Fatal(err)
	}
	for in := bufio.NewScanner(conn); in.Scan(); {
		if text, ok := strings.CutPrefix(in.Text(), "total_commands_processed:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return n
		}
	}
	r.t.Fatal("the server does not say how many commands it processed")
	return 0
}

// served is how many commands a second the server processes for a while.
func (r *redis) served(length time.Duration) float64 {
	r.t.Helper()
	n, since := r.commands(), time.Now()
	time.Sleep(length)
	return float64(r.commands()-n) / time.Since(since).Seconds()
}

// sound fails the test unless nothing of culprit is in the server and it ends as an undisturbed one.
func (r *redis) sound() {
	r.t.Helper()
	clean(r.t, r.prog.PID)
	if r.served(300*time.Millisecond) == 0 {
		r.t.Error("the server processes nothing any longer")
	}
	r.prog.Signal(r.t, syscall.SIGINT)
	if status := r.prog.Wait(r.t, 20*time.Second); status != 0 {
		r.t.Errorf("redis-server ended with %d, undisturbed with 0", status)
	}
}

// TestRedisScript: a server that is busy with one long script. The answer is in the interpreter, which has no symbols; the
// way to it leads through the command that ran the script.
func TestRedisScript(t *testing.T) {
	r := startRedis(t)
	r.loadLua()
	const command = "/Code/redis-server/evalGenericCommand"
	rep := searchFor(t, []finding{{"CPUbound", []string{command}}, {"CPUbound", []string{"/Code/redis-server/luaCallFunction"}}},
		fmt.Sprint(r.prog.PID))
	var below *bottleneck
	for i := range rep.Bottlenecks {
		b := &rep.Bottlenecks[i]
		way := rep.way(b)
		if at := slices.Index(way, command); rep.hypothesis(b.Node) == "CPUbound" && at >= 0 && at < len(way)-1 {
			below = b
		}
	}
	if below == nil {
		t.Fatalf("no bottleneck lies below %s:\n%s", command, rep.sentences())
	}
	if deepest := rep.focus(below.Node, "Code"); !strings.HasPrefix(deepest, "/Code/redis-server/") {
		t.Errorf("the deepest node is %s", deepest)
	}
	if exe := rep.Targets[0].Exe; !strings.HasPrefix(filepath.Base(exe), "redis-") {
		t.Errorf("the report calls the program %s", exe)
	}
	r.sound()
}

// TestRedisPlain: the same server with simple commands; scripts have nothing to do with what is found, if anything is.
func TestRedisPlain(t *testing.T) {
	r := startRedis(t)
	r.loadGetSet()
	s := start(t, "attach", "--no-tui", "--for", "6s", "--json", "@REPORT", fmt.Sprint(r.prog.PID))
	if status := s.status(); status != statusNothing && status != statusBottleneck && status != statusUnknown {
		t.Fatalf("exit status %d\n%s", status, s.story())
	}
	rep := s.read()
	t.Log("\n" + s.out.String())
	for i, b := range rep.Bottlenecks {
		for _, code := range rep.way(&rep.Bottlenecks[i]) {
			if name := strings.ToLower(code); strings.Contains(name, "eval") || strings.Contains(name, "lua") {
				t.Errorf("%s is blamed: %s", code, b.Sentence)
			}
		}
	}
	r.sound()
}

// TestRedisThroughput compares how many requests are served before, during and after a search, and how much processor time
// one takes, which says more on a machine that has other things to do. The long form wants 90 % of the throughput while the
// search runs, and as much as before when it is over, on a machine that does nothing else.
func TestRedisThroughput(t *testing.T) {
	rounds, slice, length := 1, time.Second, 5*time.Second
	if long() {
		rounds, slice, length = 5, 4*time.Second, 15*time.Second
	}
	quiet := idleMachine(t)
	loads := []struct {
		name  string
		start func(*redis) func()
	}{{"GET and SET", (*redis).loadGetSet}, {"EVAL", (*redis).loadLua}}
	if !long() {
		loads = loads[:1]
	}
	for _, load := range loads {
		r := startRedis(t)
		end := load.start(r)
		var noise, during, after comparison
		for range rounds {
			first := r.speed(func() { time.Sleep(slice) })
			before := r.speed(func() { time.Sleep(slice) })
			noise.add(before, first)
			before = before.and(first)
			during.add(r.speed(func() { r.search(length) }), before)
			after.add(r.speed(func() { time.Sleep(slice) }), before)
		}
		t.Logf("%s during a search: %s; after it: %s; before it, one time against another: %s", load.name, &during, &after, &noise)
		end()
		clean(t, r.prog.PID)
		if !long() || !quiet || !idleMachine(t) {
			continue
		}
		for what, c := range map[string]*comparison{"during": &during, "after": &after} {
			if rate := median(c.rate); rate < 0.9 {
				t.Errorf("%s: %.1f %% of the requests are served %s a search", load.name, 100*rate, what)
			}
		}
	}
}

// search is a search of a given length, whatever it finds.
func (r *redis) search(length time.Duration) {
	r.t.Helper()
	s := start(r.t, "attach", "--quiet", "--no-tui", "--for", length.String(), "--json", "@REPORT", fmt.Sprint(r.prog.PID))
	if status := s.status(); status != statusNothing && status != statusBottleneck && status != statusUnknown {
		r.t.Fatalf("exit status %d\n%s", status, s.story())
	}
	o := s.read().Overhead
	r.t.Logf("observed cost %.2f %%, %d pauses, the longest %.1f ms", 100*o.Observed, o.Pauses.Count, float64(o.Pauses.MaxUS)/1000)
}

// A speed is how fast the server works.
type speed struct {
	rate float64 // requests a second
	work float64 // processor time of a request, s
}

// and is the mean of two speeds.
func (s speed) and(other speed) speed {
	return speed{(s.rate + other.rate) / 2, (s.work + other.work) / 2}
}

// speed measures the server while f runs.
func (r *redis) speed(f func()) speed {
	r.t.Helper()
	n, used, since := r.commands(), r.processorTime(), time.Now()
	f()
	done := float64(r.commands() - n)
	return speed{done / time.Since(since).Seconds(), (r.processorTime() - used) / max(done, 1)}
}

// processorTime is what the server has used so far, in s.
func (r *redis) processorTime() float64 {
	r.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", r.prog.PID)) // of its first thread, which does all the work
	fields := strings.Fields(string(text))
	if err != nil || len(fields) == 0 {
		r.t.Fatalf("%q %v", text, err)
	}
	ns, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return ns / 1e9
}

// A comparison is how speeds relate to those before.
type comparison struct{ rate, work []float64 }

func (c *comparison) add(now, before speed) {
	c.rate = append(c.rate, now.rate/before.rate)
	c.work = append(c.work, now.work/before.work)
}

// String gives medians and single values.
func (c *comparison) String() string {
	return fmt.Sprintf("%.1f %% (%s) of the requests, each for %.1f %% (%s) of the processor time", 100*median(c.rate), percents(c.rate),
		100*median(c.work), percents(c.work))
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

func percents(v []float64) string {
	var parts []string
	for _, x := range v {
		parts = append(parts, fmt.Sprintf("%.1f", 100*x))
	}
	return strings.Join(parts, " ")
}

// idleMachine reports whether at least 90 % of the processors' time is free.
func idleMachine(t *testing.T) bool {
	t.Helper()
	busy, all := processorTime(t)
	time.Sleep(500 * time.Millisecond)
	busyNow, allNow := processorTime(t)
	share := float64(busyNow-busy) / max(1, float64(allNow-all))
	if share > 0.1 {
		t.Logf("%.0f %% of the processors' time is used by others: times say little", 100*share)
	}
	return share <= 0.1
}

// processorTime is the time of all processors since the machine started, from /proc/stat: busy and altogether.
func processorTime(t *testing.T) (busy, all uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all += n
		if i != 3 && i != 4 { // idle, iowait
			busy += n
		}
	}
	return busy, all
}
