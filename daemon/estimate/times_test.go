package estimate

import (
	"errors"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/daemon/stack"
	"culprit/daemon/target"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
)

// A bench is a target of one thread, of which the test tells what the kernel accounts.
type bench struct {
	t     *testing.T
	table *threads.Table
	times *Times
	now   float64
	row   kernel.ThreadTimes
}

const tid = 7

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: 1, row: kernel.ThreadTimes{PID: os.Getpid(), TID: tid, Start: 1}}
	b.table = threads.New(threads.Config{PID: os.Getpid(), Name: "bench", Tree: grid.NewTree()})
	b.table.Update(b.now, []kernel.ThreadTimes{b.row}, 0)
	b.times = Of(&target.Target{Session: &target.Session{Began: time.Now()}, Threads: b.table}, nil)
	b.times.last = b.now
	return b
}

// pass lets a second go by, of which the thread ran for so long, and how often it was put on a processor.
func (b *bench) pass(run time.Duration, slices uint64) {
	b.now++
	b.row.Run += run
	b.row.Slices += slices
	b.table.Update(b.now, []kernel.ThreadTimes{b.row}, 0)
	b.times.Account(b.now)
}

// in is a sample of the thread in a function.
func (b *bench) in(f pcl.FuncID, blocked bool) {
	b.times.Note(&sampling.Sample{TID: tid, Frames: []stack.Frame{{Func: &program.Function{ID: f}}}, Blocked: blocked, At: b.now})
}

// timer begins to estimate a timer that runs while a function is on the stack.
func (b *bench) timer(kind pcl.Kind, f pcl.FuncID) *Meter {
	m := NewMeter(b.times, &pcl.Plan{Kind: kind, Vars: make([]pcl.Var, 1), Requests: []pcl.Request{{Func: f, Where: pcl.Entry,
		Code: []pcl.Instr{{Op: pcl.OpTimerEnter}}}}}, "")
	m.Begin()
	return m
}

func (b *bench) want(what string, m *Meter, want float64) {
	b.t.Helper()
	if got := m.Grown(0); math.Abs(got-want) > 1e-9 {
		b.t.Errorf("%s: %g s, want %g", what, got, want)
	}
}

// TestTimesAreShared: the time that a thread ran is shared out among the samples of it, and waits for one where there is none.
func TestTimesAreShared(t *testing.T) {
	b := newBench(t)
	one, two := b.timer(pcl.ProcessTimer, 1), b.timer(pcl.ProcessTimer, 2)
	if _, ok := one.Variance(); ok {
		t.Error("an error is known before the first sample")
	}
	for _, f := range []pcl.FuncID{1, 1, 1, 2} {
		b.in(f, false)
	}
	b.pass(800*time.Millisecond, 1)
	b.want("three samples of four", one, 0.6)
	b.want("one of four", two, 0.2)
	if v, ok := one.Variance(); !ok || v <= 0 {
		t.Errorf("variance %g, known: %v", v, ok)
	}
	b.pass(300*time.Millisecond, 1)
	b.want("no sample", one, 0)
	b.in(1, false)
	b.pass(100*time.Millisecond, 1)
	b.want("a sample after a second without", one, 0.4)
	if n := b.times.Taken(); n != 5 || b.times.Taken() != 0 {
		t.Errorf("%d samples of a thread that ran, taken 5", n)
	}
	two.Close()
	b.in(2, false)
	b.pass(100*time.Millisecond, 1)
	b.want("a meter that was closed", two, 0)
}

// TestTimesInTheKernel: what the kernel keeps of system calls and page faults is estimated by the samples in them; of faults a thread may
// also wait, outside of any system call.
func TestTimesInTheKernel(t *testing.T) {
	b := newBench(t)
	kept := func(name string) *Meter {
		m := NewMeter(b.times, &pcl.Plan{Kind: pcl.Kernel, KernelName: name, Vars: make([]pcl.Var, 1), Requests: []pcl.Request{{Func: 1, Where: pcl.Entry,
			Code: []pcl.Instr{{Op: pcl.OpTimerEnter}}}}}, "")
		m.Begin()
		return m
	}
	calls, faults := kept("system_time"), kept("fault_time")
	b.in(2, true)
	b.pass(0, 0)
	in := func(f pcl.FuncID, x sampling.Sample) {
		x.TID, x.Frames, x.At = tid, []stack.Frame{{Func: &program.Function{ID: f}}}, b.now
		b.times.Note(&x)
	}
	for _, m := range []kernel.Mode{kernel.UserMode, kernel.CallMode, kernel.CallMode, kernel.FaultMode, kernel.UnknownMode} {
		in(1, sampling.Sample{Mode: m})
		in(2, sampling.Sample{Mode: m})
	}
	b.pass(time.Second, 1)
	b.want("in system calls", calls, 0.2)
	b.want("in page faults", faults, 0.1)
	in(1, sampling.Sample{Blocked: true, Call: kernel.BlockedCall{NR: -1}})
	b.pass(0, 1)
	b.want("waiting in a page fault", faults, 1)
	in(1, sampling.Sample{Blocked: true, Call: kernel.BlockedCall{NR: 0}})
	b.pass(0, 1)
	b.want("waiting in a system call", calls, 0)
}

// TestWhatSamplesLack: time in the kernel takes samples of threads there, and time in page faults those of threads that wait, too.
func TestWhatSamplesLack(t *testing.T) {
	lacking := map[sampling.Need]bool{}
	s := Of(&target.Target{Session: &target.Session{Began: time.Now()}}, func(n sampling.Need) error {
		if lacking[n] {
			return grid.ErrNotPermitted{}
		}
		return nil
	})
	for _, c := range []struct {
		plan pcl.Plan
		of   []sampling.Need
	}{
		{pcl.Plan{Kind: pcl.ProcessTimer}, []sampling.Need{sampling.Running}},
		{pcl.Plan{Kind: pcl.WallTimer}, []sampling.Need{sampling.Running, sampling.Waiting}},
		{pcl.Plan{Kind: pcl.Kernel, KernelName: "system_time"}, []sampling.Need{sampling.Running, sampling.Modes}},
		{pcl.Plan{Kind: pcl.Kernel, KernelName: "fault_time"}, []sampling.Need{sampling.Running, sampling.Modes, sampling.Waiting}},
	} {
		for _, n := range []sampling.Need{sampling.Running, sampling.Waiting, sampling.Modes} {
			clear(lacking)
			lacking[n] = true
			if err := s.Tells(&c.plan); (err != nil) != slices.Contains(c.of, n) {
				t.Errorf("%v %q without %d: %v", c.plan.Kind, c.plan.KernelName, n, err)
			}
		}
	}
	clear(lacking)
	var other grid.ErrNotSampled
	if err := s.Tells(&pcl.Plan{Kind: pcl.Kernel, KernelName: "blocked_file"}); !errors.As(err, &other) {
		t.Errorf("blocked_file: %v", err)
	}
}

// TestBlockedStays: as long as a thread does not run, its last sample says what it does, and it needs no other look.
func TestBlockedStays(t *testing.T) {
	b := newBench(t)
	b.pass(0, 0)
	if !b.times.NeedsLook(tid, b.now) || b.times.Known() != 0 {
		t.Error("a thread that nobody has looked at needs no look")
	}
	wall, cpu := b.timer(pcl.WallTimer, 1), b.timer(pcl.ProcessTimer, 1)
	b.in(1, true)
	for range 2 {
		b.pass(0, 0)
		b.want("blocked for a second", wall, 1)
		b.want("processor time while it is blocked", cpu, 0)
	}
	if b.times.NeedsLook(tid, b.now-1) || b.times.Known() != 1 {
		t.Error("a thread that has not moved needs a look")
	}
	if !b.times.NeedsLook(tid, b.now+lookStale) {
		t.Error("what was seen long ago needs no look")
	}
	b.pass(100*time.Millisecond, 1)
	if !b.times.NeedsLook(tid, b.now) {
		t.Error("a thread that has run needs no look")
	}
}
