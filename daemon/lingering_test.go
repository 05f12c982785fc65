package daemon

import (
	"slices"
	"testing"
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/measuring"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestLingering: what is switched off stays in the text for a moment, goes with what takes its place at a site without a stop of its own,
// and goes by itself otherwise; nothing of it counts meanwhile.
func TestLingering(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/loops.c", "-O1"), "30000", "3")
	d := attachTo(t, p.PID)
	calls := key(t, "procedure_calls", "/Code/loops.c/deep")
	spent := key(t, "exec_time_inclusive", "/Code/loops.c/deep")
	alone := key(t, "procedure_calls", "/Code/loops.c/choose")
	var s sums
	d.mustEnable(t, &s, calls, alone)
	d.Disable([]grid.PairKey{calls, alone})
	if n := d.leftIn("deep"); n != 1 {
		t.Errorf("%d parts are at deep after it was switched off, want 1: it lingers", n)
	}
	d.mustEnable(t, &s, spent)
	if n := d.leftIn("deep"); n != 1 {
		t.Errorf("%d parts are at deep, want 1: the other went when this one came", n)
	}
	if n := d.leftIn("choose"); n != 1 {
		t.Errorf("%d parts are at choose, want 1: nothing takes its place", n)
	}
	for end := time.Now().Add(20 * time.Second); d.leftIn("choose") > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what was switched off is still in the text")
		}
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable([]grid.PairKey{spent})
	if s.of(calls) != 0 || s.of(alone) != 0 {
		t.Errorf("%.0f and %.0f calls were counted by what was switched off", s.of(calls), s.of(alone))
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestLingeringCells: the cells of what lingers are not given to others, so that what is enabled next begins at nothing, again and again.
func TestLingeringCells(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/loops.c", "-O1"), "30000", "3")
	d := attachTo(t, p.PID)
	var s sums
	turns := key(t, "loop_iterations", "/Code/loops.c/deep/loop_1")
	for range batch.MostLingering + 50 {
		k := key(t, "exec_time_inclusive", "/Code/loops.c/choose")
		d.mustEnable(t, &s, k)
		d.Disable([]grid.PairKey{k})
	}
	d.lockAll()
	off := d.lingering.Of(d.targets[0])
	left, seen := len(off), map[int32]bool{}
	for _, p := range off {
		for _, c := range p.(*measuring.Part).Probes.Cells {
			if seen[c.Off] {
				t.Errorf("two parts that linger have the cell at %d", c.Off)
			}
			seen[c.Off] = true
		}
	}
	d.unlockAll()
	if left > batch.MostLingering+1 {
		t.Errorf("%d parts linger, at most %d may", left, batch.MostLingering)
	}
	d.mustEnable(t, &s, turns)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable([]grid.PairKey{turns})
	if got, want := uint64(s.of(turns)), p.Counts()["deep"]; got != want || want == 0 {
		t.Errorf("%d turns counted, the program says %d", got, want)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// leftIn counts the parts with code at the sites of a function.
func (d *Daemon) leftIn(function string) int {
	d.lockAll()
	defer d.unlockAll()
	var parts []*measuring.Part
	t := d.targets[0]
	for _, id := range t.Function("loops.c", function) {
		for _, s := range t.Text.Sites() {
			if !s.Patched() || t.FunctionAt(s.Addr) != t.Func(id) {
				continue
			}
			for _, o := range s.Owners() {
				if p := o.(*measuring.Part); !slices.Contains(parts, p) {
					parts = append(parts, p)
				}
			}
		}
	}
	return len(parts)
}
