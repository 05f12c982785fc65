package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
	"sync"
	"time"

	"culprit/daemon/children"
	"culprit/daemon/descriptors"
	"culprit/daemon/kernel"
	"culprit/daemon/measuring"
	"culprit/daemon/patch"
	"culprit/daemon/resources"
	"culprit/daemon/schedule"
	"culprit/daemon/selfcost"
	"culprit/daemon/stops"
	"culprit/daemon/target"
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
	// Guard makes the command of a process that does tracerguard.Watch: it keeps a daemon that is stopped by a signal from holding a target. nil = no guard.
	Guard func() *exec.Cmd
}

// A Daemon measures processes. Without Detach its probes go on counting, harmlessly, until the targets end.
type Daemon struct {
	*state
	*questions
	members  *members
	follower *follower
	times    *times
	inserter *inserter
	passes   *passes
	looks    *looks
	pricer   *pricer
	indirect *indirect

	reserve  descriptors.Reserve // until Detach
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
	d := newDaemon(opts, clock)
	defer d.common.Images.EndWith(ctx)()
	if err := d.reserve.Take(); err != nil {
		return nil, err
	}
	d.members.prepare()
	d.looks.wakers.Begin(d.Now(), pids)
	if err := d.attachAll(ctx, pids); err != nil {
		d.Detach()
		return nil, err
	}
	d.beginLoops()
	return d, nil
}

// newDaemon puts together what a session needs; nothing is begun.
func newDaemon(opts Options, clock *kernel.TSCClock) *Daemon {
	host, _ := os.Hostname()
	tree, began := grid.NewTree(), time.Now()
	d := wire(opts, &target.Session{Library: opts.Library, Tree: tree, Clock: clock, Kernel: kernel.NewThreadTable(), Host: host, Began: began, Pauses: &stops.Pauses{}, Patches: &patch.Count{}, Log: opts.Log})
	d.allowance.Begin(began, opts.Budget, selfcost.ThisMachine())
	tree.Add(grid.Machine, host)
	return d
}

// wire makes the parts of a daemon, each with those that it uses.
func wire(opts Options, session *target.Session) *Daemon {
	s := &state{opts: opts, session: session, pairs: map[grid.PairKey]*pair{}, byPID: map[int]*measuring.Process{}, stopped: make(chan struct{})}
	s.lingering.Now = s.Now
	d := &Daemon{state: s}
	d.members = &members{state: s, ended: make(chan struct{})}
	d.times = &times{state: s, members: d.members}
	d.looks = &looks{state: s, looked: make(chan struct{}, 1)}
	d.passes = &passes{state: s, members: d.members, looks: d.looks, times: d.times, inserted: make(chan struct{}, 1)}
	d.inserter = &inserter{state: s, passes: d.passes}
	d.pricer = &pricer{state: s, passes: d.passes}
	d.indirect = &indirect{state: s}
	d.questions = &questions{state: s, times: d.times}
	d.follower = &follower{state: s, members: d.members, inserter: d.inserter, passes: d.passes, looks: d.looks, questions: d.questions}
	s.watcher = children.NewWatcher(d.follower.host())
	s.common = d.newCommon()
	s.common.Images.Say = func(text string) { s.logf("%s", text) }
	s.catalogue = resources.NewCatalogue(session, s.goLoop, s.stopped)
	return d
}

// attachAll attaches to the processes that somebody has named.
func (d *Daemon) attachAll(ctx context.Context, pids []int) error {
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.members.attachPatiently(ctx, pid); err != nil {
			return about(pid, err)
		}
	}
	return nil
}

// beginLoops begins what goes on until Detach.
func (d *Daemon) beginLoops() {
	for _, t := range d.targets {
		d.goLoop(func() { d.follower.await(t) })
	}
	d.looks.beats = schedule.BeatsFrom(time.Now())
	d.goLoop(d.sampleLoop)
	if d.opts.Children {
		d.follower.adopt()
		d.goLoop(d.follower.followLoop)
	}
	d.goLoop(d.looks.lookLoop)
	d.goLoop(d.careLoop)
}

// about names the process in an error that does not do so itself.
func about(pid int, err error) error {
	who := fmt.Sprintf("process %d: ", pid)
	if strings.Contains(err.Error(), who) {
		return err
	}
	return fmt.Errorf("%s%w", who, err)
}

// Ended is closed when all targets have ended: by exit, exec or a signal.
func (d *Daemon) Ended() <-chan struct{} { return d.members.ended }

// Targets lists what is measured and what was, in the order of attaching; of children that have ended at most a thousand.
func (d *Daemon) Targets() (infos []grid.TargetInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seats := append([]seated(nil), d.members.departed.list...)
	for _, t := range d.targets {
		if !t.Joining { // it is listed when it is measured
			seats = append(seats, seated{d.members.infoOf(t), t.Seat})
		}
	}
	sort.Slice(seats, func(i, j int) bool { return seats[i].seat < seats[j].seat })
	for _, s := range seats {
		infos = append(infos, s.info)
	}
	return infos
}

// Probes returns the counts so far.
func (d *Daemon) Probes() grid.Probes {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := grid.Probes{Inserted: int(d.session.Patches.Inserted.Load()), Removed: int(d.session.Patches.Removed.Load())}
	for _, t := range d.targets {
		p.Left += t.Facts().Patched
	}
	p.Refused = d.common.Refusals.List()
	return p
}

// Detach removes every probe, gives back all memory and ends the session: nothing is left behind in targets that live.
// clean says that this was so for all of them. It may be called more than once.
func (d *Daemon) Detach() (clean bool, err error) {
	d.stopOnce.Do(func() { close(d.stopped); d.watcher.Leave() })
	d.loops.Wait()
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.reserve.Release()
	clean, err = d.members.leaveTargets()
	if d.opts.Children {
		d.follower.releaseHeirs()
	}
	if clean {
		d.close()
	}
	return clean, err
}

// close gives back what the session has of the kernel and what it has started. It may be called more than once.
func (d *Daemon) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.looks.rings != nil {
		d.looks.rings.Close()
		d.looks.rings = nil
	}
	d.session.Kernel.Close()
	d.watcher.Close()
	d.passes.passing.Close()
	d.common.Prices.Close()
	d.members.guard.Close()
	_ = d.looks.wakings.Close()
	d.common.Programs.Close()
	d.members.sight.Close()
}
