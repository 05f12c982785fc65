package daemon

import (
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestWeightsOfTheKernel: samples say below which functions the kernel works for the program, in system calls and in page faults.
func TestWeightsOfTheKernel(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/modes.c"))
	d := attachTo(t, p.PID)
	p.Say(t, "go")
	at := func(name string) grid.Focus { return grid.Whole().Refine(grid.Code, "modes.c", name) }
	awaitWeight(t, d, at("ask"), "system_call", 0.7)
	awaitWeight(t, d, at("touch"), "page_fault", 0.9)
	awaitWeight(t, d, at("compute"), "cpu", 0.25)
	time.Sleep(time.Second) // until there are some hundred samples
	for f, kind := range map[string]string{"ask": "page_fault", "compute": "system_call"} {
		if w := d.Weight(at(f), kind); w > 0.1 {
			t.Errorf("%s is on %.2f of the %s stacks", f, w, kind)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestSamplesTellTimeInTheKernel: where nothing is put into a program, samples tell what its functions cost in the kernel.
func TestSamplesTellTimeInTheKernel(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/modes.c"))
	d := lookAt(t, p.PID)
	pair := func(metric, function string) grid.PairKey {
		return grid.PairKey{Metric: metric, Focus: grid.Whole().Refine(grid.Code, "modes.c", function)}
	}
	shares := []struct {
		metric, function string
		least, most      float64 // of the CPU time of the function
	}{
		{"system_time", "ask", 0.8, 1}, {"fault_time", "ask", 0, 0.05},
		{"fault_time", "touch", 0.5, 1}, {"system_time", "touch", 0.02, 0.5},
		{"system_time", "compute", 0, 0.05}, {"fault_time", "compute", 0, 0.1},
	}
	var keys []grid.PairKey
	for _, s := range shares {
		keys = append(keys, pair(s.metric, s.function), pair("cpu_inclusive", s.function))
	}
	var s sums
	for _, r := range d.Enable(keys, &s) {
		if r.Err != nil || r.Tier != grid.TierSample {
			t.Fatalf("%s: tier %q, %v", r.Key, r.Tier, r.Err)
		}
	}
	p.Say(t, "go")
	time.Sleep(3 * time.Second)
	d.Disable(keys)
	for _, c := range shares {
		of, all := s.of(pair(c.metric, c.function)), s.of(pair("cpu_inclusive", c.function))
		t.Logf("%s of %s: %.3f of %.3f s", c.metric, c.function, of, all)
		if all < 0.2 || of < c.least*all || of > c.most*all {
			t.Errorf("%s of %s: %.3f of %.3f s, should be %.2f to %.2f of it", c.metric, c.function, of, all, c.least, c.most)
		}
	}
	p.Stop(t)
}

// TestRunningSamplesTellTimeInTheKernel: in a program with probes samples tell the same of the whole program and of functions, so that the kernel
// need not note each system call of the machine.
func TestRunningSamplesTellTimeInTheKernel(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/modes.c"))
	d := attachTo(t, p.PID)
	at := func(metric, function string) grid.PairKey {
		f := grid.Whole()
		if function != "" {
			f = f.Refine(grid.Code, "modes.c", function)
		}
		return grid.PairKey{Metric: metric, Focus: f}
	}
	var keys []grid.PairKey
	for _, f := range []string{"", "ask", "touch", "compute"} {
		keys = append(keys, at("system_time_sampled", f), at("fault_time_sampled", f))
	}
	var s sums
	for _, r := range d.Enable(append(keys, at("cpu", "")), &s) {
		if r.Err != nil || r.Tier != grid.TierSample && r.Key.Metric != "cpu" {
			t.Fatalf("%s: tier %q, %v", r.Key, r.Tier, r.Err)
		}
	}
	p.Say(t, "go")
	awaitCPU(t, p.PID, 2*time.Second)
	d.Disable(append(keys, at("cpu", "")))
	cpu, calls, faults := s.of(at("cpu", "")), s.of(at("system_time_sampled", "")), s.of(at("fault_time_sampled", ""))
	ask, touch := s.of(at("system_time_sampled", "ask")), s.of(at("fault_time_sampled", "touch"))
	t.Logf("%.2f s of CPU time, %.2f in system calls (%.2f in ask), %.2f in faults (%.2f in touch)", cpu, calls, ask, faults, touch)
	if calls < 0.2*cpu || faults < 0.1*cpu || calls+faults > cpu {
		t.Error("the kernel works for a third of the time in calls, and for a part of another in faults")
	}
	if ask > calls || touch > faults || ask < 0.5*calls || touch < 0.8*faults {
		t.Error("most of it is in the functions that ask for it, and a part is no more than the whole")
	}
	if c, f := s.of(at("system_time_sampled", "compute")), s.of(at("fault_time_sampled", "compute")); c+f > 0.05*cpu {
		t.Errorf("%.2f s in the kernel where nothing is asked of it", c+f)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// awaitCPU waits until a process has used CPU time.
func awaitCPU(t *testing.T, pid int, span time.Duration) {
	t.Helper()
	begin, err := kernel.ProcessTime(pid)
	for now := begin; err == nil && now-begin < span; now, err = kernel.ProcessTime(pid) {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
}
