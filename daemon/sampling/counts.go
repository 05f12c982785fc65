package sampling

import (
	"sync"

	"culprit/daemon/items"
	"culprit/daemon/kernel"
	"culprit/daemon/locks"
	"culprit/daemon/stack"
	"culprit/daemon/target"
	"culprit/pcl"
)

// Counts are what the samples of a target say. All of them but those of who calls whom fade, so that they say what happened lately.
type Counts struct {
	t *target.Target

	mu    sync.Mutex
	kinds [nKinds]kindCounts
	edges map[pcl.FuncID]map[pcl.FuncID]float64 // caller -> callee -> samples
	roots map[pcl.FuncID]float64
	held  locks.Holders
	idling
	woken map[string]*wokenBy // by focus part of what is waited for, or of the function that waits
	runs  map[int]pcl.FuncID  // where threads ran when they were last sampled, the C library left out
	// computing are the samples of running threads by the functions at the top of their stacks.
	computing map[funcThread]float64
}

// A Kind of samples: by what the thread was doing.
type Kind int

// The kinds of samples. Those of Call and Fault are of CPU as well.
const (
	CPU   Kind = iota // it ran
	Sync              // it waited for another thread
	IO                // it waited for a device
	Call              // it ran in a system call
	Fault             // it ran in a page fault
	nKinds
)

var kindNames = map[string]Kind{"cpu": CPU, "sync": Sync, "io": IO, "system_call": Call, "page_fault": Fault}

// kindsRunning are the kinds of a sample of a thread that ran, by its mode.
var kindsRunning = [...][]Kind{
	kernel.UnknownMode: {CPU}, kernel.UserMode: {CPU}, kernel.CallMode: {CPU, Call}, kernel.FaultMode: {CPU, Fault},
}

// KindOf is the kind with a name, as PCL has it.
func KindOf(name string) (k Kind, ok bool) {
	k, ok = kindNames[name]
	return k, ok
}

// KindNamed tells whether a kind has a name.
func KindNamed(k Kind, name string) bool {
	named, ok := kindNames[name]
	return ok && named == k
}

// kindCounts are the samples of one kind.
type kindCounts struct {
	total     float64
	functions map[pcl.FuncID]float64
	threads   map[int]float64
	objects   map[string]float64 // by focus part of the lock or file
	both      map[funcObject]float64
	items     map[itemObject]float64
	// within are the samples of threads with a function on their stacks, of the first maxWithin pairs; crowded says that there are more.
	within  map[funcThread]float64
	crowded bool
}

// maxWithin bounds the pairs of a thread and a function of which samples are counted.
const maxWithin = 1 << 16

type funcObject struct {
	f   pcl.FuncID
	obj string
}

// An itemObject is an item together with a lock or file, as the profile names it; "" for whatever is waited for, or nothing.
type itemObject struct {
	item int
	obj  string
}

func (c *Counts) init(t *target.Target) {
	c.computing = map[funcThread]float64{}
	c.t, c.edges, c.roots, c.runs, c.woken = t, map[pcl.FuncID]map[pcl.FuncID]float64{}, map[pcl.FuncID]float64{}, map[int]pcl.FuncID{}, map[string]*wokenBy{}
	for k := range c.kinds {
		c.kinds[k] = kindCounts{functions: map[pcl.FuncID]float64{}, threads: map[int]float64{}, objects: map[string]float64{},
			both: map[funcObject]float64{}, items: map[itemObject]float64{}, within: map[funcThread]float64{}}
	}
}

// fade is what is left of a count after a second.
const fade = 0.85

// Age lets the counts fade by a second.
func (c *Counts) Age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held.Fade(fade)
	c.idling.fade()
	c.fadeWoken()
	fadeAll(c.computing)
	for k := range c.kinds {
		s := &c.kinds[k]
		s.total *= fade
		fadeAll(s.functions)
		fadeAll(s.threads)
		fadeAll(s.objects)
		fadeAll(s.both)
		fadeAll(s.items)
		fadeAll(s.within)
		s.crowded = s.crowded && len(s.within) > maxWithin/2
	}
}

func fadeAll[K comparable](m map[K]float64) {
	for k, v := range m {
		if v *= fade; v < 0.01 {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
}

// add counts one sample, which has one kind or several. index is nil where no items are defined.
func (c *Counts) add(kinds []Kind, tid int, frames []stack.Frame, object string, index *items.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	functions := c.noteCalls(frames)
	for _, k := range kinds {
		c.kinds[k].count(tid, functions, object, index)
		if k == CPU {
			c.noteRun(tid, frames)
			c.noteComputing(tid, frames)
		}
	}
	if root := stack.ThreadRoot(frames); root != nil {
		c.roots[root.ID]++
	}
}

// noteCalls counts who calls whom on a stack, and returns the functions that are there. c.mu is held.
func (c *Counts) noteCalls(frames []stack.Frame) (functions map[pcl.FuncID]bool) {
	functions = map[pcl.FuncID]bool{}
	var callee pcl.FuncID
	for _, fr := range frames {
		if fr.Func == nil {
			callee = 0
			continue
		}
		id := fr.Func.ID
		if callee != 0 && callee != id {
			c.edge(id, callee)
		}
		callee, functions[id] = id, true
	}
	return functions
}

// count counts a sample of the kind.
func (s *kindCounts) count(tid int, functions map[pcl.FuncID]bool, object string, index *items.Index) {
	s.total++
	s.threads[tid]++
	if object != "" {
		s.objects[object]++
	}
	for id := range functions {
		s.functions[id]++
		s.countWithin(funcThread{id, tid})
		if object != "" {
			s.both[funcObject{id, object}]++
		}
	}
	s.countItems(index, functions, object)
}

// countWithin counts a thread that has a function on its stack.
func (s *kindCounts) countWithin(at funcThread) {
	if _, known := s.within[at]; !known && len(s.within) >= maxWithin {
		s.crowded = true
		return
	}
	s.within[at]++
}

// maxRuns bounds the threads of which it is remembered where they ran.
const maxRuns = 1 << 14

// noteRun remembers where a thread ran. c.mu is held.
func (c *Counts) noteRun(tid int, frames []stack.Frame) {
	if len(c.runs) > maxRuns { // most of them have ended
		clear(c.runs)
	}
	c.runs[tid] = stack.OwnFunction(frames)
}

func (c *Counts) edge(caller, callee pcl.FuncID) {
	if c.edges[caller] == nil {
		c.edges[caller] = map[pcl.FuncID]float64{}
	}
	c.edges[caller][callee]++
}

// countItems counts a sample for every item that it supports, once.
func (s *kindCounts) countItems(x *items.Index, functions map[pcl.FuncID]bool, object string) {
	if x == nil {
		return
	}
	seen := map[int]bool{}
	for id := range functions {
		for _, n := range x.Of(id) {
			if seen[n] {
				continue
			}
			seen[n] = true
			s.items[itemObject{n, ""}]++
			if object != "" {
				s.items[itemObject{n, object}]++
			}
		}
	}
}
