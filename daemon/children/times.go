package children

import (
	"time"

	"culprit/daemon/kernel"
)

// Times are readings of a process's own processor time and of that of the children it has waited for, each with what those had used. A child
// that lives for some milliseconds is gone before anybody can look at it; the kernel keeps the time of those that somebody waited for.
type Times struct {
	own, children growth
	unseen        time.Duration // of its own, before it was first read: nobody has measured that
	faults        [2]uint64     // minor faults of children that were waited for: when that was first read, and lastly
}

// A growth is how far a figure has come since it was first read.
type growth struct {
	first, last time.Duration
	read        bool
}

func (g *growth) take(v time.Duration) {
	if !g.read {
		g.first, g.read = v, true
	}
	g.last = max(g.last, v)
}

func (g *growth) by() time.Duration { return g.last - g.first }

// Read takes all figures of a process that has not ended.
func (t *Times) Read(pid int) {
	k, err := kernel.ReadProcess(pid)
	if err != nil {
		return
	}
	t.own.take(k.User + k.System)
	if !t.children.read {
		t.faults[0] = k.ChildFaults
	}
	t.faults[1] = k.ChildFaults
	t.children.take(k.Children)
}

// ReadOwn takes the process's own processor time alone, which is cheaper.
func (t *Times) ReadOwn(pid int) {
	if own, err := kernel.ProcessTime(pid); err == nil {
		t.own.take(own)
	}
}

// Own is how much processor time the process has used since it was first read.
func (t *Times) Own() time.Duration { return t.own.by() }

// Late notes that the process began within the session, and was first read some time after its beginning.
func (t *Times) Late() { t.unseen = t.own.first }

// Ended is what is to be known of a child that has ended.
func (t *Times) Ended() Ended { return Ended{Measured: t.own.by(), Known: t.own.last - t.unseen} }

// Ended is the processor time of children that have ended: while they were measured, and what of all that they have used in their lives is not
// missing: that, and what they used before the session.
type Ended struct{ Measured, Known time.Duration }

// And adds the times of others.
func (e Ended) And(o Ended) Ended { return Ended{e.Measured + o.Measured, e.Known + o.Known} }

// LostChildren reports whether the process has waited for children since it was first read: the kernel counts their faults, however short they
// lived.
func (t *Times) LostChildren() bool { return t.faults[1] > t.faults[0] }

// Short of this time, or this share of all, what others have used is not spoken of.
const (
	leastUnmeasured      = 50 * time.Millisecond
	leastUnmeasuredShare = 0.01
)

// A Sum adds up what the processes of a tree have used.
type Sum struct {
	own    time.Duration // of processes that are or were measured
	others time.Duration // of children that were waited for, without those that were measured
}

// Add adds a process that lives, or that was attached to.
func (s *Sum) Add(t *Times) {
	s.own += t.own.by()
	s.others += t.children.by()
}

// AddEnded adds children that were measured until they ended: what they have used is among the children of their parents.
func (s *Sum) AddEnded(e Ended) {
	s.own += e.Measured
	s.others -= e.Known
}

// AddSampled adds what processes that were not joined have used by samples (see Watcher.Ran). It counts where it is more than twice what the kernel tells:
// of children that nobody waits for it tells nothing.
func (s *Sum) AddSampled(ran time.Duration) {
	if ran > 2*s.others {
		s.others = ran
	}
}

// Unmeasured is how much processor time went to children that nobody measured, and what share that is of all; 0 if it is next to nothing.
func (s *Sum) Unmeasured() (used time.Duration, share float64) {
	if share = s.others.Seconds() / (s.others + s.own).Seconds(); s.others < leastUnmeasured || share < leastUnmeasuredShare {
		return 0, 0
	}
	return s.others, share
}
