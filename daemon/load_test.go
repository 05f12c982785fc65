package daemon

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/grid"
)

// cpuSeconds is the processor time that this process has used.
func cpuSeconds() float64 {
	var ru unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()).Seconds()
}

// TestDaemonLoad measures what the daemon itself uses with 200 enabled pairs, and whether its memory stays flat: for some
// seconds in the ordinary run, for ten minutes in the long one.
func TestDaemonLoad(t *testing.T) {
	p, socket := startRedis(t)
	load(t, socket, "-t", "get,set")
	d := attachTo(t, p.PID)
	d.Known()
	var keys []grid.PairKey
	var s sums
	for _, f := range d.Tree().Children(grid.Code, "redis-server") {
		k := grid.PairKey{Metric: "procedure_calls", Focus: grid.Whole().Refine(grid.Code, "redis-server", f)}
		if len(keys) < 200 {
			if r := d.Enable([]grid.PairKey{k}, &s); r[0].Err == nil {
				keys = append(keys, k)
			}
		}
	}
	if len(keys) != 200 {
		t.Fatalf("%d pairs", len(keys))
	}
	span := 5 * time.Second
	if os.Getenv("CULPRIT_LONG") == "1" {
		span = 10 * time.Minute
	}
	time.Sleep(2 * time.Second)
	debug.FreeOSMemory()
	rss := residentKB(t)
	var cpu float64
	for range 3 { // what is still prepared behind the attach on a full machine is over then
		began, used := time.Now(), cpuSeconds()
		time.Sleep(span)
		if cpu = (cpuSeconds() - used) / time.Since(began).Seconds(); cpu <= 0.02 {
			break
		}
		t.Logf("%.2f %% of a processor", 100*cpu)
	}
	debug.FreeOSMemory()
	grown := residentKB(t) - rss
	t.Logf("200 pairs: %.2f %% of a processor; resident memory %d KiB, grown by %d KiB in %v", 100*cpu, rss, grown, span)
	if cpu > 0.02 {
		t.Errorf("the daemon used %.2f %% of a processor: 2 %% is the limit", 100*cpu)
	}
	if grown > 8<<10 {
		t.Errorf("resident memory has grown by %d KiB", grown)
	}
	detachClean(t, d, p.PID)
}

// residentKB is the resident memory of this process.
func residentKB(t testing.TB) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(v)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmRSS in /proc/self/status")
	return 0
}
