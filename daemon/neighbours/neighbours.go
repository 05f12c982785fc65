// Package neighbours finds out which other processes of the machine use its CPUs.
//
// It reads /proc/PID/stat, which everybody may, and knows nothing of targets. All of it may be called from any goroutine.
package neighbours

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

const (
	every    = 2 * time.Second        // from one look to the next
	first    = 700 * time.Millisecond // from the first look to the second, for which whoever asks waits
	forgets  = 10 * time.Second       // after which a look is no beginning
	most     = 5                      // processes that are told
	least    = 0.05                   // CPUs that are worth telling
	mostRead = 10_000                 // processes that are looked at
	tick     = 10 * time.Millisecond  // of the times in /proc (USER_HZ)
)

// A Neighbour is a process and how many CPUs it used lately, with its children that have begun and ended meanwhile.
type Neighbour struct {
	PID  int
	Name string // not safe to show
	CPUs float64
}

// A life is one process; its number may be another's later.
type life struct {
	pid   int
	start uint64
}

// times are those of a process, in ticks.
type times struct {
	own, children uint64 // children: of those that it has waited for
	parent        int
}

// A Watch compares two looks at all processes. The zero value has not looked yet. It looks only when it is asked.
type Watch struct {
	mu     sync.Mutex
	at     time.Time
	ticks  map[life]times
	latest []Neighbour
}

// Busiest are the processes that used most CPU time between the last two looks, the busiest first, without those that are left out. Where nobody has
// asked for long it takes 700 ms.
func (w *Watch) Busiest(leaveOut func(pid int) bool) (list []Neighbour) {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed := time.Since(w.at)
	if passed >= forgets {
		w.look()
		time.Sleep(first)
	}
	if passed >= every {
		w.look()
	}
	for _, n := range w.latest {
		if len(list) < most && !leaveOut(n.PID) {
			list = append(list, n)
		}
	}
	return list
}

// MayMeet reports whether two processes may run on the same CPU, as far as their main threads tell.
func MayMeet(a, b int) bool {
	var of [2]unix.CPUSet
	for i, pid := range []int{a, b} {
		if unix.SchedGetaffinity(pid, &of[i]) != nil {
			return true // it is not known
		}
	}
	for i := range of[0] {
		if of[0][i]&of[1][i] != 0 {
			return true
		}
	}
	return false
}

// look reads the times of all processes, and compares them with those of the look before.
func (w *Watch) look() {
	before, now := w.ticks, time.Now()
	passed := now.Sub(w.at)
	names := map[life]string{}
	w.at, w.ticks, w.latest = now, map[life]times{}, nil
	for _, pid := range processes() {
		if s, err := procfs.ReadStat(pid); err == nil { // else it has ended
			l := life{pid, s.Start}
			w.ticks[l], names[l] = times{s.User + s.System, s.Children, s.Parent}, string(s.Name)
		}
	}
	if before == nil {
		return
	}
	inherited := w.inherited(before)
	for l, t := range w.ticks {
		was := before[l] // nothing of one that has begun since
		used := t.own - was.own
		if ended := was.children + inherited[l.pid]; t.children > ended {
			used += t.children - ended
		}
		if cpus := (time.Duration(used) * tick).Seconds() / passed.Seconds(); cpus >= least {
			w.latest = append(w.latest, Neighbour{l.pid, names[l], cpus})
		}
	}
	slices.SortFunc(w.latest, func(a, b Neighbour) int { return cmp.Or(cmp.Compare(b.CPUs, a.CPUs), a.PID-b.PID) })
}

// inherited is what processes have got since the look before of children that used it before, and of theirs, by the number of the process.
func (w *Watch) inherited(before map[life]times) map[int]uint64 {
	ended := map[int]times{}
	for l, t := range before {
		if _, lives := w.ticks[l]; !lives {
			ended[l.pid] = t
		}
	}
	ticks := map[int]uint64{}
	for _, t := range ended {
		heir := t.parent
		for range ended { // no more steps than that, whatever the kernel tells of numbers that are used again
			one, gone := ended[heir]
			if !gone {
				break
			}
			heir = one.parent
		}
		ticks[heir] += t.own + t.children
	}
	return ticks
}

func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(mostRead) // what could be read is used
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
