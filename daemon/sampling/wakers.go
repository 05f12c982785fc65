package sampling

import (
	"slices"
	"strings"

	"culprit/daemon/kernel"
	"culprit/daemon/stack"
	"culprit/grid"
	"culprit/pcl"
)

// Who ends waits, by what they are for and by the functions that wait.

// A Waker is a thread that ends waits, as it is told, and the part of a thread's waits that it has ended, 0 to 1.
type Waker struct {
	Thread   string
	Function string // where it is, as module/function; "" if that is not known
	Of       float64
	Outside  bool // a thread of a process that is not measured
}

// Kernel is what ends waits that no thread of a program ends.
const Kernel = "the kernel (a device, the network or a timer)"

// wakeEvery is how often it is looked who ends a wait, all waits together, in seconds.
const wakeEvery = 0.02

// wokenBy counts looks at waits of one kind.
type wokenBy struct {
	looks float64
	by    map[Waker]float64 // without Of
}

// noteWakers looks who ends the waits of a thread, at a session time.
func (p *Profile) noteWakers(tid int, object string, frames []stack.Frame, now float64) {
	if p.wakers == nil || now-p.wokenAt < wakeEvery {
		return
	}
	p.wokenAt = now
	list := p.wakers(tid, now)
	if len(list) == 0 {
		return
	}
	if strings.HasPrefix(object, grid.IO.String()+"/File/") {
		list = byKernel(list)
	}
	seen := map[string]bool{object: true, "": true}
	for _, fr := range frames {
		if fr.Func != nil {
			seen[codePart(fr.Func.Fn.Module, fr.Func.Fn.Name)] = true
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for part := range seen {
		p.woken[part] = p.woken[part].with(list)
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

func (w *wokenBy) with(list []Waker) *wokenBy {
	if w == nil {
		w = &wokenBy{by: map[Waker]float64{}}
	}
	w.looks++
	for _, one := range list {
		w.by[Waker{Thread: one.Thread, Function: one.Function}] += one.Of
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
		fadeAll(w.by)
	}
}

// leastWaker is the share of waits below which a waker is not told.
const leastWaker = 0.05

// Wakers tells who ended the waits at a focus within the last seconds.
func (c *Counts) Wakers(f grid.Focus) (list []grid.Holder) {
	part := ObjectPart(f)
	if e := f.Elements(grid.Code); part == "" && len(e) >= 2 {
		part = codePart(e[0], e[1])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.woken[part]
	if w == nil {
		return nil
	}
	for who, n := range w.by {
		if share := n / w.looks; share >= leastWaker {
			list = append(list, grid.Holder{Thread: who.Thread, Function: who.Function, Share: share, Wakes: true})
		}
	}
	return list
}

// Where is the function that a thread is in, as module/function: where it waits, or where it was last seen to run. The C library is left out;
// "" if it is not known.
func (p *Profile) Where(tid int) string {
	at := p.ranAt(tid)
	if call, err := kernel.Blocked(p.t.Proc.PID(), tid); err == nil && !call.Running {
		at = stack.OwnFunction(p.blocked(call).Stack.Frames(p.t.Walker))
	}
	if f := p.t.Func(pcl.FuncID(at)); f != nil {
		return f.Fn.Module + "/" + f.Fn.Name
	}
	return ""
}
