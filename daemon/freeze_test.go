package daemon

import (
	"math"
	"os/exec"
	"sync"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// A gaps keeps for how long there were no values of a pair.
type gaps struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
	n       int
}

func (g *gaps) Sample(grid.PairKey, float64, float64, float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if !g.last.IsZero() {
		g.longest = max(g.longest, now.Sub(g.last))
	}
	g.last = now
	g.n++
}

// begin forgets what was; end gives the longest gap since then and the number of values.
func (g *gaps) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.longest, g.n = time.Now(), 0, 0
}

func (g *gaps) end() (longest time.Duration, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(g.longest, time.Since(g.last)), g.n
}

// waitsOf asks questions until done is closed, and gives the longest time that each has taken.
func waitsOf(done <-chan struct{}, questions map[string]func()) map[string]time.Duration {
	longest := map[string]time.Duration{}
	for {
		for name, ask := range questions {
			began := time.Now()
			ask()
			longest[name] = max(longest[name], time.Since(began))
		}
		select {
		case <-done:
			return longest
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestEnablingFreezesNobody counts at all functions of a large program, which takes a while: meanwhile there are values of another program, and whoever asks
// what people look at, or for something of the other program, has an answer at once.
func TestEnablingFreezesNobody(t *testing.T) {
	require.Root(t)
	cmd := exec.Command(require.Tool(t, "gdb"), "-q", "-nx", "-nh", "-ex", `echo \nREADY\n`)
	cmd.Env = append(cmd.Environ(), "TERM=dumb", "DEBUGINFOD_URLS=")
	large := testprog.StartCmd(t, cmd)
	large.Expect(t, "READY", 20*time.Second)
	small := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	d := attachWith(t, passages, large.PID, small.PID)
	process := grid.Whole().Refine(grid.Process, d.targets[1].Name)
	calls := grid.PairKey{Metric: "procedure_calls", Focus: process.Refine(grid.Code, "cpu.c", "handle")}
	var values gaps
	if r := d.Enable([]grid.PairKey{calls}, &values); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	time.Sleep(time.Second) // until its price is known
	values.begin()
	done := make(chan struct{})
	var asking sync.WaitGroup
	var waits map[string]time.Duration
	asking.Go(func() {
		waits = waitsOf(done, map[string]func(){
			"targets":     func() { d.Targets() },
			"probes":      func() { d.Probes() },
			"overhead":    func() { d.Overhead() },
			"cost":        func() { d.ObservedCost() },
			"uncertainty": func() { d.Uncertainty(calls) },
			"unsure":      func() { d.Unsure(calls) },
			"placed":      func() { d.Placed(calls) },
			"source":      func() { d.Source(calls.Focus) },
		})
	})
	var s sums
	all := grid.PairKey{Metric: "passages", Focus: grid.Whole().Refine(grid.Code, "gdb")}
	began := time.Now()
	r := d.Enable([]grid.PairKey{all}, &s)
	took := time.Since(began)
	gap, n := values.end()
	close(done)
	asking.Wait()
	if r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	t.Logf("enabling took %v; %d values of the other program, %v apart at most; longest waits %v", took, n, gap, waits)
	d.Disable([]grid.PairKey{all, calls})
	detachClean(t, d, large.PID)
	large.Say(t, "quit")
	large.Wait(t, 20*time.Second)
	small.Stop(t)
	took = max(took, 2*time.Second) // where enabling takes less it freezes nobody for long
	if most := took / 3; gap > most {
		t.Errorf("no value of the other program for %v", gap)
	}
	for what, wait := range waits {
		if wait > took/8 {
			t.Errorf("%s took %v", what, wait)
		}
	}
}

// A chain keeps the values of pairs, and whether each began where the one before had ended.
type chain struct {
	sums
	mu     sync.Mutex
	ends   map[grid.PairKey]float64
	values map[grid.PairKey]int
	torn   bool
}

func (c *chain) Sample(k grid.PairKey, start, end, v float64) {
	c.sums.Sample(k, start, end, v)
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.ends[k]; ok && before != start {
		c.torn = true
	}
	c.ends[k] = end
	c.values[k]++
}

func (c *chain) number(k grid.PairKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[k]
}

// TestPairOfABusyTarget has one of two programs be worked on for a while: what is measured of the other alone goes on, what is measured of both waits, and
// nothing of it is lost, whether probes count it or the kernel keeps it.
func TestPairOfABusyTarget(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/cpu.c")
	first, second := testprog.StartTarget(t, bin), testprog.StartTarget(t, bin)
	d := attachTo(t, first.PID, second.PID)
	at := func(metric string, code ...string) (keys [3]grid.PairKey) {
		for i := range keys {
			f := grid.Whole()
			if i > 0 {
				f = f.Refine(grid.Process, d.targets[i-1].Name)
			}
			if len(code) > 0 {
				f = f.Refine(grid.Code, code...)
			}
			keys[i] = grid.PairKey{Metric: metric, Focus: f}
		}
		return keys
	}
	calls, cpu := at("procedure_calls", "cpu.c", "handle"), at("cpu")
	all := append(calls[:], cpu[:]...)
	c := &chain{ends: map[grid.PairKey]float64{}, values: map[grid.PairKey]int{}}
	for _, r := range d.Enable(all, c) {
		if r.Err != nil {
			t.Fatal(r.Key, r.Err)
		}
	}
	time.Sleep(time.Second)
	d.targets[0].Lock()
	both, other := c.number(calls[0]), c.number(calls[2])
	time.Sleep(1500 * time.Millisecond)
	if n := c.number(calls[0]) - both; n != 0 {
		t.Errorf("%d values of both programs, and one could not be read", n)
	}
	if n := c.number(calls[2]) - other; n < 2 {
		t.Errorf("%d values of the program that nobody works on", n)
	}
	d.targets[0].Unlock()
	time.Sleep(time.Second)
	d.Disable(all)
	for _, k := range [][3]grid.PairKey{calls, cpu} {
		sum, parts := c.of(k[0]), c.of(k[1])+c.of(k[2])
		t.Logf("%s: %g, and %g in the two", k[0].Metric, sum, parts)
		if sum == 0 || math.Abs(sum-parts) > 0.02*parts {
			t.Errorf("%s: %g in both programs together, %g in the two", k[0].Metric, sum, parts)
		}
	}
	if c.torn {
		t.Error("a value does not begin where the one before has ended")
	}
	detachClean(t, d, first.PID)
	first.Stop(t)
	second.Stop(t)
}
