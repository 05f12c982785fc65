package threadstats

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// An actor is the program testdata/acts.c, watched; its main thread has a row.
type actor struct {
	*testprog.Prog
	tab   *Table
	index int
}

func newActor(t *testing.T, k *Keeper) *actor {
	t.Helper()
	p := testprog.Start(t, testprog.Build(t, "daemon/threadstats/testdata/acts.c"))
	tp := pointer(t, p)
	a := &actor{Prog: p, tab: watched(t, k, p.PID, 64)}
	a.index = found(t, a.tab, tp)
	a.parked(t)
	return a
}

// pointer is the thread pointer that a program says.
func pointer(t *testing.T, p *testprog.Prog) uint64 {
	t.Helper()
	tp, err := strconv.ParseUint(strings.TrimPrefix(p.Expect(t, "READY", 10*time.Second), "READY "), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

// act has the program do one thing and returns what it says about it.
func (a *actor) act(t *testing.T, line string) []int64 {
	t.Helper()
	a.Say(t, line)
	var numbers []int64
	for _, f := range strings.Fields(a.Expect(t, "DONE", 30*time.Second))[1:] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// alone waits until no row but the main thread's has an owner: a thread that was joined is not yet gone.
func (a *actor) alone(t *testing.T) {
	t.Helper()
	waitFor(t, "threads that have ended to own nothing", func() bool {
		for i, owner := range owned(a.tab) {
			if i != a.index && owner != 0 {
				return false
			}
		}
		return true
	})
}

// parked waits until the main thread has gone to sleep again.
func (a *actor) parked(t *testing.T) {
	t.Helper()
	for range 2000 {
		if read(a.tab.mem, a.index*RowSize+SinceOff) != 0 && read(a.tab.mem, a.index*RowSize+WokenOff) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the program does not rest")
}

// change is what an act adds to the main thread's row, with what is in flight.
func (a *actor) change(t *testing.T, line string) (sums map[Quantity]int64, said []int64) {
	t.Helper()
	a.parked(t)
	before, unseen := all(t, a.tab, a.index), a.tab.Unseen()
	said = a.act(t, line)
	a.parked(t)
	after := all(t, a.tab, a.index)
	for q := range after {
		// Who came back untold was taken for waiting until it left again.
		if after[q] < before[q] && (q != OffCPU || a.tab.Unseen() == unseen) {
			t.Errorf("%s has shrunk from %d to %d", q, before[q], after[q])
		}
		after[q] -= before[q]
	}
	return after, said
}

// TestAWaitThatHasBegunIsSeen watches a process that is asleep, and stops and continues it in its sleep.
func TestAWaitThatHasBegunIsSeen(t *testing.T) {
	k := opened(t)
	p := testprog.Start(t, testprog.Build(t, "daemon/threadstats/testdata/acts.c"))
	tp := pointer(t, p)
	p.Say(t, "nap 400000000")
	asleep(t, p.PID)
	tab := watched(t, k, p.PID, 64)
	index, ok := tab.Find(tp)
	if !ok {
		t.Fatal("a thread that waits has no row")
	}
	before := now(t)
	time.Sleep(20 * time.Millisecond)
	if seen := tab.Value(index, BlockedSleep, now(t)); seen < 20e6 {
		t.Errorf("20 ms later it has slept %d ns", seen)
	}
	p.Signal(t, syscall.SIGSTOP)
	time.Sleep(20 * time.Millisecond)
	p.Signal(t, syscall.SIGCONT)
	p.Expect(t, "DONE", 20*time.Second)
	slept, took := tab.Value(index, BlockedSleep, now(t)), now(t)-before
	stopped := tab.Value(index, BlockedOther, now(t))
	t.Logf("asleep %.3f ms of the last %.3f, stopped %.3f ms", float64(slept)/1e6, float64(took)/1e6, float64(stopped)/1e6)
	if slept < took/2 || stopped < 15e6 || stopped > took/2 {
		t.Error("a sleep that was interrupted is taken for something else")
	}
}

// asleep waits until a process sleeps.
func asleep(t *testing.T, pid int) {
	t.Helper()
	for range 2000 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(text), strconv.Itoa(unix.SYS_CLOCK_NANOSLEEP)+" ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it does not sleep")
}

// switchesOf reads what the kernel says of a thread's switches.
func switchesOf(t *testing.T, pid, tid int) (voluntary, forced int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fmt.Sscanf(line, "voluntary_ctxt_switches: %d", &voluntary)
		fmt.Sscanf(line, "nonvoluntary_ctxt_switches: %d", &forced)
	}
	return voluntary, forced
}

func TestSwitchesAreThoseOfTheKernel(t *testing.T) {
	a := newActor(t, opened(t))
	a.parked(t)
	voluntary, forced := switchesOf(t, a.PID, a.PID)
	sums, _ := a.change(t, "switches 2000")
	v, f := switchesOf(t, a.PID, a.PID)
	t.Logf("voluntary %d, forced %d; the kernel says %d and %d", sums[VoluntarySwitches], sums[ForcedSwitches], v-voluntary, f-forced)
	if sums[VoluntarySwitches] != v-voluntary || sums[ForcedSwitches] != f-forced || v-voluntary < 1500 {
		t.Error("they differ")
	}
}

// schedstat reads what the kernel says a thread has run and waited for a processor, in ns.
func schedstat(t *testing.T, pid, tid int) (ran, delay int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &ran, &delay); err != nil {
		t.Fatal(err)
	}
	return ran, delay
}

// TestRunQueueWaitIsThatOfTheKernel has two threads spin on one processor: each waits for about half of the time. A hypervisor that
// takes the processor away in the middle of a switch, after the kernel has read its clock and before the trace point, spoils a
// round; so there may be three.
func TestRunQueueWaitIsThatOfTheKernel(t *testing.T) {
	a := newActor(t, opened(t))
	for range 3 {
		_, before := schedstat(t, a.PID, a.PID)
		sums, _ := a.change(t, "queue 600")
		_, said := schedstat(t, a.PID, a.PID)
		said -= before
		off := math.Abs(float64(sums[RunQueueWait]-said)) / float64(said)
		t.Logf("run_queue_wait %.3f ms (preempted %.3f), schedstat %.3f ms: %.2f %% apart", float64(sums[RunQueueWait])/1e6, float64(sums[Preempted])/1e6, float64(said)/1e6, 100*off)
		if off <= 0.05 && said >= 100e6 && sums[Preempted] >= sums[RunQueueWait]*8/10 {
			return
		}
	}
	t.Error("they differ")
}

// TestFaultsAreThoseOfTheKernel: of the time in faults the way into the kernel and back is no part, which is short on a processor and may be most
// of it in a virtual machine.
func TestFaultsAreThoseOfTheKernel(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	needed(t, k, FaultTime, MinorFaults, MajorFaults)
	sums, said := a.change(t, "faults 20000")
	t.Logf("%d minor and %d major faults; the program counts %d and %d around its loop; %.3f ms in them of %.3f and %.3f ms that writing and reading took (%.0f ns each)", sums[MinorFaults],
		sums[MajorFaults], said[0], said[1], float64(sums[FaultTime])/1e6, float64(said[2])/1e6, float64(said[3])/1e6, float64(sums[FaultTime])/float64(sums[MinorFaults]))
	if extra := sums[MinorFaults] - said[0]; extra < 0 || extra > 40 {
		t.Errorf("%d faults beside those of the loop", extra)
	}
	if sums[FaultTime] < (said[2]-said[3])*3/10 || sums[FaultTime] < sums[MinorFaults]*50 || sums[FaultTime] > (said[2]+said[3])*21/20 {
		t.Error("the time in faults is less than what writing takes beside reading, or more than all")
	}
}

// TestMajorFaultsAreThoseOfTheKernel touches pages of a file that have to be read from a disk.
func TestMajorFaultsAreThoseOfTheKernel(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	needed(t, k, MajorFaults)
	sums, said := a.change(t, "mapped 200")
	t.Logf("%d major faults, the program counts %d; %.3f ms in faults, of them %.3f waiting (%.3f for a disk)", sums[MajorFaults], said[1],
		float64(sums[FaultTime])/1e6, float64(sums[BlockedFault])/1e6, float64(sums[BlockTime])/1e6)
	if said[1] == 0 {
		require.Skip(t, "needs /var/tmp on a disk")
	}
	if sums[MajorFaults] != said[1] || sums[BlockedFault] > sums[FaultTime] || sums[BlockedFault] == 0 {
		t.Error("they differ, or waiting took longer than all")
	}
}

// ioOf reads what a thread has had fetched from and given to block devices, in bytes.
func ioOf(t *testing.T, pid, tid int) (total int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/io", pid, tid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n int64
		if c, _ := fmt.Sscanf(line, "read_bytes: %d", &n); c == 1 {
			total += n
		} else if c, _ := fmt.Sscanf(line, "write_bytes: %d", &n); c == 1 {
			total += n
		}
	}
	return total
}

func TestBlockBytesAreThoseOfTheKernel(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	needed(t, k, BlockBytes)
	before := ioOf(t, a.PID, a.PID)
	sums, _ := a.change(t, "files 8388608")
	said := ioOf(t, a.PID, a.PID) - before
	t.Logf("%d bytes, the kernel says %d; %.3f ms for a disk, %.3f ms for files", sums[BlockBytes], said, float64(sums[BlockTime])/1e6, float64(sums[BlockedFile])/1e6)
	if said < 8<<20 {
		require.Skip(t, "needs /var/tmp on a disk")
	}
	if sums[BlockBytes] != said || sums[BlockTime] == 0 || sums[BlockTime] > sums[BlockedFile] {
		t.Error("they differ, or there is no time in which it waited for the disk")
	}
}

// needed has quantities kept until the test ends.
func needed(t testing.TB, k *Keeper, list ...Quantity) {
	t.Helper()
	for _, q := range list {
		if err := k.Need(q); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { k.Release(q) })
	}
}

func TestSystemCallsAreCountedByClass(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	needed(t, k, SystemCalls, SystemTime, CallsIO)
	sums, said := a.change(t, "calls 20000")
	t.Logf("%d calls, %d of input and output, %.3f ms in them of %.3f", sums[SystemCalls], sums[CallsIO], float64(sums[SystemTime])/1e6, float64(said[1])/1e6)
	if extra := sums[SystemCalls] - said[0]; extra < 0 || extra > 20 {
		t.Errorf("%d calls beside those of the loop", extra)
	}
	if extra := sums[CallsIO] - said[0]/2; extra < 0 || extra > 10 {
		t.Errorf("%d calls of input and output beside those of the loop", extra)
	}
	if sums[SystemTime] < said[1]/10 || sums[SystemTime] > said[1]*21/20 {
		t.Error("the time in calls is next to nothing of the loop, or more than it")
	}
	k.Release(SystemCalls)
	k.Release(SystemTime)
	k.Release(CallsIO)
	if sums, _ := a.change(t, "calls 1000"); sums[SystemCalls] != 0 || sums[SystemTime] != 0 {
		t.Errorf("%d calls are counted when nobody needs them", sums[SystemCalls])
	}
}

func TestSocketsCountBytes(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	needed(t, k, NetBytesSent)
	sums, said := a.change(t, "sockets 1000000")
	t.Logf("%d bytes sent, %d received; the program says %d and %d", sums[NetBytesSent], sums[NetBytesReceived], said[0], said[1])
	if sums[NetBytesSent] != said[0] || sums[NetBytesReceived] != said[1] {
		t.Error("they differ")
	}
}

// TestThreadPointersAreUsedAgain has one thread after the other, whose stack and thread pointer the C library keeps.
func TestThreadPointersAreUsedAgain(t *testing.T) {
	a := newActor(t, opened(t))
	a.act(t, "reuse 500")
	a.parked(t)
	a.alone(t)
	rows := owned(a.tab)
	var slept, exits int64
	for i := range rows {
		if i != a.index {
			slept += a.tab.Value(i, BlockedSleep, 0)
			exits += a.tab.Value(i, VoluntarySwitches, 0)
		}
	}
	t.Logf("500 threads, %d rows, %.1f ms asleep, %d voluntary switches, %d shared", len(rows)-1, float64(slept)/1e6, exits, a.tab.Shared())
	if len(rows)-1 > 4 || slept < 500*200e3 || exits < 500 || a.tab.Shared() != 0 || a.tab.Exhausted() != 0 {
		t.Error("threads were lost, or took rows of their own")
	}
	freeAll(t, a, rows)
}

// TestAStormOfThreads has threads begin and end on several processors at once, with each other's pointers.
func TestAStormOfThreads(t *testing.T) {
	a := newActor(t, opened(t))
	each := 300
	if *long {
		each = 30_000
	}
	a.act(t, fmt.Sprintf("storm %d", each))
	a.parked(t)
	a.alone(t)
	rows := owned(a.tab)
	var slept, exits int64
	for i := range rows {
		if i == a.index {
			continue
		}
		slept += a.tab.Value(i, BlockedSleep, 0)
		exits += a.tab.Value(i, VoluntarySwitches, 0)
		if readHalf(a.tab.mem, i*RowSize+seqOff)%2 != 0 {
			t.Errorf("row %d is being changed for ever", i)
		}
	}
	n := int64(4 * each)
	t.Logf("%d threads, %d rows, %.3f ms asleep each, %.2f voluntary switches, %d shared", n, len(rows)-1, float64(slept)/1e6/float64(n), float64(exits)/float64(n), a.tab.Shared())
	if slept < n*200e3 || exits < n || a.tab.Shared() != 0 || a.tab.Exhausted() != 0 || a.tab.Keyless() != 0 || len(rows) > 40 {
		t.Error("threads were lost, or took rows of their own")
	}
}

// freeAll gives the rows of dead threads back, and has new threads take them.
func freeAll(t *testing.T, a *actor, rows map[int]int) {
	t.Helper()
	if a.tab.Free(a.index) || a.tab.Free(-1) || a.tab.Free(a.tab.Slots()) {
		t.Error("a row was given back that belongs to a thread, or does not exist")
	}
	for i := range rows {
		if i != a.index && !a.tab.Free(i) {
			t.Errorf("row %d cannot be given back", i)
		}
	}
	if got := len(owned(a.tab)); got != 1 {
		t.Errorf("%d rows are owned, not 1", got)
	}
	if _, ok := a.tab.Find(a.tab.Key(a.index)); !ok {
		t.Error("a row behind one that was given back is not found")
	}
	a.act(t, "reuse 20")
	var slept int64
	for i := range owned(a.tab) {
		if i != a.index {
			slept += a.tab.Value(i, BlockedSleep, 0)
		}
	}
	if slept < 20*200e3 || slept > 200*200e3 {
		t.Errorf("20 threads slept %.3f ms in the rows that were given back", float64(slept)/1e6)
	}
}

// TestThreadsWithoutAPointerOfTheirOwn has threads made by clone alone: one with its maker's thread pointer, one with none.
func TestThreadsWithoutAPointerOfTheirOwn(t *testing.T) {
	a := newActor(t, opened(t))
	a.act(t, "sharing 0")
	if n := a.tab.Shared(); n != 1 || len(owned(a.tab)) != 1 {
		t.Errorf("%d threads share a pointer, %d rows", n, len(owned(a.tab)))
	}
	a.act(t, "keyless 0")
	t.Logf("%d shared, %d keyless, %d exhausted, %d rows", a.tab.Shared(), a.tab.Keyless(), a.tab.Exhausted(), len(owned(a.tab)))
	if a.tab.Shared() != 1 || a.tab.Keyless() != 1 || a.tab.Exhausted() != 0 || len(owned(a.tab)) != 1 {
		t.Error("that is not what there was")
	}
	if sums, _ := a.change(t, "nap 50000000"); sums[BlockedSleep] < 50e6 || sums[BlockedSleep] > 1e9 {
		t.Errorf("the maker's row has %d ns of a sleep of 50 ms", sums[BlockedSleep])
	}
}

// TestRowsGoOnAfterExec replaces the program of a watched process.
func TestRowsGoOnAfterExec(t *testing.T) {
	a := newActor(t, opened(t))
	old := a.index
	a.Say(t, "exec 0")
	tp := pointer(t, a.Prog)
	a.act(t, "nap 1000000")
	a.index = found(t, a.tab, tp)
	sums, _ := a.change(t, "nap 30000000")
	t.Logf("row %d became %d; asleep %.3f ms of 30; keyless %d", old, a.index, float64(sums[BlockedSleep])/1e6, a.tab.Keyless())
	if sums[BlockedSleep] < 30e6 || a.tab.Keyless() != 0 {
		t.Error("the sleep was lost, or a thread is missing")
	}
	if rows := owned(a.tab); rows[a.index] != a.PID || old != a.index && rows[old] != 0 {
		t.Errorf("owners: %v", rows)
	}
}

// TestRowsKnowFilters: whoever wants to ask the kernel in a thread's name sees in its row whether a filter would see that.
func TestRowsKnowFilters(t *testing.T) {
	a := newActor(t, opened(t))
	filtered := func() bool {
		a.parked(t)
		return read(a.tab.mem, a.index*RowSize+SinceOff)&FilteredBit != 0
	}
	if a.act(t, "nap 1000"); filtered() {
		t.Error("a filter where there is none")
	}
	if a.act(t, "filter 0"); !filtered() {
		t.Error("the filter is not known")
	}
}

// TestTheEndOfAProcess leaves its sums, and nobody owns them.
func TestTheEndOfAProcess(t *testing.T) {
	a := newActor(t, opened(t))
	a.act(t, "nap 20000000")
	a.Kill()
	waitFor(t, "the process to own nothing", func() bool { return owned(a.tab)[a.index] == 0 })
	if slept := a.tab.Value(a.index, BlockedSleep, now(t)); slept < 20e6 {
		t.Errorf("asleep %d ns", slept)
	}
	if again := a.tab.Value(a.index, OffCPU, now(t)); a.tab.Value(a.index, OffCPU, now(t)+1e9) != again {
		t.Error("a thread that has ended goes on")
	}
	if !a.tab.Free(a.index) {
		t.Error("the row cannot be given back")
	}
}

// TestRowsThatAreGivenBackAreFound has more threads than rows, then fewer: those that had none get the rows of those that ended.
func TestRowsThatAreGivenBackAreFound(t *testing.T) {
	a := newActor(t, opened(t))
	a.act(t, "crowd 100")
	waitFor(t, "every thread to be counted", func() bool { return len(owned(a.tab)) == 64 && a.tab.Exhausted() == 101-64 })
	a.act(t, "thin 0")
	waitFor(t, "half of the threads to end", func() bool { return len(tasks(t, a.PID)) == 51 })
	given := 0
	for i, owner := range owned(a.tab) {
		if owner == 0 && a.tab.Free(i) {
			given++
		}
	}
	waitFor(t, "the others to have rows", func() bool {
		owners := map[int]bool{}
		for _, owner := range owned(a.tab) {
			owners[owner] = true
		}
		for _, tid := range tasks(t, a.PID) {
			if !owners[tid] {
				return false
			}
		}
		return true
	})
	t.Logf("64 rows, 101 threads, %d exhausted; %d rows given back, and all of 51 threads have one", a.tab.Exhausted(), given)
}

// tasks lists the threads of a process.
func tasks(t *testing.T, pid int) (list []int) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, tid)
		}
	}
	return list
}

// waitFor waits until something holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 5000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}
