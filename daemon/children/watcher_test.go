package children

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/internal/testprog"
)

// A fakeHost says that this process is a target, and answers what a test wants.
type fakeHost struct {
	t      *testing.T
	joined []int
	asked  map[int]int
	answer func(pid int) error
}

func newWatcher(t *testing.T, answer func(pid int) error) (*Watcher, *fakeHost) {
	h := &fakeHost{t: t, asked: map[int]int{}, answer: answer}
	w := NewWatcher(Host{IsTarget: h.isTarget, Join: h.join, Logf: t.Logf})
	t.Cleanup(w.Close)
	return w, h
}

func (h *fakeHost) isTarget(pid int) bool {
	return pid == os.Getpid() || slices.Contains(h.joined, pid)
}

func (h *fakeHost) join(pid int) error {
	h.asked[pid]++
	err := h.answer(pid)
	if err == nil {
		h.joined = append(h.joined, pid)
	}
	return err
}

// pollUntil polls until something is so, at most for some seconds.
func pollUntil(t *testing.T, w *Watcher, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after a while: %s", what)
		}
		if now := time.Now(); w.Due(now) {
			w.Poll(now)
		}
	}
}

func sleeper(t *testing.T) int {
	t.Helper()
	return testprog.StartCmd(t, exec.Command("sleep", "60")).PID
}

// TestWatcherJoins: a child that is there at the attach is joined then, one that begins later once it is loaded, and each once.
func TestWatcherJoins(t *testing.T) {
	w, h := newWatcher(t, func(int) error { return nil })
	early := sleeper(t)
	time.Sleep(200 * time.Millisecond) // until it has executed its program
	w.Adopt([]int{os.Getpid()})
	if !slices.Contains(h.joined, early) {
		t.Errorf("joined are %v, and not %d, which was there", h.joined, early)
	}
	late := sleeper(t)
	pollUntil(t, w, "the new child is joined", func() bool { return slices.Contains(h.joined, late) })
	if w.LastBirth().IsZero() {
		t.Error("no birth was noted")
	}
	for range 20 {
		w.Poll(time.Now())
	}
	if h.asked[early] != 1 || h.asked[late] != 1 {
		t.Errorf("joined %d and %d times", h.asked[early], h.asked[late])
	}
}

// TestWatcherSearchesLeft: when no target is left one search is made for what the last has left behind, however often all processes were looked at before, and
// another one after something was joined; none once the session leaves.
func TestWatcherSearchesLeft(t *testing.T) {
	w, h := newWatcher(t, func(int) error { return nil })
	w.Adopt([]int{os.Getpid()})
	w.scanned = time.Time{} // a look at all that is due
	w.Poll(time.Now())
	if !w.SearchesLeft() || !w.Due(time.Now()) {
		t.Fatal("no search is made after a look at all processes")
	}
	pid := sleeper(t)
	pollUntil(t, w, "the child is joined", func() bool { return slices.Contains(h.joined, pid) })
	if !w.SearchesLeft() {
		t.Error("what was joined may leave something behind, and nobody looks")
	}
	pollUntil(t, w, "the search is over", func() bool { return !w.SearchesLeft() })
	w, _ = newWatcher(t, func(int) error { return nil })
	w.SearchesLeft()
	w.Leave()
	if w.Poll(time.Now()); w.SearchesLeft() {
		t.Error("a search after the session has left")
	}
}

// TestWatcherPutsOff: what cannot be stopped now is asked for again, and what can never be measured is not, once it has had the time to load.
func TestWatcherPutsOff(t *testing.T) {
	t.Run("deferred", func(t *testing.T) {
		first := true
		w, h := newWatcher(t, func(int) error {
			if first {
				first = false
				return &process.Deferred{TID: 1, State: 'D'}
			}
			return nil
		})
		w.Adopt([]int{os.Getpid()})
		pid := sleeper(t)
		pollUntil(t, w, "it is joined", func() bool { return slices.Contains(h.joined, pid) })
		if h.asked[pid] != 2 {
			t.Errorf("asked for %d times", h.asked[pid])
		}
	})
	t.Run("never", func(t *testing.T) {
		w, h := newWatcher(t, func(int) error { return errors.New("cannot be measured") })
		w.Adopt([]int{os.Getpid()})
		pid := sleeper(t)
		pollUntil(t, w, "it is shunned", func() bool { return w.shunned[pid] != 0 })
		asked := h.asked[pid]
		for range 20 {
			w.Poll(time.Now())
		}
		if h.asked[pid] != asked {
			t.Errorf("asked for again")
		}
		if !w.knows(pid) {
			t.Error("its children would not be followed")
		}
	})
}

// TestWatcherRestarted: what has executed another program is joined again.
func TestWatcherRestarted(t *testing.T) {
	w, h := newWatcher(t, func(int) error { return nil })
	w.Adopt([]int{os.Getpid()})
	pid := sleeper(t)
	pollUntil(t, w, "it is joined", func() bool { return slices.Contains(h.joined, pid) })
	h.joined = nil
	w.Restarted(pid, Former{Name: "a", Start: process.StartTime(pid)})
	pollUntil(t, w, "it is joined again", func() bool { return slices.Contains(h.joined, pid) })
}

// TestSum: what measured children have used is not missing, and next to nothing is nothing.
func TestSum(t *testing.T) {
	var parent, child Times
	parent.own.take(0)
	parent.own.take(time.Second)
	parent.children.take(time.Second)
	parent.children.take(3 * time.Second)
	child.own.take(0)
	child.own.take(500 * time.Millisecond)
	var s Sum
	s.Add(&parent)
	s.AddEnded(child.Ended())
	if used, share := s.Unmeasured(); used != 1500*time.Millisecond || share != 0.5 {
		t.Errorf("%v, %v of all", used, share)
	}
	s.AddEnded(Ended{Measured: 1460 * time.Millisecond, Known: 1460 * time.Millisecond})
	if used, share := s.Unmeasured(); used != 0 || share != 0 {
		t.Errorf("%v, %v of all, of next to nothing", used, share)
	}
	parent.children.take(4 * time.Second)
	child = Times{}
	child.own.take(400 * time.Millisecond)
	child.Late()
	child.own.take(900 * time.Millisecond)
	s = Sum{}
	s.Add(&parent)
	s.AddEnded(child.Ended())
	if used, _ := s.Unmeasured(); used != 2500*time.Millisecond {
		t.Errorf("%v; only the 500 ms of the second child since it was first read were measured", used)
	}
}
