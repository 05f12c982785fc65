package daemon

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/daemon/children"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
)

// Locks of files are waited for in functions of the C library that take descriptors, by threads of one process and by processes.

// fileLockWays are the ways in which the target filelocks.c waits, which are the names of its files, too.
var fileLockWays = []string{"fcntl", "flock", "lockf", "ofd"}

// fileLocks starts it. at is the lock of one of its files as a part of a focus.
func fileLocks(t *testing.T) (p *testprog.Prog, dir string, at func(name string) string) {
	t.Helper()
	dir = t.TempDir()
	p = testprog.StartTarget(t, testprog.Build(t, "testdata/targets/filelocks.c"), dir, "30")
	return p, dir, func(name string) string {
		return grid.Whole().Refine(grid.SyncObject, pcl.FileLock, filepath.Join(dir, name)).String()
	}
}

func pathsIn(dir string, names []string) (paths []string) {
	for _, n := range names {
		paths = append(paths, filepath.Join(dir, n))
	}
	return paths
}

// TestWaitsForFileLocks compares how long a thread waited for locks of files, at functions and at the files. What asks for a lock without waiting
// is no operation, and no input or output takes that time.
func TestWaitsForFileLocks(t *testing.T) {
	p, dir, at := fileLocks(t)
	d := attachTo(t, p.PID)
	warmUntil(t, d, p, pcl.FileLock, pathsIn(dir, fileLockWays)...)
	all := strings.Join(fileLockWays, " ")
	want := truths{"sync_wait_inclusive@/": all, "sync_wait@/": all, "sync_wait_inclusive@/SyncObject/FileLock": all,
		"sync_wait_inclusive@/SyncObject/CondVar": "", "sync_wait_inclusive@/Code/filelocks.c/wait_ofd," + at("flock"): ""}
	for _, name := range fileLockWays {
		in := "/Code/filelocks.c/wait_" + name
		want["sync_wait_inclusive@"+in] = name
		want["sync_wait_inclusive@"+at(name)] = name
		want["sync_wait_inclusive@"+in+","+at(name)] = name
		want["io_wait_inclusive@"+in] = ""
	}
	ops := truths{"sync_ops@/SyncObject/FileLock": "calls"}
	got := across(t, d, p, slices.Concat(want.keys(t), ops.keys(t))...)
	want.check(t, got, p.Counts(), 1e-9, 0.02)
	ops.check(t, got, p.Counts(), 1, 0)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestSamplesTellFileLocks is the same by looks alone: within four standard errors and three percent of the whole.
func TestSamplesTellFileLocks(t *testing.T) {
	p, dir, at := fileLocks(t)
	d := lookAt(t, p.PID)
	warmUntil(t, d, p, pcl.FileLock, pathsIn(dir, fileLockWays)...)
	want := truths{"sync_wait_inclusive@/SyncObject/FileLock": strings.Join(fileLockWays, " ")}
	for _, name := range fileLockWays {
		want["sync_wait_inclusive@/Code/filelocks.c/wait_"+name] = name
		want["sync_wait_inclusive@"+at(name)] = name
	}
	keys := want.keys(t)
	var s sums
	enableSoon(t, d, &s, keys)
	begin := time.Now()
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	time.Sleep(3 * tickInterval)
	span := time.Since(begin).Seconds()
	counts := p.Counts()
	whole := 0.0
	for _, name := range fileLockWays {
		whole += float64(counts[name]) / 1e9
	}
	for _, k := range keys {
		truth := 0.0
		for name := range strings.FieldsSeq(want[k.String()]) {
			truth += float64(counts[name]) / 1e9
		}
		se, ok := d.Uncertainty(k)
		t.Logf("%-90s %6.3f s +- %.3f, true %6.3f", k, s.of(k), se*span, truth)
		if !ok || math.Abs(s.of(k)-truth) > 4*se*span+0.03*whole {
			t.Errorf("%s: %.3f s, the program knows %.3f; an uncertainty is known: %v", k, s.of(k), truth, ok)
		}
	}
	d.Disable(keys)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestHolderOfAFileLock: who has the lock of a file is told as the one that ends the wait, in a function of its own if that is known.
func TestHolderOfAFileLock(t *testing.T) {
	p, dir, _ := fileLocks(t)
	list := children.Descendants(p.PID)
	if len(list) != 1 {
		t.Fatalf("it has the children %v", list)
	}
	d := attachFamily(t, true, p.PID)
	awaitTruth(t, "its child is measured", func() bool { return len(d.Targets()) == 2 })
	warmUntil(t, d, p, pcl.FileLock, pathsIn(dir, fileLockWays)...)
	child := strconv.Itoa(list[0])
	for _, name := range []string{"fcntl", "lockf"} {
		at := grid.Whole().Refine(grid.SyncObject, pcl.FileLock, filepath.Join(dir, name))
		for tries := 0; len(d.Holders(at)) == 0 && tries < 10; tries++ {
			p.Say(t, "warm")
			p.Expect(t, "WARM", time.Minute)
		}
		share := 0.0
		for _, h := range d.Holders(at) {
			if h.Wakes && strings.Contains(h.Thread, child) && (h.Function == "" || strings.HasPrefix(h.Function, "filelocks.c/")) {
				share += h.Share // where it is is not known while somebody else works on that process
			}
		}
		if t.Logf("%s: %+v", name, d.Holders(at)); share < 0.8 {
			t.Errorf("%s: process %s ends %v of the waits, want nearly all: %+v", name, child, share, d.Holders(at))
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
