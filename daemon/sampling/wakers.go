package sampling

import (
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
)

// Who ends waits, by what they are for and by the functions that wait.

// A Waker is a thread that ends waits, as it is told, and the part of a thread's waits that it has ended, 0 to 1.
type Waker struct {
	Thread   string
	Function string // where it is, as module/function; "" if that is not known
	Of       float64
	Does     Doing
	Busy     bool // it hardly waits for anything but a CPU
	Outside  bool // a thread of a process that is not measured
	InTurn   bool // one that works, for which those wait who end the waits: Of is the part of the waits that these end
}

// Unseen stands for those for whom a thread waits that ends the waits of others, where it does not wait just now.
var Unseen = Waker{InTurn: true}

// A Doing is what a thread does for which others wait.
type Doing int

const (
	Waits   Doing = iota // for something else, or that is not known
	Beside               // for the same
	Delayed              // it would work if it had a CPU
	Works
)

// Kernel is what ends waits that no thread of a program ends.
const Kernel = "the kernel (a device, the network or a timer)"

// wakeEvery is how often it is looked who ends a wait, all waits together, in seconds.
const wakeEvery = 0.02

// A draw chooses one of the threads that are met in a pass over them, by chance: in which order they are met means nothing.
type draw struct {
	at, pass   float64 // session times of the last choice, and of the pass that goes on
	met, last  int     // threads in this pass, and in the one before
	stillToLet int     // that many are let pass before the next choice
}

// falls says whether the choice falls on the thread that is met now; it does not before a time has passed since the last choice.
func (d *draw) falls(every, now float64) bool {
	if now != d.pass {
		d.pass, d.met, d.last = now, 0, d.met
	}
	d.met++
	if now-d.at < every {
		return false
	}
	if d.stillToLet > 0 {
		d.stillToLet--
		return false
	}
	d.at, d.stillToLet = now, rand.IntN(max(d.met, d.last))
	return true
}

// wokenBy counts looks at waits of one kind.
type wokenBy struct {
	looks, unseen float64 // unseen: of looks, those that tell nothing of who is waited for in turn
	by            map[place]*ended
}

// A place is a thread in a function.
type place struct {
	thread, function string
	inTurn           bool
}

// ended is what part of the waits a thread in a function has ended: all together, while it worked, while it waited for a CPU, and of those who wait for
// all of its work, as far as it was busy.
type ended struct{ all, working, delayed, wholly float64 }

func (e ended) plus(o ended) ended {
	return ended{e.all + o.all, e.working + o.working, e.delayed + o.delayed, e.wholly + o.wholly}
}

// noteWakers looks who ends the waits of a thread, at a session time.
func (p *Profile) noteWakers(tid int, call kernel.BlockedCall, object string, frames []stack.Frame, now float64) {
	if p.wakers == nil || !p.woke.falls(wakeEvery, now) {
		return
	}
	list := p.wakers(tid, call, now)
	if len(list) == 0 {
		return
	}
	if strings.HasPrefix(object, grid.IO.String()+"/File/") {
		list = byKernel(list)
	}
	wholly := threads.AwaitsWork(call) && !judge{p, tid, now}.waitsForLock(call)
	seen := map[string]bool{object: true, "": true}
	for _, fr := range frames {
		if fr.Func != nil {
			seen[codePart(fr.Func.Fn.Module, fr.Func.Fn.Name)] = true
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for part := range seen {
		p.woken[part] = p.woken[part].with(list, wholly)
	}
}

// byKernel puts down to the kernel what threads of other programs have ended: a disk ends waits for files, and its interrupt comes upon any thread.
func byKernel(list []Waker) []Waker {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Outside {
			list[i] = Waker{Thread: Kernel, Of: list[i].Of}
		}
	}
	return list
}

func codePart(module, function string) string {
	return grid.Code.String() + "/" + module + "/" + function
}

// with adds a look at a wait, and who ends it. wholly says that all of a waker's work is waited for.
func (w *wokenBy) with(list []Waker, wholly bool) *wokenBy {
	if w == nil {
		w = &wokenBy{by: map[place]*ended{}}
	}
	w.looks++
	for _, one := range list {
		if one == Unseen {
			w.unseen++
			continue
		}
		at := place{one.Thread, one.Function, one.InTurn}
		if w.by[at] == nil {
			w.by[at] = &ended{}
		}
		w.by[at].all += one.Of
		switch one.Does {
		case Works:
			w.by[at].working += one.Of
		case Delayed:
			w.by[at].delayed += one.Of
		}
		if wholly && one.Busy {
			w.by[at].wholly += one.Of
		}
	}
	return w
}

// fadeWoken lets the counts fade. c.mu is held.
func (c *Counts) fadeWoken() {
	for part, w := range c.woken {
		if w.looks *= fade; w.looks < 0.01 {
			delete(c.woken, part)
			continue
		}
		w.unseen *= fade
		for at, e := range w.by {
			e.working *= fade
			e.delayed *= fade
			e.wholly *= fade
			if e.all *= fade; e.all < 0.01 {
				delete(w.by, at)
			}
		}
	}
}

// leastWaker is the share of waits below which a waker is not told.
const leastWaker = 0.05

// leastSeen is the part of the looks that must tell who is waited for in turn.
const leastSeen = 0.25

// A Tally puts together who ended waits in several processes.
type Tally struct{ all wokenBy }

// Add adds who ended the waits at a focus within the last seconds.
func (s *Tally) Add(c *Counts, f grid.Focus) {
	part := ObjectPart(f)
	if e := f.Elements(grid.Code); part == "" && len(e) >= 2 {
		part = codePart(e[0], e[1])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.woken[part]
	if w == nil {
		return
	}
	if s.all.by == nil {
		s.all.by = map[place]*ended{}
	}
	s.all.looks += w.looks
	s.all.unseen += w.unseen
	for at, e := range w.by {
		if s.all.by[at] == nil {
			s.all.by[at] = &ended{}
		}
		*s.all.by[at] = s.all.by[at].plus(*e)
	}
}

// Wakers lists them, in no order. What a thread ends in many functions, too little in each to be told, is told of the thread without a function.
func (s *Tally) Wakers() (list []grid.Holder) {
	for at, e := range s.told() {
		looks := s.looks(at)
		if share := e.all / looks; share >= leastWaker && looks >= leastSeen*s.all.looks {
			list = append(list, grid.Holder{Thread: at.thread, Function: at.function, Share: share, Wakes: true, InTurn: at.inTurn,
				Works: e.working / looks, Delayed: e.delayed / looks, Wholly: e.wholly / looks})
		}
	}
	return list
}

// looks are those that can tell of a place.
func (s *Tally) looks(at place) float64 {
	if at.inTurn {
		return s.all.looks - s.all.unseen
	}
	return s.all.looks
}

// told are the places, those put together that are too small.
func (s *Tally) told() map[place]ended {
	told := map[place]ended{}
	for at, e := range s.all.by {
		if e.all/s.looks(at) < leastWaker {
			at.function = ""
		}
		told[at] = told[at].plus(*e)
	}
	return told
}

// Where is the function that a thread is in, as module/function: where it waits, or, of one that runs or is busy, where it was last seen to run. The C
// library is left out; "" if it is not known. in is the call of a thread of the same process for which it does something, or of another one.
func (p *Profile) Where(tid int, in kernel.BlockedCall, same bool) (function string, does Doing, busy bool) {
	at := p.ranAt(tid)
	busy = p.t.Threads.IsBusy(tid)
	call, err := kernel.Blocked(p.t.Proc.PID(), tid)
	switch {
	case err == nil && !call.Running && !busy:
		at = stack.OwnFunction(p.framesOf(p.blocked(tid, call)))
		if same && sameWait(call, in) {
			does = Beside
		}
	case err != nil:
	case p.t.Threads.Runs(tid):
		does = Works
	case p.t.Threads.Delayed(tid):
		does = Delayed
	}
	return p.functionName(at), does, busy
}

// sameWait tells whether two threads of a process wait for the same lock or condition. A condition variable has two words side by side that are
// waited for in turn.
func sameWait(a, b kernel.BlockedCall) bool {
	return a.NR == unix.SYS_FUTEX && b.NR == unix.SYS_FUTEX && a.Args[0]&^7 == b.Args[0]&^7
}

// WhoElse leaves those out that wait for the same themselves, if there are others: they passed on what one of those gave them.
func WhoElse(list []Waker) []Waker {
	all, others := 0.0, 0.0
	for _, w := range list {
		if all += w.Of; w.Does != Beside {
			others += w.Of
		}
	}
	if others == 0 {
		return list
	}
	list = slices.DeleteFunc(list, func(w Waker) bool { return w.Does == Beside })
	for i := range list {
		list[i].Of *= all / others
	}
	return list
}

// functionName is a function as module/function; "" if it is not known.
func (c *Counts) functionName(id pcl.FuncID) string {
	if f := c.t.Func(id); f != nil {
		return f.Fn.Module + "/" + f.Fn.Name
	}
	return ""
}
