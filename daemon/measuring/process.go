package measuring

import (
	"sync"
	"sync/atomic"
	"time"

	"culprit/daemon/children"
	"culprit/daemon/cost"
	"culprit/daemon/estimate"
	"culprit/daemon/kernel"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/locks"
	"culprit/daemon/openfiles"
	"culprit/daemon/patch"
	"culprit/daemon/placement"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/daemon/threads"
	"culprit/daemon/waits"
	"culprit/pcl"
)

// A Process is one that is measured. Whoever holds its lock may use all of it.
type Process struct {
	sync.Mutex
	*target.Target
	Common *Common

	size       uint64              // of its memory when that was last looked at, in bytes
	Rates      cost.Rates          // of calls
	kept       *kernelmeter.Source // what the kernel keeps of it
	Profile    *sampling.Profile
	sampled    atomic.Pointer[estimate.Times] // of what samples tell and no probe; nil where there is none
	WhySampled string                         // why that is so
	ended      atomic.Bool
	facts      atomic.Pointer[Facts]
	freeze     freeze
	runs       *estimate.Times // of what samples of threads that run tell, where it has probes; nil until somebody asks
	waiting    *estimate.Times // of what looks at threads that wait tell, where it has probes; nil until somebody asks
	delayed    []kernel.Sample // that came while somebody else had the lock, or a table was made
	making     atomic.Bool     // tables are made that samples wait for
	makers     sync.WaitGroup  // who make them
	Settled    bool            // it has ended, and its last values were handed on
	Execed     bool            // it has ended as this program, and the process runs another one
	Child      bool            // it was started by a target, and came by that
	Joining    bool            // what is measured of the others is not measured of it yet
	Times      children.Times
	JoinedAt   float64   // session time
	EndedAt    float64   // session time at which its end was seen
	Incomplete time.Time // when it was last tried to measure there what is measured of the others, and not all could be
	Seat       int       // its place in the order of attaching
	Detached   bool
	Blocks     *probe.Blocks
	running    map[*Part]bool // whose code may run
	unprobed   int            // objects that take no probes of which the user was told
}

// Open looks at a process without touching it: its objects and functions.
func Open(c *Common, pid int, open func(pid int) (*process.Process, error)) (*Process, error) {
	p, err := open(pid)
	if err != nil {
		return nil, err
	}
	t := &Process{Target: target.New(c.Session), Common: c, running: map[*Part]bool{}}
	if err := t.Open(p, &c.Images, t.hooks()); err != nil {
		t.Close()
		return nil, err
	}
	t.readLarge()
	t.Threads = threads.New(threads.Config{PID: pid, Name: t.Name, Kernel: c.Kernel, Tree: c.Tree, Memory: t.Proc, Driven: t.Proc.Driven, IsSyscallFunction: t.IsSyscallFunction, IsGo: t.MayBeGo})
	t.Locks = locks.New(c.Tree, locks.Names{Lock: waits.LockNamer(t.Program), Thread: t.Threads.Joined})
	t.Stats = targetstats.New(targetstats.Config{Name: t.Name, Proc: p, Threads: t.Threads, Programs: &c.Programs, Filtered: func() bool { return t.Seccomp != 0 }, Logf: t.Logf})
	t.Blocks = probe.NewBlocks(t.Target)
	t.kept = &kernelmeter.Source{Target: t.Target, Own: c.Own, Ended: t.Ended, Over: func() bool { return t.Settled || t.Execed }}
	t.Files = c.Files.Table(openfiles.Config{PID: pid, Word: t.fileWord, MayRead: t.mayReadMemory})
	return t, nil
}

// hooks are what the code of the target asks of the daemon.
func (t *Process) hooks() target.Hooks {
	return target.Hooks{
		Look:  waits.NameUnnamed(t.Target),
		Found: t.narrows,
		Refresh: func() error {
			_, err := t.RefreshCode()
			return err
		},
		Unloaded: func(owner patch.Owner, o *program.Object) { owner.(*Part).noteUnloaded(o) },
	}
}

// RefreshCode finds what the target has loaded and unloaded, and tells whether it has loaded anything.
func (t *Process) RefreshCode() (more bool, err error) {
	maps, err := t.Proc.Maps()
	if err != nil {
		return false, err
	}
	c, err := t.Refresh(target.CodeMaps(maps), t.leaves)
	t.Plans.Add(c.Loaded...)
	t.Locks.EndUnmapped(func(addr uint64) bool { return mapped(maps, addr) })
	return len(c.Loaded) > 0, err
}

// mapped reports whether an address is. Mappings are in order.
func mapped(maps []process.Mapping, addr uint64) bool {
	for _, m := range maps {
		if m.Contains(process.Addr(addr)) {
			return true
		}
	}
	return false
}

// leaves takes leave of an object that is not mapped any more.
func (t *Process) leaves(o *program.Object) {
	before := t.Patches.Removed.Load()
	for _, owner := range t.Leave(o) {
		owner.(*Part).loses(o)
	}
	t.forget(o)
	if places := t.Patches.Removed.Load() - before; places > 0 {
		t.Logf("%s has unloaded %s, and %d places with probes went with it: they count on if it is loaded again", t.Name, o.Name, places)
	}
}

// forget drops what is planned for the functions of an object that is gone, and how often they were called.
func (t *Process) forget(o *program.Object) {
	t.Plans.Drop(o)
	t.Rates.Forget(func(id pcl.FuncID) bool { return o.Holds(uint64(id)) })
}

// Close gives back what is kept of the process. Nothing that was put into it is taken out by that.
func (t *Process) Close() {
	t.makers.Wait()
	if t.Profile != nil {
		t.Profile.Close()
	}
	t.Plans.Close()
	t.Files.Close()
	if t.Stats != nil {
		t.Stats.Close()
	}
	if t.Seg != nil {
		t.Seg.Close()
	}
	t.Proc.Close()
}

// Detach restores every byte, then unmaps the segment once no thread is inside. If something stands in the way, it is done
// once more from what the process itself carries. After an error everything is as it was, and detach may be called again. gone says that the
// process has ended.
func (t *Process) Detach() (gone bool, err error) {
	if t.Detached {
		return false, nil
	}
	err = t.TakeOut(placement.Begin(t.Target, t.Blocks, nil))
	gone = t.Proc.GoneBy(err)
	if err != nil && !gone {
		return false, err
	}
	t.Detached = true
	t.Close()
	return gone, nil
}
