package daemon

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/daemon/segment"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/trampoline"
)

// spreads keeps what a daemon samples, distributions too.
type spreads struct {
	sums
	lock sync.Mutex
	of   map[grid.PairKey]*grid.Distribution
}

func (s *spreads) Distribute(k grid.PairKey, start, end float64, growth *grid.Distribution) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of == nil {
		s.of = map[grid.PairKey]*grid.Distribution{}
	}
	if s.of[k] == nil {
		s.of[k] = new(grid.Distribution)
	}
	s.of[k].Add(growth)
}

func (s *spreads) distribution(k grid.PairKey) *grid.Distribution {
	s.lock.Lock()
	defer s.lock.Unlock()
	if d := s.of[k]; d != nil {
		c := *d
		return &c
	}
	return new(grid.Distribution)
}

const histogramHead = `units "s/s"; unitsType normalized; aggregateOperator sum; style EventCounter; `

// timing is a metric that has the distribution of what a function takes.
func timing(name, kind, function, condition string) string {
	return fmt.Sprintf(`metric %[1]s { name "%[1]s"; `+histogramHead+`constraint procedureInclusive; base is histogram(%[2]sTimer) {
		append preInsn $function("%[3]s").entry constrained (* %[4]s start%[5]sTimer(%[1]s); *)
		prepend preInsn $function("%[3]s").return constrained (* stop%[5]sTimer(%[1]s); *) } }
`, name, kind, function, condition, strings.ToUpper(kind[:1])+kind[1:])
}

var latencyMetrics = timing("nap_time", "wall", "nap(long)", "") + timing("spin_time", "process", "spin(unsigned long)", "") +
	timing("risky_time", "wall", "risky(long)", "") + timing("find_time", "wall", "Store::find(long)", "if ($arg[1] > 1000)") +
	timing("find_any_time", "wall", "Store::find(long)", "") +
	`metric write_size { name "write_size"; units B; unitsType unnormalized; aggregateOperator sum; style EventCounter; constraint procedureInclusive;
		base is histogram(counter) { append preInsn $function("write").entry constrained (* write_size += $arg[2]; *) } }
	metric nap_sum { name "nap_sum"; ` + histogramHead + ` base is wallTimer {
		append preInsn $function("nap(long)").entry (* startWallTimer(nap_sum); *) prepend preInsn $function("nap(long)").return (* stopWallTimer(nap_sum); *) } }`

// truth reads what a target said of its own calls: sorted, in seconds or bytes.
func truth(p *testprog.Prog) map[string][]float64 {
	all := map[string][]float64{}
	for _, l := range p.Lines() {
		var name string
		var v float64
		if n, _ := fmt.Sscanf(l, "TOOK %s %g", &name, &v); n == 2 {
			all[name] = append(all[name], v/1e9)
		} else if n, _ := fmt.Sscanf(l, "SIZE %g", &v); n == 1 {
			all["write"] = append(all["write"], v)
		}
	}
	all["find_any"] = slices.Concat(all["find_small"], all["find_large"])
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// sameDistribution compares quantiles with those of values. Half a bucket and the time that the caller's own clock takes are
// allowed; and since a few calls were interrupted between the probe and that clock, neighbours in order count as well.
func sameDistribution(t *testing.T, what string, d *grid.Distribution, values []float64, qs ...float64) {
	t.Helper()
	if int(d.Count()) != len(values) || len(values) == 0 {
		t.Errorf("%s: %d values, the program had %d", what, d.Count(), len(values))
		return
	}
	for _, q := range qs {
		rank, near := max(1, int(math.Ceil(q*float64(len(values))-1e-9)))-1, len(values)/200
		exact, got := values[rank], d.Quantile(q)
		low, high := values[max(rank-near, 0)], values[min(rank+near, len(values)-1)]
		t.Logf("%-14s p%-5g %.6g, the program says %.6g (%+.1f %%)", what, 100*q, got, exact, 100*(got/exact-1))
		if got < 0.87*low-10e-6 || got > 1.13*high+10e-6 {
			t.Errorf("%s: quantile %g is %g, the program says %g to %g", what, q, got, low, high)
		}
	}
}

// TestDistributionsAreTrue: times by wall and processor clock, sizes of writes, restricted to code, to a condition on an argument and
// left by exceptions, of threads that have ended, against what the program measured itself.
func TestDistributionsAreTrue(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/latency.cc"))
	d := attachWith(t, latencyMetrics, p.PID)
	var s spreads
	keys := map[string]grid.PairKey{}
	for _, k := range []grid.PairKey{key(t, "nap_time", "/"), key(t, "spin_time", "/"), key(t, "risky_time", "/"), key(t, "find_time", "/"),
		key(t, "find_any_time", "/"), key(t, "write_size", "/Code/latency.cc/put(int, unsigned long)"), key(t, "nap_sum", "/"), key(t, "nap_time", "/Code/latency.cc/put(int, unsigned long)")} {
		keys[k.String()] = k
		d.mustEnable(t, &s, k)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	for _, k := range keys {
		d.Disable([]grid.PairKey{k})
	}
	of, want := func(k string) *grid.Distribution { return s.distribution(keys[k]) }, truth(p)
	sameDistribution(t, "nap", of("nap_time@/"), want["nap"], 0.25, 0.5, 0.75, 0.95, 0.995)
	sameDistribution(t, "spin", of("spin_time@/"), want["spin"], 0.1, 0.5, 0.7, 0.9)
	sameDistribution(t, "find large", of("find_time@/"), want["find_large"], 0.25, 0.5, 0.75)
	sameDistribution(t, "find any", of("find_any_time@/"), want["find_any"], 0.1, 0.25, 0.75, 0.9)
	sameDistribution(t, "write", of("write_size@/Code/latency.cc/put(int, unsigned long)"), want["write"], 0, 0.5, 0.9, 0.95, 0.99, 0.999, 1)
	exactSizes(t, of("write_size@/Code/latency.cc/put(int, unsigned long)"))
	if n, c := of("risky_time@/").Count(), p.Counts(); n != c["returned"]+c["thrown"] || c["thrown"] == 0 {
		t.Errorf("risky: %d values; it returned %d times and threw %d times", n, c["returned"], c["thrown"])
	}
	if n := of("nap_time@/Code/latency.cc/put(int, unsigned long)").Count(); n != 0 {
		t.Errorf("%d naps inside put, which never naps", n)
	}
	sumsAgree(t, &s, of("nap_time@/"), keys["nap_time@/"], keys["nap_sum@/"])
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// exactSizes: the buckets of values that are known exactly hold exactly as many.
func exactSizes(t *testing.T, d *grid.Distribution) {
	t.Helper()
	want := map[int]uint64{grid.BucketOf(100): 900, grid.BucketOf(5000): 90, grid.BucketOf(70000): 10}
	for i, n := range d.Counts {
		if n != want[i] {
			t.Errorf("bucket %d of sizes holds %d, want %d", i, n, want[i])
		}
	}
	if sum := 900*100.0 + 90*5000 + 10*70000; d.Sum != sum {
		t.Errorf("sizes sum up to %g, want %g", d.Sum, sum)
	}
}

// sumsAgree: the value of the pair is the sum as before, and the values of the distribution sum up to the same.
func sumsAgree(t *testing.T, s *spreads, d *grid.Distribution, with, without grid.PairKey) {
	t.Helper()
	a, b := s.sums.of(with), s.sums.of(without)
	t.Logf("%v: %.6f s, %v: %.6f s, values of the distribution together: %.6f s", with, a, without, b, d.Sum)
	if math.Abs(d.Sum-a) > 1e-5*a {
		t.Error("the values of the distribution are not those of its own sum")
	}
	if math.Abs(a-b) > 0.05*b { // a thread may lose its processor between two timers at one point
		t.Error("the sums with and without a distribution differ")
	}
}

// TestDistributionsRunOut: there is room for a number of distributions; the next is refused with what to do, other pairs are not,
// and room is given back.
func TestDistributionsRunOut(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/latency.cc"))
	text, most := latencyMetrics, segment.MaxDistributions(int32(trampoline.DefaultGeometry(1).BlockSize))
	for i := range most + 1 {
		text += timing(fmt.Sprint("time", i), "wall", "nap(long)", "")
	}
	d := attachWith(t, text, p.PID)
	var s spreads
	var keys []grid.PairKey
	for i := range most {
		keys = append(keys, key(t, fmt.Sprint("time", i), "/"))
	}
	d.mustEnable(t, &s, keys...)
	last := key(t, fmt.Sprint("time", most), "/")
	refused := d.Enable([]grid.PairKey{last}, &s)[0].Err
	if refused == nil || !strings.Contains(refused.Error(), fmt.Sprintf("room for the distributions of %d metric-focus pairs", most)) {
		t.Errorf("one more than %d: %v", most, refused)
	}
	t.Logf("%d have room; one more: %v", most, refused)
	d.mustEnable(t, &s, key(t, "nap_sum", "/"), key(t, "procedure_calls", "/Code/latency.cc/nap(long)"))
	d.Disable(keys[:1])
	d.Settle()
	d.mustEnable(t, &s, last)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(append(keys, last))
	naps := uint64(len(truth(p)["nap"]))
	for _, k := range append(keys[1:], last) {
		if n := s.distribution(k).Count(); n != naps {
			t.Errorf("%v: %d values of %d", k, n, naps)
		}
	}
	if n := s.distribution(keys[0]).Count(); n != 0 {
		t.Errorf("%v was disabled before and has %d values", keys[0], n)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestDistributionLeavesOutWhatBeganBefore: an activation that was under way when its pair was enabled is no value when it ends,
// while others that begin later are.
func TestDistributionLeavesOutWhatBeganBefore(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/eventloop.c"))
	d := attachWith(t, timing("loop_time", "wall", "event_loop", "")+timing("handle_time", "wall", "handle_event", ""), p.PID)
	var s spreads
	loop, handle := key(t, "loop_time", "/"), key(t, "handle_time", "/")
	inLoop := key(t, "handle_time", "/Code/eventloop.c/event_loop") // the flag of a function that was entered before
	d.mustEnable(t, &s, loop, handle, inLoop)
	for range 10 {
		p.MustBeat(t, 5*time.Second)
	}
	p.Say(t, "stop")
	p.Finish(t, 20*time.Second)
	d.Disable([]grid.PairKey{loop, handle, inLoop})
	n, in := s.distribution(handle).Count(), s.distribution(inLoop).Count()
	t.Logf("handle_event: %d values, %d in event_loop; event_loop itself: %d", n, in, s.distribution(loop).Count())
	if n == 0 || in < n-1 || in > n {
		t.Errorf("handle_event has %d values, %d of them in event_loop", n, in)
	}
	if got := s.distribution(loop).Count(); got != 0 {
		t.Errorf("event_loop has %d values; it was entered once, before", got)
	}
}

// TestDistributionsOfThreads: those of the single threads are together that of the process.
func TestDistributionsOfThreads(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/mutex.c"), "3")
	d := attachWith(t, timing("lookup_time", "wall", "lookup", ""), p.PID)
	d.Known()
	processName := d.Tree().Children(grid.Process)[0]
	whole := key(t, "lookup_time", "/")
	keys := []grid.PairKey{whole}
	for _, th := range d.Tree().Children(grid.Process, processName) {
		keys = append(keys, key(t, "lookup_time", "/Process/"+processName+"/"+th))
	}
	var s spreads
	d.mustEnable(t, &s, keys...)
	time.Sleep(time.Second)
	d.Disable(keys)
	var sum, busy uint64
	for _, k := range keys[1:] {
		n := s.distribution(k).Count()
		sum += n
		if n > 0 {
			busy++
		}
		t.Logf("%v: %d values, p50 %.3g s", k, n, s.distribution(k).Quantile(0.5))
	}
	all := s.distribution(whole).Count()
	// Each pair is switched off by a store of its own: a few calls lie between the first and the last.
	if diff := int64(all - sum); busy != 3 || all < 100 || diff < -int64(all/50)-10 || diff > int64(all/50)+10 {
		t.Errorf("%d values in all, %d together in %d threads", all, sum, busy)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestDistributionOfTwoProcesses: the values of all processes that a focus covers are merged.
func TestDistributionOfTwoProcesses(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/latency.cc")
	a, b := testprog.StartTarget(t, bin, "4", "2"), testprog.StartTarget(t, bin, "2", "2")
	d := attachWith(t, latencyMetrics, a.PID, b.PID)
	var s spreads
	both := key(t, "nap_time", "/")
	one := key(t, "nap_time", fmt.Sprintf("/Process/latency{%d}", b.PID))
	d.mustEnable(t, &s, both, one)
	for _, p := range []*testprog.Prog{a, b} {
		p.Say(t, "go")
	}
	for _, p := range []*testprog.Prog{a, b} {
		p.Expect(t, "DONE", time.Minute)
	}
	d.Disable([]grid.PairKey{both, one})
	naps := append(truth(a)["nap"], truth(b)["nap"]...)
	slices.Sort(naps)
	sameDistribution(t, "both", s.distribution(both), naps, 0.5, 0.95)
	sameDistribution(t, "the second", s.distribution(one), truth(b)["nap"], 0.5, 0.95)
	if clean, err := d.Detach(); !clean {
		t.Errorf("detach: %v", err)
	}
	a.Stop(t)
	b.Stop(t)
}

// TestOverwrittenBuckets: whatever a target writes into buckets, nobody panics, and what is told stays a distribution.
func TestOverwrittenBuckets(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/latency.cc"))
	d := attachWith(t, latencyMetrics, p.PID)
	g := grid.New(d, d.session.Library.Metric, d.Now)
	nap := key(t, "nap_time", "/")
	if r := g.Enable(nap); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	d.lockAll()
	pt := d.pairs[nap].parts[0]
	d.unlockAll()
	slot := pt.Process.Seg.SlotOf(0x12340) // nobody's
	for range 200 {
		for i := range int32(grid.DistributionBuckets) {
			pt.Process.Seg.Store(slot, pt.Probes.Buckets+8*i, rng.Uint64()>>rng.IntN(64))
		}
		d.tickAll()
		v, ok := g.Distribution(nap, 0)
		if !ok || v.Count() == 0 {
			t.Fatal("no values")
		}
		for _, q := range []float64{0, 0.5, 0.999, 1} {
			if x := v.Quantile(q); math.IsNaN(x) {
				t.Fatalf("quantile %g of %d values is %g", q, v.Count(), x)
			}
		}
	}
	g.DisableAll()
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestDistributionsOfThreadsThatEnd: blocks are freed for others when their threads have ended, and no value is lost with them.
func TestDistributionsOfThreadsThatEnd(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/stacks.c"), fmt.Sprint(rounds(8000, 200000)), "16")
	d := attachWith(t, timing("life_time", "wall", "short_life", ""), p.PID)
	var s spreads
	life := key(t, "life_time", "/")
	d.mustEnable(t, &s, life)
	p.Say(t, "go")
	p.Expect(t, "DONE", 10*time.Minute)
	d.Disable([]grid.PairKey{life})
	d.lockAll()
	blocks := len(d.targets[0].Seg.Used(nil))
	d.unlockAll()
	got, want := s.distribution(life), p.Counts()["short_life"]
	t.Logf("%d threads in %d blocks, %d values, p50 %.3g s", p.Counts()["threads"], blocks, got.Count(), got.Quantile(0.5))
	if got.Count() != want && !d.Targets()[0].Lossy || got.Count() > want {
		t.Errorf("%d values, the program made %d calls", got.Count(), want)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
