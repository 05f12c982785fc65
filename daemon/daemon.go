package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/children"
	"culprit/daemon/clocks"
	"culprit/daemon/cost"
	"culprit/daemon/descriptors"
	"culprit/daemon/kernel"
	"culprit/daemon/openfiles"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/resources"
	"culprit/daemon/schedule"
	"culprit/daemon/selfcost"
	"culprit/daemon/stops"
	"culprit/daemon/syscalls"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/daemon/tracerguard"
	"culprit/daemon/wakers"
	"culprit/grid"
	"culprit/internal/fault"
	"culprit/pcl"
)

// Options are what a daemon is told when it attaches.
type Options struct {
	Library  *pcl.Library // metrics; required
	Budget   float64      // fraction of the target's time that probes may use, for its own decisions; 0.02 if 0
	Children bool         // whether all descendants of the targets are measured too, those that there are and those that begin later
	Backend  grid.Backend
	Log      func(string) // nil = dropped; called from any goroutine
	// Guard makes the command of a process that does tracerguard.Watch: it keeps a daemon that is stopped by a signal from holding a target.
	// nil = no guard.
	Guard func() *exec.Cmd
}

// A Daemon measures processes. Without Detach its probes go on counting, harmlessly, until the targets end.
type Daemon struct {
	opts       Options
	session    *target.Session
	prices     cost.Executions
	images     program.Files
	files      *openfiles.Host
	observed   cost.Observed
	clocks     *clocks.Choice
	guard      *tracerguard.Guard
	reserve    descriptors.Reserve  // until Detach
	programs   targetstats.Programs // that keep per-thread statistics
	sight      syscalls.Sight
	targets    []*measured
	byPID      map[int]*measured // the last target of each number
	wakings    wakers.Kernel
	wakers     wakers.Table
	watcher    *children.Watcher // of what the targets start
	departed   departed
	unmeasured time.Duration  // CPU time of children that ended before they could be measured, as of the last pass
	seats      int            // targets that there ever were
	passing    kernel.Passing // marked at each pass, where values of single threads are measured
	catalogue  *resources.Catalogue
	schedule   schedule.Schedule
	allowance  selfcost.Allowance
	passes     selfcost.Interval // of the sampling loop
	beats      schedule.Beats
	rings      *kernel.Rings // of all targets; nil until the first needs them

	enabling sync.Mutex // one batch at a time

	mu        sync.Mutex
	pairs     map[grid.PairKey]*pair
	lingering batch.Lingering // switched off, still in the text
	hurry     atomic.Bool     // some of them are not to wait
	owner     uint64
	refused   map[string]refusal
	missed    map[string]string // by metric: a function that the program uses, and that takes no probes of it
	itemsAt   uint64            // version of the tree when targets were last looked through for items

	stopped  chan struct{}
	loops    sync.WaitGroup
	ended    chan struct{}
	endOnce  sync.Once
	stopOnce sync.Once
}

// Attach begins to measure processes. The targets run on; they are stopped for about a millisecond to map the shared
// segment. On an error nothing is left behind. Errors are those of package process, per target.
func Attach(ctx context.Context, opts Options, pids ...int) (*Daemon, error) {
	if err := fault.FromEnvironment(); err != nil {
		return nil, err
	}
	clock, err := kernel.CalibrateTSC()
	if err != nil {
		return nil, err
	}
	if opts.Log == nil {
		opts.Log = func(string) {}
	}
	host, _ := os.Hostname()
	tree, began := grid.NewTree(), time.Now()
	s := &target.Session{Library: opts.Library, Tree: tree, Clock: clock, Kernel: kernel.NewThreadTable(), Host: host, Began: began, Pauses: stops.NewPauses(began), Patches: &patch.Count{}, Log: opts.Log}
	d := &Daemon{opts: opts, session: s, files: openfiles.NewHost(tree), pairs: map[grid.PairKey]*pair{}, refused: map[string]refusal{}, missed: map[string]string{}, byPID: map[int]*measured{}, stopped: make(chan struct{}), ended: make(chan struct{})}
	d.watcher = children.NewWatcher(d.host())
	d.wakers.Source, d.wakers.Self = &d.wakings, os.Getpid()
	d.clocks = d.newClocks()
	d.programs.RunsLong, d.programs.Logf = d.runsLong, d.logf
	d.catalogue = resources.NewCatalogue(s, d.goLoop, d.stopped)
	d.lingering.Now = d.Now
	d.images.Say = func(text string) { d.logf("%s", text) }
	defer d.images.EndWith(ctx)()
	d.allowance.Begin(d.session.Began, opts.Budget, selfcost.ThisMachine())
	d.session.Tree.Add(grid.Machine, host)
	if err := d.reserve.Take(); err != nil {
		return nil, err
	}
	if opts.Guard != nil && !opts.Backend.Looks() {
		if d.guard, err = tracerguard.Start(opts.Guard()); err != nil {
			opts.Log(err.Error()) // rare, and it measures as well without
		}
	}
	if !opts.Backend.Looks() {
		d.sight.Begin(d.logf)
	}
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			d.Detach()
			return nil, err
		}
		if err := d.attachPatiently(ctx, pid); err != nil {
			d.Detach()
			return nil, about(pid, err)
		}
	}
	for _, t := range d.targets {
		d.goLoop(func() { d.await(t) })
	}
	d.beats = schedule.BeatsFrom(time.Now())
	d.goLoop(d.sampleLoop)
	if opts.Children {
		d.adopt()
	}
	d.goLoop(d.lookLoop)
	return d, nil
}

// about names the process in an error that does not do so itself.
func about(pid int, err error) error {
	who := fmt.Sprintf("process %d: ", pid)
	if strings.HasPrefix(err.Error(), who) {
		return err
	}
	return fmt.Errorf("%s%w", who, err)
}

func (d *Daemon) goLoop(f func()) {
	d.loops.Add(1)
	go func() {
		defer d.loops.Done()
		f()
	}()
}

// Now is the session time in seconds.
func (d *Daemon) Now() float64 { return d.session.Now() }

// Tree is the resources discovered so far.
func (d *Daemon) Tree() *grid.Tree { return d.session.Tree }

func (d *Daemon) logf(format string, args ...any) {
	d.session.Logf(format, args...)
}

// sampleLoop reads all cells, five times a second if that takes little, and keeps the house clean in between.
func (d *Daemon) sampleLoop() {
	for n := 1; ; n++ {
		select {
		case <-d.stopped:
			return
		case <-time.After(d.Beat(tickInterval)):
		}
		d.tickIfDue()
		if n%5 == 0 {
			d.session.Clock.Refine()
			d.age()
		}
		if n%10 == 0 || d.hurry.Swap(false) {
			d.clean()
		}
		if n%10 == 0 {
			d.discover()
			d.grow()
			d.leaveWindows()
		}
	}
}

// age lets old stack samples fade.
func (d *Daemon) age() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		t.profile.Age()
	}
}

// await marks a target that has ended; the last one ends the session.
func (d *Daemon) await(t *measured) {
	select {
	case <-d.stopped:
		return
	case <-t.Proc.Done():
	}
	d.tick() // what its cells hold is still there
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(t)
}

// lives reports whether a target still runs the program that was opened; one that does not is retired. d.mu is held.
func (d *Daemon) lives(t *measured) bool {
	if t.ended {
		return false
	}
	err := d.checkExec(t)
	if errors.Is(err, process.ErrTargetExeced) || errors.Is(err, process.ErrTargetExited) {
		t.execed = errors.Is(err, process.ErrTargetExeced)
		if t.execed && d.opts.Children {
			d.watcher.Restarted(t.Proc.PID(), children.Former{Name: t.Name, Child: t.child})
		} else {
			d.logf("%s: %v", t.Name, err)
		}
		d.end(t)
		return false
	}
	return true
}

// end retires a target. d.mu is held.
func (d *Daemon) end(t *measured) {
	if t.ended {
		return
	}
	t.ended, t.endedAt = true, d.Now()
	t.Files.Close()
	d.session.Tree.Retire(grid.Process, t.Name)
	d.endWithLast()
}

// endWithLast ends the session when no target is left, and none that has executed another program is to be joined again. d.mu is held.
func (d *Daemon) endWithLast() {
	for _, o := range d.targets {
		if !o.ended {
			return
		}
	}
	if !d.watcher.Awaits() {
		d.endOnce.Do(func() { close(d.ended) })
	}
}

// Ended is closed when all targets have ended: by exit, exec or a signal.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// Targets lists what is measured and what was, in the order of attaching; of children that have ended at most a thousand.
func (d *Daemon) Targets() (infos []grid.TargetInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seats := append([]seated(nil), d.departed.list...)
	for _, t := range d.targets {
		seats = append(seats, seated{d.infoOf(t), t.seat})
	}
	sort.Slice(seats, func(i, j int) bool { return seats[i].seat < seats[j].seat })
	for _, s := range seats {
		infos = append(infos, s.info)
	}
	return infos
}

// infoOf describes a target. d.mu is held.
func (d *Daemon) infoOf(t *measured) grid.TargetInfo {
	to := t.endedAt
	if !t.ended {
		to = d.Now()
	}
	return grid.TargetInfo{From: t.joinedAt, To: to, Host: d.session.Host, PID: t.Proc.PID(), Exe: path.Join(path.Dir(t.Exe), t.Main().Name), Runtime: t.Runtime(), Threads: t.Threads.Count(), Interprets: t.Interprets(), Ended: t.ended, Lossy: t.Lossy, Rank: t.Rank,
		Backend: t.backend(), Why: t.whyLooking()}
}

// A refusal is why a function is not instrumented. What one list names for many programs, and no target uses, is nothing to tell of.
type refusal struct {
	why  string
	used bool
}

// Probes returns the counts so far.
func (d *Daemon) Probes() grid.Probes {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := grid.Probes{Inserted: d.session.Patches.Inserted, Removed: d.session.Patches.Removed}
	for _, t := range d.targets {
		p.Left += t.patched()
	}
	for f, r := range d.refused {
		if r.used {
			p.Refused = append(p.Refused, grid.Refusal{Function: f, Reason: r.why})
		}
	}
	sortRefusals(p.Refused)
	return p
}
