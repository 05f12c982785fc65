package daemon

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/patch"
	"culprit/daemon/stops"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/testprog"
)

// A patchAudit looks, beside the daemon's own check, at every thread of a stopped target before its text is changed. PCs come
// from /proc/PID/task/TID/syscall, what is changed from comparing the text before and after.
type patchAudit struct {
	t *testing.T

	mu         sync.Mutex // the daemon patches by itself, too
	lo, hi     uint64     // the text that is compared
	before     []byte
	stops      int // batches that had stopped the target
	inside     int // of them, those in which some PC was inside what was to be changed
	writes     int // stops in which bytes were changed
	flips      int // pieces of code that were changed
	violations int // writes with a PC inside
	strange    int // bytes that changed outside what was to be changed
	offsets    map[uint64]int
}

// auditPatches watches until the test ends.
func auditPatches(t *testing.T) *patchAudit {
	a := &patchAudit{t: t, offsets: map[uint64]int{}}
	patch.Watch = a.see
	t.Cleanup(func() { patch.Watch = nil })
	return a
}

func (a *patchAudit) see(h patch.Host, when patch.Step, pages []*patch.PageEdit) {
	tg := h.(target.Host).Code
	a.mu.Lock()
	defer a.mu.Unlock()
	switch when {
	case patch.Stopped:
		a.stops++
		if a.pcsInside(tg.Proc.PID(), pages) > 0 {
			a.inside++
		}
	case patch.Writing:
		a.before = a.text(tg)
		a.violations += a.pcsInside(tg.Proc.PID(), pages)
	case patch.Written:
		a.writes++
		a.compare(a.text(tg), pages)
	}
}

// enough reports whether so many pieces were changed, and a PC was seen inside: the audit can see one.
func (a *patchAudit) enough(flips int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.flips >= flips && a.inside > 0
}

// pcsInside counts the threads whose PC is behind the first byte of a piece that is changed, but not behind its last.
func (a *patchAudit) pcsInside(pid int, pages []*patch.PageEdit) (n int) {
	pcs := threadPCs(a.t, pid)
	for _, pg := range pages {
		for _, p := range pg.Pieces {
			for _, pc := range pcs {
				if pc > p.Addr && pc < p.Addr+uint64(len(p.New)) {
					n++
				}
			}
		}
	}
	return n
}

// threadPCs reads where every thread stands: the last word of what the kernel says about its system call. One that wakes in its call runs for a moment,
// until it stops where that is over.
func threadPCs(t *testing.T, pid int) (pcs []uint64) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Error(err)
	}
	for _, task := range tasks {
		path := fmt.Sprintf("/proc/%d/task/%s/syscall", pid, task.Name())
		text, err := os.ReadFile(path)
		for until := time.Now().Add(time.Second); err == nil && string(text) == "running\n" && time.Now().Before(until); {
			time.Sleep(100 * time.Microsecond)
			text, err = os.ReadFile(path)
		}
		if err != nil {
			continue // it has ended
		}
		words := strings.Fields(string(text))
		pc, err := strconv.ParseUint(words[len(words)-1], 0, 64)
		if err != nil {
			t.Errorf("thread %s of a stopped process: %q", task.Name(), text)
		}
		pcs = append(pcs, pc)
	}
	return pcs
}

// text reads the program's own text through /proc/PID/mem.
func (a *patchAudit) text(tg *target.Code) []byte {
	m := tg.Main()
	a.lo, a.hi = m.Lo, m.Hi
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", tg.Proc.PID()))
	if err != nil {
		a.t.Error(err)
		return nil
	}
	defer f.Close()
	maps, err := tg.Proc.Maps()
	if err != nil {
		a.t.Error(err)
	}
	for _, mp := range maps {
		if mp.Executable() && uint64(mp.Start) >= m.Lo && uint64(mp.End) <= m.Hi {
			a.lo, a.hi = uint64(mp.Start), uint64(mp.End)
		}
	}
	text := make([]byte, a.hi-a.lo)
	if _, err := f.ReadAt(text, int64(a.lo)); err != nil {
		a.t.Error(err)
	}
	return text
}

// compare takes away what was to be changed from what has changed, and counts what is left.
func (a *patchAudit) compare(after []byte, pages []*patch.PageEdit) {
	for _, pg := range pages {
		for _, p := range pg.Pieces {
			a.flips++
			a.offsets[p.Addr%64]++
			at := p.Addr - a.lo
			if !bytes.Equal(after[at:][:len(p.New)], p.New) {
				a.strange++
			}
			copy(a.before[at:], p.New)
		}
	}
	for i := range after {
		if after[i] != a.before[i] {
			a.strange++
		}
	}
}

// alignedKeys are pairs of a metric with the 64 copies of one set.
func alignedKeys(t *testing.T, metric, set string) (keys []grid.PairKey) {
	for i := range 64 {
		keys = append(keys, key(t, metric, fmt.Sprintf("/Code/aligned.c/%s%d", set, i)))
	}
	return keys
}

// TestPatchUnderExecution changes probes at all 64 alignments of a function while all processors run it: one set of functions
// keeps its counters and gets more probes at the same places and loses them, another one is bare in between. Counts are
// exact, what the program computes is undisturbed, and no thread stands inside bytes when they are changed.
func TestPatchUnderExecution(t *testing.T) {
	for name, flags := range map[string][]string{"pie": nil, "nopie": {"-no-pie", "-fno-pie"}} {
		t.Run(name, func(t *testing.T) {
			patchUnderExecution(t, testprog.Build(t, "daemon/testdata/aligned.c", flags...), rounds(12_000, 500_000))
		})
	}
}

func patchUnderExecution(t *testing.T, bin string, flips int) {
	p := testprog.StartTarget(t, bin, strconv.Itoa(2*numCPU()))
	audit := auditPatches(t) // before the first patch, and until after the last
	d := attachTo(t, p.PID)
	var s sums
	counters, timers := alignedKeys(t, "procedure_calls", "stay"), alignedKeys(t, "exec_time_inclusive", "stay")
	bare := alignedKeys(t, "exec_time_inclusive", "flip")
	d.mustEnable(t, &s, counters...)
	p.Say(t, "go")
	deferred, began := 0, time.Now()
	for k := 0; !audit.enough(flips); k++ {
		if time.Since(began) > 10*time.Minute {
			t.Fatal("too few flips, or no stop with a PC inside")
		}
		on := enableAll(t, d, &s, append(timers[k%3:], bare[k%5:]...))
		deferred += len(timers[k%3:]) + len(bare[k%5:]) - len(on)
		d.Disable(on)
		if k%2 == 0 {
			d.Settle()
		}
	}
	took := time.Since(began)
	p.Say(t, "stop")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(counters)
	want := p.Counts()["rounds"]
	for _, k := range counters {
		if got := uint64(s.of(k)); got != want || got == 0 {
			t.Errorf("%s: %d calls counted, the program made %d", k, got, want)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
	audit.report(t, took, deferred, d)
}

// report fails the test if a write was not as promised, or if the audit has seen too little to be believed.
func (a *patchAudit) report(t *testing.T, took time.Duration, deferred int, d *Daemon) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	pauses := d.Overhead().Pauses
	t.Logf("%d flips in %v, %d stops, %d of them given up because of a PC inside, %d pairs deferred; the worst pause %d us, the mean %d us; %d writes with a PC inside, %d bytes changed elsewhere",
		a.flips, took.Round(time.Millisecond), a.stops, a.stops-a.writes, deferred, pauses.MaxUS, pauses.TotalUS/int64(pauses.Count), a.violations, a.strange)
	switch {
	case a.violations > 0 || a.strange > 0:
		t.Errorf("%d writes with a PC inside, %d bytes changed elsewhere", a.violations, a.strange)
	case a.inside == 0 || a.inside > a.stops-a.writes:
		t.Errorf("the audit found a PC inside in %d stops, %d were given up", a.inside, a.stops-a.writes)
	case len(a.offsets) != 64:
		t.Errorf("only the offsets %v modulo 64 were changed", slices.Sorted(maps.Keys(a.offsets)))
	case pauses.MaxUS > (stops.Deadline + 100*time.Millisecond).Microseconds(): // giving up takes the whole of it
		t.Errorf("the target stood still for %d us", pauses.MaxUS)
	}
}

// numCPU is on how many processors this process may run.
func numCPU() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return 1
	}
	return set.Count()
}
