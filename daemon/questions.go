package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"culprit/daemon/libc"
	"culprit/daemon/measuring"
	"culprit/daemon/neighbours"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/resources"
	"culprit/daemon/sampling"
	"culprit/daemon/survey"
	"culprit/grid"
	"culprit/pcl"
)

// What there is below a focus, and how much of what was seen supports it.

// The questions are what is asked of the targets, and changes nothing in them.
type questions struct {
	*state
	times      *times
	neighbours neighbours.Watch
}

// Refinements implements grid.Axis.
func (qs *questions) Refinements(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	if h == grid.IO {
		qs.findFiles(freshFor)
	}
	ts := resources.Targets{Session: qs.session}
	for _, t := range qs.list() {
		ts.All = append(ts.All, resources.Target{Target: t.Target, Locker: t, Samples: t.Profile, Ended: t.Ended()})
	}
	return ts.Below(f, h)
}

// Weight implements grid.Axis.
func (qs *questions) Weight(f grid.Focus, kind string) float64 {
	k, ok := sampling.KindOf(kind)
	if !ok {
		return 0
	}
	var hits, total float64
	part := sampling.PartOf(f, qs.session.ItemOf(f))
	for _, t := range qs.list() {
		t.Lock()
		h, n, ok := t.Profile.Weight(part, k)
		t.Unlock()
		if total += n; !t.Covers(f) {
			continue
		} else if !ok {
			return -1
		}
		hits += h
	}
	if total < 5 {
		return 0
	}
	return hits / total
}

// ListCode has all modules and functions of the targets listed in the tree, those of code that is loaded later too. It does not wait.
func (qs *questions) ListCode() {
	qs.catalogue.Want()
	for _, t := range qs.list() {
		qs.listCodeOf(t)
	}
}

// listCodeOf has the modules and functions of one target listed, if somebody wants that.
func (qs *questions) listCodeOf(t *measuring.Process) {
	t.Lock()
	objects := slices.Clone(t.Objects())
	t.Unlock()
	qs.catalogue.List(objects)
}

// Known lists all modules and functions of the targets, and waits until they are in the tree.
func (qs *questions) Known() {
	qs.ListCode()
	qs.catalogue.Wait()
}

// ListLoops makes the loops of a function resources below it and returns their names, outer ones first.
func (qs *questions) ListLoops(module, name string) (names []string, err error) {
	for _, t := range qs.list() {
		found, e := qs.listLoopsIn(t, module, name)
		if names = append(names, found...); e != nil {
			err = e
		}
	}
	if len(names) == 0 {
		return nil, err
	}
	return names, nil
}

func (qs *questions) listLoopsIn(t *measuring.Process, module, name string) (names []string, err error) {
	t.Lock()
	defer t.Unlock()
	for _, id := range t.Function(module, name) {
		f := t.Func(id)
		for _, l := range f.Loops() {
			names = append(names, l.Name)
			qs.session.Tree.Add(grid.Code, module, name, l.Name)
		}
		if f.WhyNoLoops() != "" {
			err = &process.Refused{Point: f.Fn.Name, Reason: f.WhyNoLoops()}
		}
	}
	return names, err
}

// What can be measured of the targets, and what they have.

// Survey says of every metric of the library what it can be in the targets. It takes the first target that has something to say.
func (qs *questions) Survey() (list []survey.Metric) {
	targets := qs.list()
	for _, m := range qs.session.Library.Metrics() {
		s := survey.Metric{Metric: m}
		for _, t := range targets {
			if !t.Ended() && !s.Code {
				t.Lock()
				s = survey.Of(t.Target, m, tells(t))
				t.Unlock()
			}
		}
		list = append(list, s)
	}
	return list
}

// ListOpen makes everything that the targets have open now a resource: files, sockets, pipes. Otherwise they become known when somebody waits for them.
func (qs *questions) ListOpen() error {
	var errs []error
	for _, t := range qs.list() {
		if t.Ended() {
			continue
		}
		if _, err := t.Proc.Descriptors(); err != nil {
			errs = append(errs, err)
			continue
		}
		t.Lock()
		t.Files.Look(qs.Now())
		t.Unlock()
	}
	return errors.Join(errs...)
}

// Tree is the resources discovered so far.
func (qs *questions) Tree() *grid.Tree { return qs.session.Tree }

// SeenMost is the name among these of the function that was seen most often on the stacks of these processes lately; "" if none was.
func (qs *questions) SeenMost(names []string, pids ...int) (most string) {
	seen := map[string]float64{}
	for _, pid := range pids {
		qs.addSeen(seen, pid, names)
	}
	best := 0.0
	for _, name := range names {
		if seen[name] > best {
			most, best = name, seen[name]
		}
	}
	return most
}

// byNumber is the target with a pid; nil if there is none.
func (qs *questions) byNumber(pid int) *measuring.Process {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.byPID[pid]
}

// addSeen adds how often functions were seen on the stacks of a process.
func (qs *questions) addSeen(seen map[string]float64, pid int, names []string) {
	t := qs.byNumber(pid)
	if t == nil {
		return
	}
	t.Lock()
	defer t.Unlock()
	for _, name := range names {
		seen[name] += t.Profile.Seen(t.Named(name))
	}
}

// Idle tells where the threads of the targets had nothing to do within the last seconds.
func (qs *questions) Idle() grid.Idle {
	var all sampling.IdleTally
	for _, t := range qs.list() {
		all.Add(&t.Profile.Counts)
	}
	idle := all.Idle()
	slices.SortFunc(idle.Places, func(a, b grid.IdlePlace) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Waker, b.Waker))
	})
	return idle
}

// Holders tells which threads had the lock that a focus chooses while others waited for it, within the last seconds, the one that had
// it most often first. Where the focus chooses no POSIX mutex or rwlock it tells which threads ended the waits there, if the kernel tells, and which
// computed in the function that it chooses. It is nil where nobody was seen.
func (qs *questions) Holders(f grid.Focus) (list []grid.Holder) {
	e := f.Elements(grid.SyncObject)
	isLock := false
	if len(e) == 2 {
		_, isLock = libc.OwnerAt(e[0])
	}
	var woken sampling.Tally
	for _, t := range qs.list() {
		switch {
		case !t.Covers(f):
		case isLock:
			t.Lock()
			list = append(list, t.Profile.Holders(sampling.ObjectPart(f))...)
			t.Unlock()
		default:
			woken.Add(&t.Profile.Counts, f)
		}
	}
	list = append(append(list, woken.Wakers()...), measuring.Computing(qs.list(), f)...)
	if f.IsWhole() {
		list = append(list, qs.competing()...)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Share != list[j].Share {
			return list[i].Share > list[j].Share
		}
		return list[i].Thread < list[j].Thread
	})
	return list
}

// competing tells which other programs use the CPUs while none is idle.
func (qs *questions) competing() (list []grid.Holder) {
	if !qs.allowance.Busy() {
		return nil
	}
	targets := qs.list()
	leaveOut := func(pid int) bool {
		meets := func(t *measuring.Process) bool { return neighbours.MayMeet(pid, t.Proc.PID()) }
		return qs.byNumber(pid) != nil || !slices.ContainsFunc(targets, meets)
	}
	for _, n := range qs.neighbours.Busiest(leaveOut) {
		list = append(list, grid.Holder{Thread: fmt.Sprintf("%s(%d)", n.Name, n.PID), Share: n.CPUs / float64(qs.allowance.CPUs()), Competes: true})
	}
	return list
}

// findFiles looks at the open files of all targets that were not looked at for some seconds.
func (qs *questions) findFiles(after float64) {
	now := qs.Now()
	for _, t := range qs.list() {
		t.Lock()
		if !t.Ended() && t.Files.Due(now, after) {
			t.Files.Look(now)
		}
		t.Unlock()
	}
}

// findFilesInTurn looks at those of the targets whose turn it is, and of those that were never looked at. enabling is held.
func (qs *questions) findFilesInTurn() {
	now := qs.Now()
	for _, t := range qs.targets {
		t.Lock()
		if !t.Ended() && t.Files.Due(now, 0) && (!t.Files.Looked() || qs.hasTurn(t, false)) {
			t.Files.Look(now)
		}
		t.Unlock()
	}
}

// freshFor is after how many seconds files are looked at again where somebody wants to know them.
const freshFor = 0.5

// Uncertainty is the standard error of the average of a pair over the time since it was enabled, in the unit of its rate. ok is false
// for pairs that are not enabled or not of the sample tier, and while there are no samples.
func (qs *questions) Uncertainty(key grid.PairKey) (err float64, ok bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	p := qs.pairs[key]
	if p == nil {
		return 0, false
	}
	return p.err, p.estimated
}

// Placed is in how many places of its targets a pair that is measured has probes. ok is false for one that is not measured, and for one
// that needs no probes: the kernel keeps it, or it is estimated.
func (qs *questions) Placed(key grid.PairKey) (places int, ok bool) {
	for _, pt := range qs.partsOf(key) {
		if pt.Meter.Tier() != grid.TierProbe {
			continue
		}
		pt.Process.Lock()
		places, ok = places+len(pt.Sites()), true
		pt.Process.Unlock()
	}
	return places, ok
}

// Source tells where the function of a focus is written. line is 0 if that is not known.
func (qs *questions) Source(f grid.Focus) (file string, line int) {
	e := f.Elements(grid.Code)
	if len(e) < 2 {
		return "", 0
	}
	var busy []*measuring.Process
	for _, t := range qs.list() {
		switch {
		case !t.Covers(f):
		case !t.TryLock():
			busy = append(busy, t)
		default:
			fns := functionsNamed(t, e[0], e[1])
			t.Unlock()
			if file, line, ok := writtenAt(fns); ok {
				return file, line
			}
		}
	}
	for _, t := range busy {
		t.Lock()
		fns := functionsNamed(t, e[0], e[1])
		t.Unlock()
		if file, line, ok := writtenAt(fns); ok {
			return file, line
		}
	}
	return "", 0
}

// writtenAt is where the first of some functions is written of which that is known.
func writtenAt(fns []*program.Function) (file string, line int, ok bool) {
	for _, fn := range fns {
		if file, line, ok := fn.Obj.Start(fn.Fn.Addr); ok {
			return file, line, true
		}
	}
	return "", 0, false
}

// functionsNamed are the functions of a name in a target, which is locked.
func functionsNamed(t *measuring.Process, module, name string) (list []*program.Function) {
	for _, id := range t.Function(module, name) {
		list = append(list, t.Func(id))
	}
	return list
}

// tells says why stack samples do not tell a plan; it is nil where none are taken for that.
func tells(t *measuring.Process) func(*pcl.Plan) error {
	if t.Sampled() == nil {
		return nil
	}
	return t.Sampled().Tells
}
