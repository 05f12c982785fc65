package daemon

import (
	"time"

	"culprit/daemon/children"
	"culprit/daemon/cost"
	"culprit/daemon/estimate"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/locks"
	"culprit/daemon/openfiles"
	"culprit/daemon/patch"
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

// A measured is one process that is measured.
type measured struct {
	*target.Target
	d *Daemon

	size       uint64              // of its memory when that was last looked at, in bytes
	rates      cost.Rates          // of calls
	kept       *kernelmeter.Source // what the kernel keeps of it
	profile    *sampling.Profile
	sampled    *estimate.Times // of what samples tell and no probe; nil where there is none
	whySampled string
	waiting    *estimate.Times // of what looks at threads that wait tell, where it has probes; nil until somebody asks
	ended      bool
	settled    bool // it has ended, and its last values were taken
	execed     bool // it has ended as this program, and the process runs another one
	child      bool // it was started by a target, and came by that
	times      children.Times
	joinedAt   float64   // session time
	endedAt    float64   // session time at which its end was seen
	incomplete time.Time // when it was last tried to measure there what is measured of the others, and not all could be
	seat       int       // its place in the order of attaching
	detached   bool
	blocks     *probe.Blocks
	goKnown    int // objects with Go code of which the user was told
}

// openTarget looks at a process without touching it: its objects and functions.
func openTarget(d *Daemon, pid int, open func(pid int) (*process.Process, error)) (*measured, error) {
	p, err := open(pid)
	if err != nil {
		return nil, err
	}
	t := &measured{Target: target.New(d.session), d: d}
	if err := t.Open(p, &d.images, t.hooks()); err != nil {
		t.close()
		return nil, err
	}
	t.Threads = threads.New(threads.Config{PID: pid, Name: t.Name, Kernel: d.session.Kernel, Tree: d.session.Tree, Memory: t.Proc, IsSyscallFunction: t.IsSyscallFunction})
	t.Locks = locks.New(d.session.Tree, locks.Names{Lock: waits.LockNamer(t.Program), Thread: t.Threads.Joined})
	t.Stats = targetstats.New(targetstats.Config{Name: t.Name, Proc: p, Threads: t.Threads, Programs: &d.programs, Filtered: func() bool { return t.Seccomp != 0 }, Logf: t.Logf})
	t.blocks = probe.NewBlocks(t.Target)
	t.kept = &kernelmeter.Source{Target: t.Target, Own: d.own(), Ended: func() bool { return t.ended }, Over: func() bool { return t.settled || t.execed }}
	t.Files = d.files.Table(openfiles.Config{PID: pid, Word: t.fileWord, MayRead: t.mayReadMemory})
	return t, nil
}

// hooks are what the code of the target asks of the daemon.
func (t *measured) hooks() target.Hooks {
	return target.Hooks{
		Look:  waits.NameUnnamed(t.Target),
		Found: t.narrows,
		Refresh: func() error {
			_, err := t.refreshCode()
			return err
		},
		Unloaded: func(owner patch.Owner, o *program.Object) { owner.(*part).noteUnloaded(o) },
	}
}

// refreshCode finds what the target has loaded and unloaded, and tells whether it has loaded anything.
func (t *measured) refreshCode() (more bool, err error) {
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
func (t *measured) leaves(o *program.Object) {
	before := t.Patches.Removed
	for _, owner := range t.Leave(o) {
		owner.(*part).loses(o)
	}
	t.forget(o)
	if places := t.Patches.Removed - before; places > 0 {
		t.Logf("%s has unloaded %s, and %d places with probes went with it: they count on if it is loaded again", t.Name, o.Name, places)
	}
}

// forget drops what is planned for the functions of an object that is gone, and how often they were called.
func (t *measured) forget(o *program.Object) {
	t.Plans.Drop(o)
	t.rates.Forget(func(id pcl.FuncID) bool { return o.Holds(uint64(id)) })
}

func (t *measured) close() {
	if t.profile != nil {
		t.profile.Close()
	}
	if t.Kernel != nil && t.d.byPID[t.Proc.PID()] == t {
		t.Kernel.Forget(t.Proc.PID())
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
