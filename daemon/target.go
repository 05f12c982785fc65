package daemon

import (
	"fmt"
	"time"

	"culprit/daemon/image"
	"culprit/daemon/locks"
	"culprit/daemon/openfiles"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// A target is one process that is measured.
type target struct {
	d    *Daemon
	proc *process.Process
	*program.Program
	name string // element of the Process hierarchy: "redis-server{4242}"
	seg  *segment.Segment

	size       uint64                        // of its memory when that was last looked at, in bytes
	plans      map[*program.Object]*codePlan // of its objects
	items      *itemIndex                    // nil until it is asked for
	itemsOf    int                           // version of the program when it was made
	rates      map[pcl.FuncID]callRate
	landings   landings
	text       *patch.Text
	kept       kernelRows
	quota      quota
	cells      segment.Cells
	threads    *threads.Table
	locks      *locks.Table
	files      *openfiles.Table
	profile    *profile
	sampled    *strata // of a target that is only looked at; else nil
	ended      bool
	settled    bool // it has ended, and its last values were taken
	child      bool // it was started by a target, and came by that
	times      childTimes
	joinedAt   float64    // session time
	endedAt    float64    // session time at which its end was seen
	incomplete time.Time  // when it was last tried to measure there what is measured of the others, and not all could be
	rank       *grid.Rank // in a job of MPI; nil if it is not part of one
	seat       int        // its place in the order of attaching
	stops      int        // how often it was stopped by us
	detached   bool
	lossy      bool          // some thread found no block of its own
	peered     bool          // processes were seen that run on its memory
	keyless    int           // a thread that has set its thread pointer to 0, 0 = none was seen
	sequences  []image.Range // restartable sequences that no file tells of
	seccomp    int           // mode of the target: 0 none, 1 strict, 2 filter
	contexts   contexts
	view       *view   // of the stop that is under way; nil if none is
	seenLast   *view   // of the stop that was last, until all was learnt from it
	walked     walkLog // of the stop before
	goKnown    int     // objects with Go code of which the user was told
}

// openTarget looks at a process without touching it: its objects and functions.
func openTarget(d *Daemon, pid int, open func(pid int) (*process.Process, error)) (*target, error) {
	p, err := open(pid)
	if err != nil {
		return nil, err
	}
	t := &target{d: d, proc: p, plans: map[*program.Object]*codePlan{}, rates: map[pcl.FuncID]callRate{}}
	t.cells.Init(trampoline.DefaultGeometry(1), nil)
	t.Program, err = program.Open(codeSource{p}, &d.images, func(text string) { d.logf("%s", text) })
	if err != nil {
		t.close()
		return nil, err
	}
	t.plan(t.Objects())
	p.ProveSpent(t.fourthIsSpent)
	t.name = fmt.Sprintf("%s{%d}", t.Main().Name, pid)
	t.text = t.newText()
	t.threads = threads.New(threads.Config{PID: pid, Name: t.name, Kernel: d.kern, Tree: d.tree, Memory: t.proc, IsSyscallFunction: t.isSyscallFunction})
	t.locks = locks.New(d.tree, locks.Names{Lock: lockNamer(t.Program), Thread: t.threads.Joined})
	t.files = d.files.Table(openfiles.Config{PID: pid, Word: t.fileWord, MayRead: t.mayReadMemory})
	return t, nil
}

// refreshCode finds what the target has loaded and unloaded, and tells whether it has loaded anything.
func (t *target) refreshCode() (more bool, err error) {
	maps, err := t.proc.Maps()
	if err != nil {
		return false, err
	}
	c, err := t.Refresh(codeMaps(maps), t.leaves)
	t.plan(c.Loaded)
	t.locks.EndUnmapped(func(addr uint64) bool { return mapped(maps, addr) })
	return len(c.Loaded) > 0, err
}

// plan begins to plan for objects.
func (t *target) plan(loaded []*program.Object) {
	for _, o := range loaded {
		t.plans[o] = newCodePlan(o, t.d.twins.join(o), t.contexts.why != "")
	}
}

// leaves takes leave of an object that is not mapped any more.
func (t *target) leaves(o *program.Object) {
	before := t.d.patches.Removed
	t.takeBack(o)
	t.forget(o)
	if places := t.d.patches.Removed - before; places > 0 {
		t.d.logf("%s has unloaded %s, and %d places with probes went with it: they count on if it is loaded again", t.name, o.Name, places)
	}
}

func (t *target) close() {
	if t.profile != nil {
		t.profile.close()
	}
	if t.d.kern != nil && t.d.byPID[t.proc.PID()] == t {
		t.d.kern.Forget(t.proc.PID())
	}
	for _, c := range t.plans {
		t.d.twins.leave(c)
	}
	t.files.Close()
	t.closeRows()
	if t.seg != nil {
		t.seg.Close()
	}
	t.proc.Close()
}

func baseName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}
