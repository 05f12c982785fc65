package daemon

import (
	"sync"
	"time"

	"culprit/daemon/image/unwind"
	"culprit/daemon/kernel"
	"culprit/daemon/locks"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/daemon/waits"
	"culprit/grid"
	"culprit/pcl"
)

// A profile keeps what stack samples say of a target: which functions are on the stacks of threads that run, and of threads
// that wait; who calls whom; which locks and files threads wait for. It gives the search its order, resolves indirect calls
// by what they were seen to call, and judges what is too hot to be timed. Samples come from perf_event for threads that run
// and from /proc for threads that are blocked; nobody is stopped.
type profile struct {
	t       *measured
	sampler sampler // nil where it is not permitted
	failed  error   // why there is none
	next    int     // thread to look at next
	bursts  bursts
	heldAt  float64 // session time at which it was looked who has a lock
	births  int     // of threads, when the sampler was last told of them
	resting bool    // fewer samples are taken

	mu    sync.Mutex
	kinds [nKinds]kindStats
	edges map[pcl.FuncID]map[pcl.FuncID]float64 // caller -> callee -> samples
	roots map[pcl.FuncID]float64
	held  locks.Holders
	runs  map[int]pcl.FuncID // where threads ran when they were last sampled, the C library left out
}

// A sampler takes stack samples of a process.
type sampler interface {
	Refresh(tids []int) error
	Close() error
}

// The kinds of samples.
const (
	kindCPU = iota
	kindSync
	kindIO
	nKinds
)

var kindNames = map[string]int{"cpu": kindCPU, "sync": kindSync, "io": kindIO}

// kindStats counts samples of one kind; all counts fade, so that they say what happened lately.
type kindStats struct {
	total     float64
	functions map[pcl.FuncID]float64
	threads   map[int]float64
	objects   map[string]float64 // by focus part of the lock or file
	both      map[funcObject]float64
	items     map[itemObject]float64
}

type funcObject struct {
	f   pcl.FuncID
	obj string
}

// sampleHz is the rate of stack samples of each thread that runs: about 10 us each, 0.1 % of a processor. In a target that is only
// looked at all values come from them: 250 a second are half a percent.
//
// restingHz is enough to notice within seconds that something else runs now, where the search waits for processor time: to walk a stack
// takes us another 30 us, which at 31 a second were a third of what we took of two full processors between answers.
const (
	sampleHz  = 97
	restingHz = 15
	sampledHz = 249
)

func newProfile(t *measured) *profile {
	p := &profile{t: t, edges: map[pcl.FuncID]map[pcl.FuncID]float64{}, roots: map[pcl.FuncID]float64{},
		runs: map[int]pcl.FuncID{}}
	for k := range p.kinds {
		p.kinds[k] = newKindStats()
	}
	hz := sampleHz
	if t.sampled != nil {
		hz, p.bursts.budget = sampledHz, toggleShare
	}
	if p.sampler, p.failed = t.d.newSampler(t.Proc.PID(), hz); p.failed != nil {
		t.Logf("no stack samples of running threads: %v", p.failed)
	}
	return p
}

func newKindStats() kindStats {
	return kindStats{functions: map[pcl.FuncID]float64{}, threads: map[int]float64{}, objects: map[string]float64{}, both: map[funcObject]float64{}, items: map[itemObject]float64{}}
}

func (p *profile) close() {
	if p.sampler != nil {
		p.sampler.Close()
	}
}

// fade is what is left of a count after a second.
const fade = 0.85

func (p *profile) age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held.Fade(fade)
	for k := range p.kinds {
		s := &p.kinds[k]
		s.total *= fade
		fadeAll(s.functions)
		fadeAll(s.threads)
		fadeAll(s.objects)
		fadeAll(s.both)
		fadeAll(s.items)
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

// take counts a sample that perf has taken.
func (p *profile) take(s *kernel.Sample) {
	frames := p.t.Walker.Walk(sampleRegs(s), stack.Cached(s.StackAddr, s.Stack, nil))
	if p.t.sampled != nil {
		frames = p.t.sampled.jumps.Restore(frames)
		p.t.sampled.note(&stackSample{tid: s.TID, frames: frames})
	}
	p.add(kindCPU, s.TID, frames, "")
}

// follow tells perf of threads that came or went.
func (p *profile) follow() {
	if births := p.t.Threads.Changes(); p.sampler != nil && births != p.births {
		p.births = births
		p.sampler.Refresh(p.t.Threads.TIDs())
	}
}

func sampleRegs(s *kernel.Sample) unwind.Regs {
	r := &s.Regs
	return unwind.Regs{RAX: r.AX, RBX: r.BX, RCX: r.CX, RDX: r.DX, RSI: r.SI, RDI: r.DI, RBP: r.BP, RSP: r.SP,
		R8: r.R8, R9: r.R9, R10: r.R10, R11: r.R11, R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15, RIP: r.IP, Exact: true}
}

// pace lets perf sample, or not, as it is time to where samples cost something at each switch of a thread, and all targets together have
// so many switches a second. Elsewhere there are fewer samples where we are to rest.
func (p *profile) pace(switches float64, rest bool) {
	switch s := p.sampler.(type) {
	case *kernel.Sampler:
		if p.bursts.next(time.Now(), switches, s.Events()) {
			s.Resume()
		} else {
			s.Pause()
		}
	case *kernel.ProcessSampler:
		p.rest(s, rest && p.t.sampled == nil)
	}
}

func (p *profile) rest(s *kernel.ProcessSampler, rest bool) {
	hz := sampleHz
	if rest {
		hz = restingHz
	}
	if rest != p.resting && s.SetRate(hz) == nil {
		p.resting = rest
	}
}

// look samples up to most threads by /proc: what they are blocked in, and where. It returns how many.
func (p *profile) look(now float64, most int) int {
	tids := p.t.Threads.TIDs()
	n := min(len(tids), most)
	for range n {
		p.next++
		p.lookAt(tids[p.next%len(tids)], now)
	}
	return n
}

// lookAround is look for a target that is only looked at: threads that have not moved are left out.
func (p *profile) lookAround(now float64, most int) (looks int) {
	tids := p.t.Threads.TIDs()
	for range tids {
		p.next++
		tid := tids[p.next%len(tids)]
		if !p.t.sampled.needsLook(tid, now) {
			continue
		}
		p.lookAt(tid, now)
		if looks++; looks == most {
			break
		}
	}
	return looks
}

func (p *profile) lookAt(tid int, now float64) {
	call, kind, ok := p.t.Threads.Look(tid, now)
	if ok && p.t.sampled != nil {
		p.lookSampled(tid, call, kind, now)
		return
	}
	if !ok || kind != threads.Waiting {
		return
	}
	w := p.blocked(call)
	frames := w.Stack.Frames(p.t.Walker)
	object, what := p.waitsFor(w, frames, now)
	p.add(what, tid, frames, object)
	p.noteHolder(object, now)
}

// blocked is a blocked thread, with its stack.
func (p *profile) blocked(call kernel.BlockedCall) *waits.Thread {
	return &waits.Thread{Target: p.t.Target, Call: call, Stack: waits.StackOf(p.t.Proc, call)}
}

// waitsFor is what a blocked thread waits for at a session time, and of which kind its sample is.
func (p *profile) waitsFor(w *waits.Thread, frames []stack.Frame, now float64) (object string, kind int) {
	object, lock := w.For(frames, now)
	if lock {
		return object, kindSync
	}
	return object, kindIO
}

// add counts one sample.
func (p *profile) add(kind, tid int, frames []stack.Frame, object string) {
	p.t.NoteStack(tid, 0, frames)
	items := p.t.Items()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.kinds[kind]
	s.total++
	s.threads[tid]++
	if kind == kindCPU {
		p.noteRun(tid, frames)
	}
	if object != "" {
		s.objects[object]++
	}
	seen := map[pcl.FuncID]bool{}
	var callee pcl.FuncID
	for _, fr := range frames {
		if fr.Func == nil {
			callee = 0
			continue
		}
		id := fr.Func.ID
		if callee != 0 && callee != id {
			p.edge(id, callee)
		}
		callee = id
		if !seen[id] {
			seen[id] = true
			s.functions[id]++
			if object != "" {
				s.both[funcObject{id, object}]++
			}
		}
	}
	s.countItems(items, seen, object)
	if root := stack.ThreadRoot(frames); root != nil {
		p.roots[root.ID]++
	}
}

// noteRun remembers where a thread ran. p.mu is held.
func (p *profile) noteRun(tid int, frames []stack.Frame) {
	if len(p.runs) > 1<<14 { // most of them have ended
		clear(p.runs)
	}
	p.runs[tid] = stack.OwnFunction(frames)
}

func (p *profile) edge(caller, callee pcl.FuncID) {
	if p.edges[caller] == nil {
		p.edges[caller] = map[pcl.FuncID]float64{}
	}
	p.edges[caller][callee]++
}

// callees are the functions that a function was seen to call.
func (p *profile) callees(f pcl.FuncID) (ids []pcl.FuncID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.edges[f] {
		ids = append(ids, id)
	}
	return ids
}

// sampledRoots are the functions at the bottom of stacks.
func (p *profile) sampledRoots() (ids []pcl.FuncID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.roots {
		ids = append(ids, id)
	}
	return ids
}

// A sampledPart is what of a focus samples know, read once for all targets.
type sampledPart struct {
	item         *pcl.GroupingItem // nil where none is chosen
	object       string            // as objectPart has it
	code, thread []string          // elements
}

func (d *Daemon) sampledPart(f grid.Focus) *sampledPart {
	return &sampledPart{d.session.ItemOf(f), objectPart(f), f.Elements(grid.Code), f.Elements(grid.Process)}
}

// weight is how many samples of a kind support a part, and of how many.
func (p *profile) weight(part *sampledPart, kind int) (hits, total float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.kinds[kind]
	switch {
	case s.total == 0: // nothing was seen, as of processes that only wait
	case part.item != nil:
		hits = p.itemWeight(s, part)
	case len(part.thread) == 2 && len(part.code) < 2:
		for tid, n := range s.threads {
			if p.t.Threads.Is(tid, part.thread[1]) {
				hits += n
			}
		}
	case len(part.code) >= 2:
		for _, id := range p.t.Function(part.code[0], part.code[1]) {
			if part.object != "" {
				hits += s.both[funcObject{id, part.object}]
			} else {
				hits += s.functions[id]
			}
		}
	case part.object != "":
		hits = s.objects[part.object]
	default:
		hits = s.total
	}
	return hits, s.total
}

// objectPart names the lock or file that a focus selects, as the profile keeps it.
func objectPart(f grid.Focus) string {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if e := f.Elements(h); len(e) == 2 {
			return h.String() + "/" + e[0] + "/" + e[1]
		}
	}
	return ""
}
