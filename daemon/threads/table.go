package threads

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/internal/safetext"
)

// Memory reads what a process has at an address.
type Memory interface {
	ReadMem(addr process.Addr, b []byte) error
}

// Config is what a Table needs to know of its process.
type Config struct {
	PID    int
	Name   string              // element of the Process hierarchy
	Kernel *kernel.ThreadTable // where the kernel's accounting is read
	Tree   *grid.Tree          // is told of threads that come and go
	Memory Memory
	Driven func(tid int) int // how often we had a thread make a call for us so far; nil = never
	// IsSyscallFunction tells whether an address is in the C library's function syscall.
	IsSyscallFunction func(pc uint64) bool
	// IsGo tells whether code of Go is at an address. It makes no tables.
	IsGo func(pc uint64) bool
}

// A Table knows the threads of a process. Refresh brings it up to date.
type Table struct {
	cfg Config

	mu        sync.Mutex
	rows      map[int]*Row
	byFS      map[uint64]int  // thread pointer -> tid
	left      map[uint64]*Row // thread pointer -> the thread that had it at the last pass and has ended since
	tidOffset uint64          // where a thread's control block holds its tid, 0 if unknown
	roots     map[uint64]int  // functions that threads began with, and how many did
	changes   int             // threads that came or went
	round     int             // of refreshes
	refreshed float64         // session time of the last refresh
	span      float64         // from the one before to that, in seconds
	first     float64         // session time of the first
	stopsSeen [2]int          // stops of the process until the last two refreshes
	frozen    bool            // by a control group
}

// New makes the table of a process; it is empty until Refresh.
func New(cfg Config) *Table {
	return &Table{cfg: cfg, rows: map[int]*Row{}, byFS: map[uint64]int{}, left: map[uint64]*Row{}, roots: map[uint64]int{}}
}

// Refresh reads the kernel's accounting of all threads at a session time. stops is how often we have stopped the process so far. Of a process
// that has ended nothing changes.
func (t *Table) Refresh(at float64, stops int) {
	if times, err := t.cfg.Kernel.Refresh(t.cfg.PID); err == nil {
		t.Update(at, times, stops)
	}
}

// Update is Refresh with an accounting that was read already.
func (t *Table) Update(at float64, times []kernel.ThreadTimes, stops int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lately := uint64(stops - t.stopsSeen[0]) // in this interval and the last: a stop may still be under way at a refresh
	t.stopsSeen = [2]int{t.stopsSeen[1], stops}
	t.round++
	for _, k := range times {
		r, isNew := t.rowOf(k, at)
		r.update(k, at, at-t.refreshed, ours{stops: lately, calls: t.drivenLately(r, isNew)}, isNew)
		r.round = t.round
	}
	if t.refreshed == 0 {
		t.first = at
	}
	t.refreshed, t.span = at, at-t.refreshed
	t.forgetEnded()
}

// drivenLately is how often we had a thread make a call for us in this interval and the last. mu is held.
func (t *Table) drivenLately(r *Row, isNew bool) uint64 {
	if t.cfg.Driven == nil {
		return 0
	}
	n := t.cfg.Driven(r.TID)
	if isNew {
		r.driven = [2]int{n, n}
	}
	lately := n - r.driven[0]
	r.driven = [2]int{r.driven[1], n}
	return uint64(lately)
}

// rowOf is the row of a thread, a new one where it is a new thread. mu is held.
func (t *Table) rowOf(k kernel.ThreadTimes, at float64) (r *Row, isNew bool) {
	r = t.rows[k.TID]
	if r != nil && (r.Times.Start == 0 || k.Start == r.Times.Start) {
		r.Prev = r.Times
		return r, false
	}
	r = &Row{TID: k.TID, name: nameOf(k.PID, k.TID), since: at, quietSince: at - ParkAfter, Prev: k}
	if t.refreshed > 0 {
		r.bornNow()
	}
	t.rows[k.TID] = r
	t.changes++
	t.cfg.Tree.Add(grid.Process, t.cfg.Name, r.name)
	return r, true
}

// forgetEnded drops the threads that the last round has not seen. mu is held.
func (t *Table) forgetEnded() {
	for fs, tid := range t.byFS {
		if r := t.rows[tid]; r == nil || r.round != t.round {
			t.leaves(fs)
			delete(t.byFS, fs)
		}
	}
	for tid, r := range t.rows {
		if r.round != t.round {
			t.cfg.Tree.Retire(grid.Process, t.cfg.Name, r.name)
			delete(t.rows, tid)
			t.changes++
		}
	}
}

// Refreshed is the session time of the last refresh; 0 before the first.
func (t *Table) Refreshed() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refreshed
}

// Each calls f for every live thread. f must not keep the row nor call methods of the table.
func (t *Table) Each(f func(*Row)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rows {
		f(r)
	}
}

// Stopped reports whether all threads are stopped by a signal, as of the last refresh. (While we hold a thread ourselves its state is another one.)
func (t *Table) Stopped() bool { return t.all(func(state byte) bool { return state == 'T' }) }

// Still tells whether no thread ran at the last refresh.
func (t *Table) Still() bool { return t.all(func(state byte) bool { return state != 'R' }) }

// SetFrozen says whether a control group has frozen the process: what its threads wait for then is not what they waited for.
func (t *Table) SetFrozen(is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = is
}

// Halted reports whether a debugger or a signal has stopped a live thread, or a control group has frozen its process. It waits for that, whatever it was
// waiting for before.
func (t *Table) Halted(tid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	return r != nil && (t.frozen || r.Times.State == 'T' || r.Times.State == 't')
}

func (t *Table) all(are func(state byte) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rows {
		if !are(r.Times.State) {
			return false
		}
	}
	return len(t.rows) > 0
}

// Get is a copy of the row of a live thread.
func (t *Table) Get(tid int) (row Row, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	if r == nil {
		return Row{}, false
	}
	return *r, true
}

// Count is how many threads live.
func (t *Table) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}

// TIDs lists the live threads, in order.
func (t *Table) TIDs() (tids []int) {
	t.Each(func(r *Row) { tids = append(tids, r.TID) })
	slices.Sort(tids)
	return tids
}

// Changes grows when threads come or go.
func (t *Table) Changes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// Roots are the functions that threads began with, as Began has told; main is not necessarily among them.
func (t *Table) Roots() (functions []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := range t.roots {
		functions = append(functions, f)
	}
	return functions
}

// Began notes with which function a thread began, once for each thread.
func (t *Table) Began(tid int, function uint64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rows[tid]; r != nil && !r.rooted {
		r.rooted = true
		t.roots[function]++
		t.cfg.Tree.SetLabel(name, grid.Process, t.cfg.Name, r.name)
	}
}

// Switches is how often a second threads are put on a CPU lately, all together. Rates begin at 0 with the first refresh and have come near
// what is true after a few seconds: what is missing is known until then.
func (t *Table) Switches() (n float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rows {
		n += r.wakes
	}
	if age := t.refreshed - t.first; age > 0 {
		n /= 1 - math.Exp(-age/wakesMemory)
	}
	return n
}

// sumOf adds up what threads did from the refresh before the last one to that one, in each of them a share of the time; it is unknown before there were two.
func (t *Table) sumOf(unknown float64, of func(r *Row, span float64) float64) (sum float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.span <= 0 {
		return unknown
	}
	for _, r := range t.rows {
		sum += of(r, t.span)
	}
	return sum
}

// Ran is the share of the time from the refresh before the last one to that one in which threads ran, all together; 1 before there were two.
func (t *Table) Ran() float64 {
	return t.sumOf(1, func(r *Row, span float64) float64 { return (r.Times.Run - r.Prev.Run).Seconds() / span })
}

// Wanted is how many CPUs threads ran on or waited for, from the refresh before the last one to that one; 0 before there were two.
func (t *Table) Wanted() float64 {
	return t.sumOf(0, func(r *Row, span float64) float64 {
		return (r.Times.Run - r.Prev.Run + r.Times.RunQueueWait - r.Prev.RunQueueWait).Seconds() / span
	})
}

// Active is how many threads were not idle from the refresh before the last one to that one; 0 before there were two.
func (t *Table) Active() float64 { return t.sumOf(0, (*Row).Active) }

// Idle is for what part of the time from the refresh before the last one to that one a thread had nothing to do, and for what part it waited for a
// thread that had nothing to do, 0 to 1 together; 0 if it is not known.
func (t *Table) Idle(tid int) (own, others float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	if r == nil || t.span <= 0 {
		return 0, 0
	}
	return r.idle(t.span)
}

const (
	// leastRun is the part of the time for which a thread is not blocked that it must run for more than waiting for a CPU.
	leastRun = 0.2
	// leastWork is the part of all time that a thread must run for others to have waited for its work.
	leastWork = 0.15
)

// Runs tells whether others can have waited for the work of a thread, as of the last two refreshes. Where CPUs are busy, one that has little to do
// waits for them nearly all of the time for which it is not blocked, and it is often seen so: whoever looks has a CPU himself.
func (t *Table) Runs(tid int) bool {
	run, ready, span, ok := t.lately(tid)
	return ok && run >= max(leastRun*(run+ready), leastWork*span)
}

// Delayed tells whether a thread waits for a CPU while others may wait for its work, as of the last two refreshes.
func (t *Table) Delayed(tid int) bool {
	run, ready, span, ok := t.lately(tid)
	return ok && ready > run && run+ready >= leastWork*span
}

// mostlyBusy is the part of all time for which a busy thread runs or waits for a CPU.
const mostlyBusy = 0.75

// IsBusy tells whether a thread hardly waited for anything but a CPU between the last two refreshes. One that is busy and seen to wait was made to:
// whoever looks takes a CPU, from those that it works with too.
func (t *Table) IsBusy(tid int) bool {
	run, ready, span, ok := t.lately(tid)
	return ok && span > 0 && run+ready >= mostlyBusy*span
}

// lately is how long a thread ran and waited for a CPU between the last two refreshes, and how long that was, in s; ok is false if it is not known.
func (t *Table) lately(tid int) (run, ready, span float64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	if r == nil {
		return 0, 0, 0, false
	}
	return (r.Times.Run - r.Prev.Run).Seconds(), (r.Times.RunQueueWait - r.Prev.RunQueueWait).Seconds(), t.span, true
}

// RunsLong tells whether a thread ran for a millisecond or more at a time, on average between the last two refreshes; true before the first.
func (t *Table) RunsLong() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refreshed == 0 {
		return true
	}
	for _, r := range t.rows {
		if r.long {
			return true
		}
	}
	return false
}

// CPUTime is the CPU time that a thread has used so far; 0 if it has ended.
func (t *Table) CPUTime(tid int) time.Duration {
	k, err := kernel.ReadThread(t.cfg.PID, tid)
	if err != nil {
		return 0
	}
	return k.Run
}

// Is reports whether a thread is the one that an element of the Process hierarchy names.
func (t *Table) Is(tid int, element string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[tid]
	return r != nil && r.Is(element)
}

// Number is the tid of the live thread that an element names; 0 if there is none.
func (t *Table) Number(element string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.number(element)
}

func (t *Table) number(element string) int {
	for tid, r := range t.rows {
		if r.Is(element) {
			return tid
		}
	}
	return 0
}

// Name is the element of a live thread, "" if there is no such thread.
func (t *Table) Name(tid int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rows[tid]; r != nil {
		return r.name
	}
	return ""
}

// Has reports whether an element names a thread that lives, be it one that began since the last refresh.
func (t *Table) Has(element string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.number(element) != 0 {
		return true
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(element, "thr_"), "{")
	tid, err := strconv.Atoi(number)
	if err != nil || tid <= 0 || t.rows[tid] != nil {
		return false
	}
	return lives(t.cfg.PID, tid) && (&Row{TID: tid, name: nameOf(t.cfg.PID, tid)}).Is(element)
}

func lives(pid, tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", pid, tid))
	return err == nil
}

// nameOf is the element of the Process hierarchy for a thread: "thr_4242{worker}".
func nameOf(pid, tid int) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
	if err != nil {
		return fmt.Sprintf("thr_%d", tid)
	}
	return fmt.Sprintf("thr_%d{%s}", tid, safetext.CleanMax(strings.TrimSuffix(string(comm), "\n"), 64))
}
