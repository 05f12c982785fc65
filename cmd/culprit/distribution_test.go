package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/internal/testprog"
	"culprit/session/report"
)

const napTime = `metric napTime { name "nap_time"; units "s/s"; unitsType normalized; aggregateOperator sum; style EventCounter;
	base is histogram(wallTimer) { append preInsn $function("nap(long)").entry (* startWallTimer(napTime); *)
		prepend preInsn $function("nap(long)").return (* stopWallTimer(napTime); *) } }`

// TestWatchADistribution: what --watch says of a metric whose base is a histogram, in sentences and in the report, against what
// the program measured.
func TestWatchADistribution(t *testing.T) {
	p := startTarget(t, "latency.cc")
	c := culprit(t, "attach", "--no-search", "--json", "@REPORT", "-e", napTime, "--watch", "nap_time", "--watch", "cpu", fmt.Sprint(p.PID))
	c.awaitPatched(p.PID)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	p.Stop(t)
	c.want(exitEnded)
	took := naps(p)
	pairs := c.read().Pairs
	d := pairs[0].Distribution
	if d == nil || pairs[1].Distribution != nil {
		t.Fatalf("the wrong pairs have a distribution\n%s", c.story())
	}
	if int(d.Count) != len(took) || d.Below != 0 || d.Unit != "s" {
		t.Errorf("%d values (%d below 0) in %s, want %d", d.Count, d.Below, d.Unit, len(took))
	}
	for q, got := range map[float64]report.Missing{0.5: d.P50, 0.99: d.P99} {
		// A few calls were interrupted between the probe and the program's own clock: their neighbours in order count as well.
		rank := int(math.Ceil(q*float64(len(took)))) - 1
		t.Logf("p%g: %.4f ms, the program says %.4f ms", 100*q, 1e3*got, 1e3*took[rank])
		if v := float64(got); v < 0.87*took[rank-5]-10e-6 || v > 1.13*took[rank+5]+10e-6 {
			t.Errorf("p%g: %g s, the program says %g s to %g s", 100*q, got, took[rank-5], took[rank+5])
		}
	}
	var sum uint64
	for _, b := range d.Buckets {
		sum += b.Count
	}
	if sum != d.Count || float64(d.Max) < took[len(took)-1]*0.99 {
		t.Errorf("the buckets hold %d of %d values; none is above %g s, the program says %g s", sum, d.Count, d.Max, took[len(took)-1])
	}
	if !regexp.MustCompile(`(?m)^    1000 values: mean [\d.]+ ms, p50 [\d.]+ (ms|us), p90 .*, p99 .*, p99\.9 .*, max at most [\d.]+ m?s$`).Match(c.out.Bytes()) ||
		!regexp.MustCompile(`(?m)^ +[\d.]+ (us|ms) to [\d.]+ ms #{40} \d+$`).Match(c.out.Bytes()) {
		t.Errorf("the answer lacks the distribution\n%s", c.story())
	}
}

// naps are the times of nap that the program measured itself, sorted, in seconds.
func naps(p *testprog.Prog) (took []float64) {
	for _, l := range p.Lines() {
		var ns float64
		if n, _ := fmt.Sscanf(l, "TOOK nap %g", &ns); n == 1 {
			took = append(took, ns/1e9)
		}
	}
	slices.Sort(took)
	return took
}

// awaitPatched waits until code of the target is changed.
func (c *tool) awaitPatched(pid int) {
	c.t.Helper()
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if r, err := patch.Verify(pid); err == nil && r.DifferingBytes > 0 {
			return
		}
	}
	c.t.Fatalf("no code was changed\n%s", c.story())
}
