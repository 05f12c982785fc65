package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// SlowEvery is how often a ThreadTable reads stat and status of a thread that runs if it has more than FewThreads threads, in all
// its processes together: they cost the kernel several times what schedstat costs. With fewer threads they are read every time.
const (
	SlowEvery   = time.Second
	FewThreads  = 64
	ManyThreads = 250 // for each more of them a second is added
)

// A ThreadTable re-reads the accounting of all threads of processes, several times a second, cheaply: its files
// stay open, and of a thread that has not run since the last time only schedstat is read.
// It must be closed, or its descriptors (two per thread, at most half of what the process may open) stay open.
type ThreadTable struct {
	procs map[int]*procRows
	known int // rows of all processes
	buf   []byte
	// open is how many descriptors rows hold; beyond maxOpen files are opened for each read.
	open, maxOpen int
}

type procRows struct {
	dir     int // /proc/PID/task; reading it fails once the process has ended, even if the pid is used again
	rows    map[int]*threadRow
	times   []ThreadTimes
	ended   []ThreadTimes
	round   uint64
	tidList []int
	links   uint64        // of dir when tidList was read
	slow    time.Duration // between reads of stat and status of one thread
}

type threadRow struct {
	times     ThreadTimes
	sched     schedstat
	schedFD   int // -1 while not open
	statFD    int
	round     uint64 // of the last Refresh that saw it
	known     bool   // stat and status have been read
	slowStale bool   // it has run since
	slowAt    time.Time
}

// NewThreadTable returns an empty table.
func NewThreadTable() *ThreadTable {
	t := &ThreadTable{procs: map[int]*procRows{}, buf: make([]byte, statusSize), maxOpen: 512}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		t.maxOpen = int(min(limit.Cur, 1<<20) / 2)
	}
	return t
}

// Refresh lists the threads of a process and reads them all; the kernel's workers are left out. The result, in the kernel's order (by age), is valid until
// the next Refresh of this process. A thread that ends meanwhile is left out and stands in Ended.
// Run, RunQueueWait and Slices are of now; with more than FewThreads threads in the table the rest may be older by SlowEvery,
// and by as much again for each ManyThreads.
// The error wraps ErrGone if the process has ended.
func (t *ThreadTable) Refresh(pid int) ([]ThreadTimes, error) {
	p, err := t.proc(pid)
	if err != nil {
		return nil, err
	}
	p.round++
	if !p.sameThreads() {
		p.tidList, err = listTIDs(p.dir, p.tidList[:0], t.buf)
	}
	if err != nil || len(p.tidList) == 0 {
		t.Forget(pid)
		if err == nil {
			err = unix.ESRCH
		}
		return nil, explain(fmt.Sprintf("listing the threads of process %d", pid), err)
	}
	p.times, p.slow = p.times[:0], 0
	if n := max(t.known, len(p.tidList)); n > FewThreads {
		p.slow = SlowEvery * time.Duration(1+n/ManyThreads)
	}
	now := time.Now()
	for _, tid := range p.tidList {
		row := p.rows[tid]
		if row != nil && row.round == p.round {
			continue // a directory that changes while it is listed may show an entry twice
		}
		if row != nil && !t.read(p, row, now) {
			// The thread has ended, and perhaps another has got its number since.
			p.links = 0 // lists them again next time: another may have begun
			t.end(p, row)
			row = nil
		}
		if row == nil {
			if row = t.add(p, pid, tid, now); row == nil {
				p.links = 0
				continue
			}
		}
		if row.round = p.round; !row.times.worker {
			p.times = append(p.times, row.times)
		}
	}
	t.sweep(p)
	return p.times, nil
}

// sameThreads reports whether as many threads are there as when they were last listed: each is a link of the directory. That one
// has ended and another begun shows when the one that ended is read.
func (p *procRows) sameThreads() bool {
	var st unix.Stat_t
	if unix.Fstat(p.dir, &st) != nil {
		return false
	}
	same := st.Nlink == p.links && len(p.tidList) > 0
	p.links = st.Nlink
	return same
}

// Ended returns the last known times of the threads that have ended since the last call, and forgets them.
func (t *ThreadTable) Ended(pid int) []ThreadTimes {
	p := t.procs[pid]
	if p == nil {
		return nil
	}
	ended := p.ended
	p.ended = nil
	return ended
}

// Threads is how many threads of all processes the table knew after the last Refresh of each.
func (t *ThreadTable) Threads() int { return t.known }

// Forget closes what belongs to one process.
func (t *ThreadTable) Forget(pid int) {
	p := t.procs[pid]
	if p == nil {
		return
	}
	for _, row := range p.rows {
		t.close(row)
	}
	t.known -= len(p.rows)
	unix.Close(p.dir)
	delete(t.procs, pid)
}

// Close closes everything. The table is empty afterwards and may be used again.
func (t *ThreadTable) Close() error {
	for pid := range t.procs {
		t.Forget(pid)
	}
	return nil
}

func (t *ThreadTable) proc(pid int) (*procRows, error) {
	if p := t.procs[pid]; p != nil {
		return p, nil
	}
	dir, err := unix.Open(fmt.Sprintf("/proc/%d/task", pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, explain(fmt.Sprintf("listing the threads of process %d", pid), err)
	}
	p := &procRows{dir: dir, rows: map[int]*threadRow{}}
	t.procs[pid] = p
	return p, nil
}

// add opens and reads a thread for the first time; nil if it has ended already.
func (t *ThreadTable) add(p *procRows, pid, tid int, now time.Time) *threadRow {
	row := &threadRow{times: ThreadTimes{PID: pid, TID: tid}, schedFD: -1, statFD: -1}
	if t.open+2 <= t.maxOpen {
		row.schedFD = t.keep(p.dir, tid, "schedstat")
		row.statFD = t.keep(p.dir, tid, "stat")
	}
	if !t.read(p, row, now) {
		t.close(row)
		return nil
	}
	p.rows[tid] = row
	t.known++
	return row
}

// keep opens a file for good; -1 if that fails, and then the file is opened for each read.
func (t *ThreadTable) keep(dir, tid int, name string) int {
	fd, err := unix.Openat(dir, threadFile(tid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	t.open++
	return fd
}

func threadFile(tid int, name string) string { return fmt.Sprintf("%d/%s", tid, name) }

// read brings one row up to date; false if the thread has ended.
func (t *ThreadTable) read(p *procRows, row *threadRow, now time.Time) bool {
	text, err := t.file(p.dir, row.schedFD, row.times.TID, "schedstat", schedstatSize)
	sched, hasSched := schedstat{}, false
	if err == nil {
		sched, hasSched = parseSchedstat(text)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	// Nothing else can have changed while the thread did not run: its state changes only by its own doing, but for
	// becoming ready, which schedstat shows as soon as it runs.
	changed := !row.known || !hasSched || row.times.Coarse || sched != row.sched
	row.slowStale = row.slowStale || changed
	row.sched = sched
	if row.slowStale && now.Sub(row.slowAt) >= p.slow {
		return t.readSlow(p, row, now)
	}
	if changed {
		row.times.takeSchedstat(sched)
	}
	return true
}

// readSlow reads what costs more; false if the thread has ended or another has its number.
func (t *ThreadTable) readSlow(p *procRows, row *threadRow, now time.Time) bool {
	text, err := t.file(p.dir, row.statFD, row.times.TID, "stat", statSize)
	if err != nil {
		return false
	}
	start := row.times.Start
	if !row.times.takeStat(text) || row.known && row.times.Start != start {
		return false
	}
	row.times.takeSchedstat(row.sched)
	if text, err = t.file(p.dir, -1, row.times.TID, "status", statusSize); err == nil {
		row.times.takeStatus(text)
	}
	if row.slowAt = now; !row.known {
		// Threads found together are spread over the next second, so that no Refresh has to read them all.
		row.slowAt = now.Add(-time.Duration(row.times.TID%10) * SlowEvery / 10)
	}
	row.known, row.slowStale = true, false
	return true
}

// file reads a file of a thread, through fd if it is open.
func (t *ThreadTable) file(dir, fd, tid int, name string, size int) ([]byte, error) {
	if fd < 0 {
		return readAt(dir, threadFile(tid, name), t.buf[:size])
	}
	n, err := unix.Pread(fd, t.buf[:size], 0)
	if err != nil {
		return nil, err
	}
	return t.buf[:n], nil
}

// sweep moves the rows of threads that are not listed any more to ended.
func (t *ThreadTable) sweep(p *procRows) {
	if len(p.rows) == len(p.times) {
		return
	}
	for _, row := range p.rows {
		if row.round != p.round {
			t.end(p, row)
		}
	}
}

// maxEnded bounds what is kept for a caller that never asks for Ended.
const maxEnded = 1 << 16

func (t *ThreadTable) end(p *procRows, row *threadRow) {
	t.close(row)
	delete(p.rows, row.times.TID)
	t.known--
	if len(p.ended) < maxEnded && !row.times.worker {
		p.ended = append(p.ended, row.times)
	}
}

func (t *ThreadTable) close(row *threadRow) {
	for _, fd := range []int{row.schedFD, row.statFD} {
		if fd >= 0 {
			unix.Close(fd)
			t.open--
		}
	}
	row.schedFD, row.statFD = -1, -1
}

// Offsets in struct linux_dirent64 (getdents64(2)).
const (
	direntReclen = 16
	direntName   = 19
)

// listTIDs appends the numbers in a task directory to tids.
func listTIDs(dir int, tids []int, buf []byte) ([]int, error) {
	if _, err := unix.Seek(dir, 0, 0); err != nil {
		return tids, err
	}
	for {
		n, err := unix.Getdents(dir, buf)
		if err != nil || n <= 0 {
			return tids, err
		}
		for b := buf[:n]; len(b) > direntName; {
			length := int(binary.LittleEndian.Uint16(b[direntReclen:]))
			if length <= direntName || length > len(b) {
				break
			}
			if tid, _, ok := procfs.Number(b[direntName:length]); ok {
				tids = append(tids, int(tid))
			}
			b = b[length:]
		}
	}
}

// ListThreads returns the thread ids of a process, oldest first, without the kernel's workers. The error wraps ErrGone if it has ended.
func ListThreads(pid int) ([]int, error) {
	what := fmt.Sprintf("listing the threads of process %d", pid)
	dir, err := unix.Open(fmt.Sprintf("/proc/%d/task", pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, explain(what, err)
	}
	defer unix.Close(dir)
	tids, err := listTIDs(dir, nil, make([]byte, 32<<10))
	if err == nil && len(tids) == 0 {
		err = unix.ESRCH
	}
	return withoutWorkers(dir, tids), explain(what, err)
}

// withoutWorkers takes the kernel's own tasks out of a list. One that cannot be read any more stays in it: to look at it will say so.
func withoutWorkers(dir int, tids []int) []int {
	buf := make([]byte, statSize)
	return slices.DeleteFunc(tids, func(tid int) bool {
		var t ThreadTimes
		text, err := readAt(dir, threadFile(tid, "stat"), buf)
		return err == nil && t.takeStat(text) && t.worker
	})
}
