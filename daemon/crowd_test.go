package daemon

import (
	"context"
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl/check"
)

// attachTree attaches to a process and all its descendants.
func attachTree(t testing.TB, texts []string, pid int) *Daemon {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: texts})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	d, err := Attach(context.Background(), Options{Library: lib, Children: true, Log: func(string) {}}, pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	return d
}

// awaitTargets waits until as many processes are measured that have not ended.
func (d *Daemon) awaitTargets(t testing.TB, n int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for d.alive() != n {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes are measured, not %d", d.alive(), n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (d *Daemon) alive() (n int) {
	for _, i := range d.Targets() {
		if !i.Ended {
			n++
		}
	}
	return n
}

// ofWork counts calls of work in four ways of bringing processes together.
const ofWork = `metric works { name "works"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
    base is counter { append preInsn $function("work").entry (* works++; *) } }
metric worksLeast { name "works_least"; units calls; unitsType unnormalized; aggregateOperator min; style EventCounter;
    base is counter { append preInsn $function("work").entry (* worksLeast++; *) } }
metric worksMost { name "works_most"; units calls; unitsType unnormalized; aggregateOperator max; style EventCounter;
    base is counter { append preInsn $function("work").entry (* worksMost++; *) } }`

// TestCrowd attaches to a server of many processes that were forked and have executed nothing: those that are there and those that
// begin later are measured, counts are exact in sum and by process, and a process that ends keeps its numbers.
func TestCrowd(t *testing.T) {
	children := rounds(12, 60)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/crowd.c"), fmt.Sprint(children), "3", "20000")
	d := attachTree(t, []string{ofWork}, p.PID)
	d.awaitTargets(t, 1+children)
	var s sums
	all, inCode := key(t, "works", "/"), key(t, "procedure_calls", "/Code/crowd.c/work")
	var each []grid.PairKey
	for _, i := range d.Targets() {
		each = append(each, key(t, "procedure_calls", fmt.Sprintf("/Code/crowd.c/work,/Process/crowd{%d}", i.PID)))
	}
	d.mustEnable(t, &s, append(each, all, inCode)...)
	p.Say(t, "more 5")
	p.Expect(t, "BORN", 10*time.Second)
	d.awaitTargets(t, 1+children+5) // nobody works before "go": nothing is lost until they are measured
	p.Say(t, "go")
	time.Sleep(time.Second)
	p.Say(t, "end 3")
	p.Expect(t, "GONE 3", 10*time.Second)
	d.awaitTargets(t, 1+children+2)
	time.Sleep(300 * time.Millisecond)
	p.Say(t, "pause")
	p.Expect(t, "PAUSED", 10*time.Second)
	d.Disable(append(each, all, inCode))
	gone := 0
	for _, i := range d.Targets() {
		if i.Ended {
			gone++
		}
	}
	detachTree(t, d)
	p.Stop(t)
	c := p.Counts()
	var byProcess float64
	ended := s.of(each[1]) + s.of(each[2]) + s.of(each[3])
	for _, k := range each {
		byProcess += s.of(k)
	}
	t.Logf("%d processes, %d of them ended: %v calls counted, %v of them by process; the program made %d, %d of them in processes that ended (counted %v)",
		1+c["children"], gone, s.of(all), byProcess, c["work"], c["work_gone"], ended)
	if s.of(all) != float64(c["work"]) || s.of(inCode) != float64(c["work"]) {
		t.Errorf("%v and %v calls counted, the program made %d", s.of(all), s.of(inCode), c["work"])
	}
	if ended != float64(c["work_gone"]) || ended == 0 {
		t.Errorf("%v calls counted in the processes that ended, they made %d", ended, c["work_gone"])
	}
	if gone != 3 {
		t.Errorf("%d processes are listed as ended", gone)
	}
}

// detachTree detaches and checks that nothing is left in any process that lives.
func detachTree(t testing.TB, d *Daemon) {
	t.Helper()
	targets := d.Targets()
	if clean, err := d.Detach(); !clean {
		t.Fatalf("detach: %v", err)
	}
	for _, i := range targets {
		if r, err := patch.Verify(i.PID); !i.Ended && (err != nil || !r.Clean()) {
			t.Errorf("left behind in %d: %+v, %v", i.PID, r, err)
		}
	}
}

// TestLeastAndMostOverProcesses: minima and maxima are over the processes that live, by what each did in an interval.
func TestLeastAndMostOverProcesses(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/crowd.c"), "4", "1", "2000")
	var workers []int // without their parent, who does nothing
	for _, c := range kernel.Processes() {
		if c.Parent == p.PID {
			workers = append(workers, c.PID)
		}
	}
	d := attachWith(t, ofWork, workers...)
	var s sums
	least, most := key(t, "works_least", "/"), key(t, "works_most", "/")
	d.mustEnable(t, &s, least, most)
	p.Say(t, "go")
	time.Sleep(time.Second)
	p.Say(t, "pause")
	p.Expect(t, "PAUSED", 10*time.Second)
	d.Disable([]grid.PairKey{least, most})
	detachTree(t, d)
	p.Stop(t)
	c := p.Counts()
	t.Logf("least %v, most %v; each did %d to %d", s.of(least), s.of(most), c["work_least"], c["work_most"])
	// The busiest of an interval need not be the busiest of all: sums of the intervals' maxima are larger, of minima smaller.
	if a, b := s.of(least), float64(c["work_least"]); a > b || a < 0.7*b {
		t.Errorf("least %v", a)
	}
	if a, b := s.of(most), float64(c["work_most"]); a < b || a > 1.3*b {
		t.Errorf("most %v", a)
	}
}

// TestHundredsOfProcesses measures two hundred processes with five threads each: what that takes of a processor and of memory, and
// that no count is lost.
func TestHundredsOfProcesses(t *testing.T) {
	children, span := rounds(60, 200), time.Duration(rounds(3, 30))*time.Second
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/crowd.c"), fmt.Sprint(children), "5", "200000")
	debug.FreeOSMemory()
	before, began := residentKB(t), time.Now()
	d := attachTree(t, []string{ofWork}, p.PID)
	d.awaitTargets(t, 1+children)
	took := time.Since(began)
	d.Known()
	var s sums
	keys := []grid.PairKey{key(t, "works", "/"), key(t, "procedure_calls", "/Code/crowd.c/work"), key(t, "cpu", "/"), key(t, "active_threads", "/"),
		key(t, "exec_time_inclusive", "/Code/crowd.c/work"), key(t, "switches_voluntary", "/")}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	time.Sleep(3 * time.Second) // until attaching and enabling are over
	debug.FreeOSMemory()
	cpu, since := ownCPU(t), time.Now()
	time.Sleep(span)
	used := (ownCPU(t) - cpu).Seconds() / time.Since(since).Seconds()
	debug.FreeOSMemory()
	grown := residentKB(t) - before
	p.Say(t, "pause")
	p.Expect(t, "PAUSED", 10*time.Second)
	d.Disable(keys)
	detachTree(t, d)
	p.Stop(t)
	c := p.Counts()
	t.Logf("%d processes and %d threads: attached in %v; %.2f %% of a processor over %v; %d MiB more memory (%d KiB for each process); %v calls counted, %d made",
		children+1, 5*children+1, took.Round(time.Millisecond), 100*used, span, grown>>10, grown/(children+1), s.of(keys[0]), c["work"])
	if s.of(keys[0]) != float64(c["work"]) || s.of(keys[1]) != float64(c["work"]) {
		t.Errorf("%v and %v calls counted, the program made %d", s.of(keys[0]), s.of(keys[1]), c["work"])
	}
	limit := 0.03
	if !*long || busy() {
		limit = 0.06 // a short span, or a machine whose caches others fill
	}
	if used > limit {
		t.Errorf("%.2f %% of a processor", 100*used)
	}
	if grown > 400<<10 {
		t.Errorf("%d MiB more memory", grown>>10)
	}
}

// ownCPU is the processor time of this process.
func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// TestShortLives: children that come and go by the hundred, some of which are attached to in the middle of their work, do what they do
// undisturbed, and their parent's own calls are counted exactly.
func TestShortLives(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/forker.c")
	want := testprog.StartTarget(t, bin, "12000000").Stop(t)
	p := testprog.StartTarget(t, bin, "12000000") // each child lives for some 50 ms
	d := attachTree(t, nil, p.PID)
	var s sums
	all := key(t, "procedure_calls", "/Code/forker.c/work")
	own := ofProcess(all, t, d, p.PID)
	d.mustEnable(t, &s, all, own)
	time.Sleep(time.Duration(rounds(2, 60)) * time.Second)
	joined := len(d.Targets()) - 1
	before := s.of(own)
	if got := p.Stop(t); got != want {
		t.Errorf("it ended with %s, undisturbed with %s", got, want)
	}
	c := p.Counts()
	if clean, err := d.Detach(); !clean {
		t.Errorf("detach: %v", err)
	}
	t.Logf("%d children, %d of them measured; %v calls in the parent until shortly before its end, which made %d; %v in all", c["one_child"], joined, before, c["work"], s.of(all))
	if before > float64(c["work"]) || c["one_child"] < 5 || joined == 0 {
		t.Errorf("%v calls of %d counted beside %d children, of which %d were measured", before, c["work"], c["one_child"], joined)
	}
}

// TestLastValuesAreHandedOn: what a child did at last is in the sums over all processes, also if somebody works on another process when it ends.
func TestLastValuesAreHandedOn(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/crowd.c"), "2", "1", "1000")
	d := attachTree(t, nil, p.PID)
	d.awaitTargets(t, 3)
	var s sums
	all := key(t, "procedure_calls", "/Code/crowd.c/work")
	d.mustEnable(t, &s, all)
	first := d.list()[0]
	p.Say(t, "go")
	time.Sleep(300 * time.Millisecond)
	first.Lock()
	p.Say(t, "end 1")
	p.Expect(t, "GONE 1", 10*time.Second)
	d.awaitTargets(t, 2)
	time.Sleep(500 * time.Millisecond) // some passes, which leave out the first
	first.Unlock()
	for deadline := time.Now().Add(10 * time.Second); len(d.list()) > 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes are kept, want 2", len(d.list()))
		}
	}
	p.Say(t, "pause")
	p.Expect(t, "PAUSED", 10*time.Second)
	d.Disable([]grid.PairKey{all})
	detachTree(t, d)
	p.Stop(t)
	if made := p.Counts()["work"]; s.of(all) != float64(made) || made == 0 {
		t.Errorf("%v calls counted, the program made %d", s.of(all), made)
	}
}
