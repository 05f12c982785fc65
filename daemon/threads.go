package daemon

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/pcl"
)

// A threadTable knows the threads of a target: which thread pointer belongs to which thread, what each one did lately, and
// which are parked. The sampler refreshes it; its own lock is the last in the order.
type threadTable struct {
	t  *target
	mu sync.Mutex

	rows      map[int]*threadRow
	byFS      map[uint64]int        // thread pointer -> tid
	left      map[uint64]*threadRow // thread pointer -> the thread that had it at the last pass and has ended since
	rootIDs   map[pcl.FuncID]int
	objects   *objectTable
	live      int
	changes   int     // threads that came or went
	refreshed float64 // session time of the last refresh
	span      float64 // from the one before to that, in seconds
	first     float64 // session time of the first
	stopsSeen [2]int  // stops of the target until the last two refreshes
}

// A threadRow is what is known of one thread.
type threadRow struct {
	tid   int
	name  string // element of the Process hierarchy: "thr_4242{worker}"
	root  *function
	times kernel.ThreadTimes
	prev  kernel.ThreadTimes

	since      float64 // session time of the refresh that saw it first
	quietSince float64 // session time since which it has not run
	wakes      float64 // how often a second it is put on a processor, lately, our stops left out
	sleeps     float64 // how often a second it goes to sleep, the same
	call       kernel.BlockedCall
	asked      wait // the wait that polling is known for
	polling    bool
	counting   bool // it waits for a counter that others write to
	spinning   bool // it looks a few times, and gives its processor away each time, before it goes to sleep
	parked     bool
	idle       bool   // waits for work or time, as of the last look
	long       bool   // ran for long at a time, between the last two refreshes
	looks      [3]int // samples since the last tick: running or ready, waiting, idle
	share      [3]float64
	round      int
	born       bool // since the pass before the first that saw it
}

// What a thread was seen doing.
const (
	lookActive = iota
	lookWaiting
	lookIdle
)

func newThreadTable(t *target) *threadTable {
	return &threadTable{t: t, rows: map[int]*threadRow{}, byFS: map[uint64]int{}, left: map[uint64]*threadRow{},
		rootIDs: map[pcl.FuncID]int{}, objects: newObjectTable(t)}
}

// refresh reads the kernel's accounting of all threads at session time now.
func (tt *threadTable) refresh(now float64, round int) {
	times, err := tt.t.d.kern.Refresh(tt.t.proc.PID())
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if err != nil {
		return
	}
	tt.live = len(times)
	stops := tt.t.stops - tt.stopsSeen[0] // of this interval and the last: a stop may still be under way at a refresh
	tt.stopsSeen = [2]int{tt.stopsSeen[1], tt.t.stops}
	for _, k := range times {
		r := tt.rows[k.TID]
		isNew := r == nil || r.times.Start != 0 && k.Start != r.times.Start
		if isNew {
			r = &threadRow{tid: k.TID, name: threadName(k.PID, k.TID), since: now, quietSince: now - parkAfter, prev: k}
			if tt.refreshed > 0 {
				r.bornNow()
			}
			tt.rows[k.TID] = r
			tt.changes++
			tt.t.d.tree.Add(grid.Process, tt.t.name, r.name)
		} else {
			r.prev = r.times
		}
		if r.ranByItself(k, uint64(stops)) {
			r.quietSince = now
		}
		r.countWakes(k, uint64(stops), now-tt.refreshed)
		r.noteRuns(k, isNew)
		r.times, r.round = k, round
	}
	if tt.refreshed == 0 {
		tt.first = now
	}
	tt.refreshed, tt.span = now, now-tt.refreshed
	for fs, tid := range tt.byFS {
		if r := tt.rows[tid]; r == nil || r.round != round {
			tt.leaves(fs)
			delete(tt.byFS, fs)
		}
	}
	for tid, r := range tt.rows {
		if r.round != round {
			tt.t.d.tree.Retire(grid.Process, tt.t.name, r.name)
			delete(tt.rows, tid)
			tt.changes++
		}
	}
}

// points notes to which thread a thread pointer belongs. mu is held.
func (tt *threadTable) points(fs uint64, tid int) {
	if before, ok := tt.byFS[fs]; ok && before != tid {
		tt.leaves(fs)
	}
	tt.byFS[fs] = tid
}

// leaves notes that the thread of a thread pointer has ended. mu is held.
func (tt *threadTable) leaves(fs uint64) {
	if r := tt.rows[tt.byFS[fs]]; r != nil {
		tt.left[fs] = r
	}
}

// sharers are the threads that may have had the block of a thread pointer since the last pass: the one that has it, or that its process has ended with,
// and the one that had it at the last pass and has ended. isNew says that the last one was first seen since.
func (tt *threadTable) sharers(fs uint64, tid int) (last, before *threadRow, isNew bool) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	last, before = tt.rows[tid], tt.left[fs]
	if last == nil {
		last = tt.rows[tt.byFS[fs]]
	}
	if last == before {
		last = nil
	}
	return last, before, last != nil && last.since == tt.refreshed && last.since != tt.first
}

// forgetLeft is called when all that ended threads have done was told.
func (tt *threadTable) forgetLeft() {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	clear(tt.left)
}

// refreshedAt is the session time of the last refresh.
func (tt *threadTable) refreshedAt() float64 {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.refreshed
}

// known tells whether there was a refresh.
func (tt *threadTable) known() bool {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.refreshed > 0
}

// What stopping a blocked thread and letting it go costs it at most: it is put on a processor to stop, to go back into its
// call, and more often where others want the processor. That is our doing and not work of its own.
const (
	slicesOfStop = 6
	runOfStop    = time.Millisecond
)

// ranByItself tells whether a thread has run since its last row for another reason than our stops.
func (r *threadRow) ranByItself(k kernel.ThreadTimes, stops uint64) bool {
	if stops == 0 {
		return k.Slices != r.prev.Slices || k.Run != r.prev.Run
	}
	return k.Slices-r.prev.Slices > slicesOfStop*stops || k.Run-r.prev.Run > runOfStop*time.Duration(stops)
}

// wakesMemory is over how long the rate of wakes is taken, in seconds.
const wakesMemory = 2.0

func (r *threadRow) countWakes(k kernel.ThreadTimes, stops uint64, interval float64) {
	if interval <= 0 {
		return
	}
	n := float64(k.Slices-r.prev.Slices) - float64(slicesOfStop*stops)
	r.wakes += (max(n, 0)/interval - r.wakes) * min(interval/wakesMemory, 1)
	n = float64(k.Voluntary) - float64(r.prev.Voluntary) - float64(slicesOfStop*stops)
	r.sleeps += (max(n, 0)/interval - r.sleeps) * min(interval/wakesMemory, 1)
}

// switches is how often a second threads are put on a processor lately, all together. Rates begin at 0 with the first refresh and have
// come near what is true after a few seconds: what is missing is known until then.
func (tt *threadTable) switches() (n float64) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for _, r := range tt.rows {
		n += r.wakes
	}
	if age := tt.refreshed - tt.first; age > 0 {
		n /= 1 - math.Exp(-age/wakesMemory)
	}
	return n
}

// parkAfter is how long a thread must not have run, in seconds, before its waiting counts as having nothing to do.
const parkAfter = 1.0

// meets notes the thread pointer of a stopped thread, and reports whether it is not known yet what the thread was started with.
func (tt *threadTable) meets(tid int, fs uint64) bool {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if fs != 0 {
		tt.points(fs, tid)
	}
	r := tt.rows[tid]
	return r != nil && r.root == nil
}

// noteStack learns from a walked stack: the thread's pointer, and the function that it was started with.
func (tt *threadTable) noteStack(tid int, fs uint64, frames []frame) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if fs != 0 {
		tt.points(fs, tid)
	}
	if r := tt.rows[tid]; r != nil && r.root == nil {
		if r.root = threadRoot(frames); r.root != nil {
			tt.rootIDs[r.root.id]++
			tt.t.d.tree.SetLabel(r.root.fn.Name, grid.Process, tt.t.name, r.name)
		}
	}
}

// threadRoot is the function a thread began with: main, or what the threads library called.
func threadRoot(frames []frame) *function {
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i].f
		if f == nil || f.fn.Refuse != "" {
			continue
		}
		if libc.StartsThreads(f.fn.Linkage) {
			continue
		}
		if !f.fn.Named && len(frames) > 1 && i > 0 && libc.IsC(f.obj.name) {
			continue // the C library's own start-up code, stripped of its names
		}
		return f
	}
	return nil
}

// roots are the functions that threads began with, main not necessarily among them.
func (tt *threadTable) roots() (ids []pcl.FuncID) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for id := range tt.rootIDs {
		ids = append(ids, id)
	}
	return distinct(ids)
}

// owner names the live thread that a thread pointer belongs to, 0 if unknown. New threads are looked up in the target's
// memory: the threads library keeps the tid at a fixed distance from the pointer, which attach has measured.
func (tt *threadTable) owner(fs uint64) int {
	tt.mu.Lock()
	tid, ok := tt.byFS[fs]
	off := tt.t.tidOff
	tt.mu.Unlock()
	if ok || off == 0 || fs == 0 {
		return tid
	}
	tid = tt.t.tidAt(fs)
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if tt.rows[tid] == nil {
		return 0
	}
	tt.points(fs, tid)
	return tid
}

// tidAt is the thread that the target's memory names at a thread pointer; 0 if it names none. The kernel clears it when a thread ends.
func (t *target) tidAt(fs uint64) int {
	var b [4]byte
	if t.tidOff == 0 || fs == 0 || t.proc.ReadMem(process.Addr(fs+t.tidOff), b[:]) != nil {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[:]))
}

// enoughTold is how many threads tell where control blocks keep the tid: no other word is right in all of them.
const enoughTold = 32

// learn measures where thread control blocks keep the tid, from threads whose pointer and tid are both known.
func (tt *threadTable) learn(w *process.World) {
	const look = 2048
	threads := w.Threads()
	tt.mu.Lock()
	for _, th := range threads {
		tt.points(arch.ThreadPointer(&th.Regs), th.TID)
	}
	tt.mu.Unlock()
	var candidates map[uint64]bool
	buf := make([]byte, look)
	for _, th := range threads[:min(len(threads), enoughTold)] {
		if arch.ThreadPointer(&th.Regs) == 0 || w.ReadMem(process.Addr(arch.ThreadPointer(&th.Regs)), buf) != nil {
			return
		}
		here := map[uint64]bool{}
		for off := uint64(0); off+4 <= look; off += 4 {
			if binary.LittleEndian.Uint32(buf[off:]) == uint32(th.TID) && (candidates == nil || candidates[off]) {
				here[off] = true
			}
		}
		candidates = here
	}
	for off := range candidates {
		if tt.t.tidOff == 0 || off < tt.t.tidOff {
			tt.t.tidOff = off
		}
	}
}

// cpuTime is the processor time of a thread in ns.
func (tt *threadTable) cpuTime(tid int) time.Duration {
	k, err := kernel.ReadThread(tt.t.proc.PID(), tid)
	if err != nil {
		return 0
	}
	return k.Run
}

// look classifies what one thread does at this moment.
func (tt *threadTable) look(tid int, now float64) (call kernel.BlockedCall, kind int, ok bool) {
	call, err := kernel.Blocked(tt.t.proc.PID(), tid)
	if err != nil {
		return call, 0, false
	}
	tt.mu.Lock()
	defer tt.mu.Unlock()
	r := tt.rows[tid]
	if r == nil {
		return call, 0, false
	}
	kind = lookActive
	r.parked = false
	if !call.Running {
		kind = lookWaiting
		if idles(call, now-r.quietSince, r.wakes) || tt.polls(r, call, now) {
			kind = lookIdle
			r.parked = true
		}
	}
	r.call = call
	r.idle = kind == lookIdle
	r.looks[kind]++
	return call, kind, true
}

// settle turns the looks since the last tick into shares of time; without any look the last shares stay.
func (tt *threadTable) settle() {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for _, r := range tt.rows {
		n := r.looks[0] + r.looks[1] + r.looks[2]
		if n == 0 {
			continue
		}
		for k := range r.looks {
			r.share[k] = float64(r.looks[k]) / float64(n)
		}
		r.looks = [3]int{}
	}
}

// parkedThreads lists the threads that wait with nothing to do.
func (tt *threadTable) parkedThreads() map[int]bool {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	m := map[int]bool{}
	for tid, r := range tt.rows {
		if r.parked {
			m[tid] = true
		}
	}
	return m
}

// tids lists the live threads.
func (tt *threadTable) tids() (ids []int) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for tid := range tt.rows {
		ids = append(ids, tid)
	}
	return ids
}

// births grows when threads come or go.
func (tt *threadTable) births() int {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.changes
}

// is reports whether a thread is the one that a focus names.
func (tt *threadTable) is(tid int, element string) bool {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	r := tt.rows[tid]
	return r != nil && r.named(element)
}

// has reports whether a focus names a thread that lives, be it one that began since the last refresh.
func (tt *threadTable) has(element string) bool {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for _, r := range tt.rows {
		if r.named(element) {
			return true
		}
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(element, "thr_"), "{")
	tid, err := strconv.Atoi(number)
	if err != nil || tid <= 0 || tt.rows[tid] != nil {
		return false
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", tt.t.proc.PID(), tid)); err != nil {
		return false
	}
	return (&threadRow{tid: tid, name: threadName(tt.t.proc.PID(), tid)}).named(element)
}

// named accepts the full name of a thread, "thr_4242", and "4242".
func (r *threadRow) named(element string) bool {
	bare := fmt.Sprintf("thr_%d", r.tid)
	return element == r.name || element == bare || element == bare[4:]
}
