package daemon

import (
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/cost"
	"culprit/daemon/program"
	"culprit/pcl"
)

// How often functions are called is counted for a while by probes that are taken out again. In targets that were idle it is not: whether they were
// is asked again afterwards.

// unknown collects the functions whose rate is not known or too old.
func (c costed) unknown(into map[*measured]map[pcl.FuncID]bool, now float64) {
	for _, r := range c.plan.Requests {
		if !c.t.has(r.Func) || c.t.rates.Fresh(r.Func, now) {
			continue
		}
		if into[c.t] == nil {
			into[c.t] = map[pcl.FuncID]bool{}
		}
		into[c.t][r.Func] = true
	}
}

// learnRates counts calls for cost.Window, and then those of targets that were not asleep. d.enabling is held.
func (d *Daemon) learnRates(unknown map[*measured]map[pcl.FuncID]bool, asleep []sleeper) {
	for len(unknown)+len(asleep) > 0 {
		d.mu.Lock()
		counters := d.countCalls(unknown)
		d.mu.Unlock()
		if len(counters)+len(asleep) > 0 {
			time.Sleep(cost.Window)
		}
		d.mu.Lock()
		d.readRates(counters)
		unknown, asleep = d.woken(asleep), nil
		d.mu.Unlock()
	}
}

// A rateCounter counts the calls of one function for a while.
type rateCounter struct {
	f     *program.Function
	part  *part
	group *batch.Group
	since time.Time
}

// countCalls switches counters on at the entries of functions. What cannot be counted has rate 0: it cannot be timed either.
func (d *Daemon) countCalls(unknown map[*measured]map[pcl.FuncID]bool) (counters []rateCounter) {
	b := batch.New(&d.lingering)
	for t, set := range unknown {
		for id := range set {
			p, err := d.newBareProbe(t, callCounter(id))
			if err != nil {
				continue
			}
			t.blocks.Zero(p.probes)
			if t.Sites.Prepare(&p.plan.Requests[0]) != nil {
				b.Withdraw(p)
				continue
			}
			g := b.Group()
			if p.addTo(b, g) == nil {
				counters = append(counters, rateCounter{f: t.Func(id), part: p, group: g})
			}
		}
	}
	if len(counters) == 0 {
		return nil
	}
	b.Commit()
	for i := range counters {
		counters[i].since = time.Now()
	}
	return counters
}

// callCounter is the plan of counting a function's calls.
func callCounter(id pcl.FuncID) *pcl.Plan {
	return &pcl.Plan{Kind: pcl.Counter, Vars: []pcl.Var{{Name: "calls", Kind: pcl.Counter}},
		Requests: []pcl.Request{{Func: id, Where: pcl.Entry, Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: &pcl.Expr{Op: pcl.ExConst, Value: 1}}}}}}
}

// readRates takes the counters out again.
func (d *Daemon) readRates(counters []rateCounter) {
	for _, c := range counters {
		t := c.part.t
		n := c.part.probes.Count()
		t.rates.Note(c.f.ID, float64(n)/time.Since(c.since).Seconds(), d.Now())
		if c.group.Err() == nil {
			d.lingering.Add(c.part)
		}
	}
}

// byWakefulness parts the targets into those that ran lately, or of which that is not known, and the others. d.mu is held.
func (d *Daemon) byWakefulness() (running, asleep []*measured) {
	for _, t := range d.targets {
		if !t.ended && cost.IsIdle(t.Threads.Ran()) {
			asleep = append(asleep, t)
		} else {
			running = append(running, t)
		}
	}
	return running, asleep
}

// A sleeper is a target that did not run lately, and whose functions are priced without counting.
type sleeper struct {
	t     *measured
	funcs map[pcl.FuncID]bool
	idle  cost.Idle
}

// setAside takes the targets that did not run lately from those whose calls are to be counted. d.mu is held.
func setAside(unknown map[*measured]map[pcl.FuncID]bool) (asleep []sleeper) {
	for t, funcs := range unknown {
		if !cost.IsIdle(t.Threads.Ran()) {
			continue
		}
		idle, err := cost.WatchIdle(t.Proc.PID())
		if err != nil {
			continue
		}
		asleep = append(asleep, sleeper{t, funcs, idle})
		delete(unknown, t)
	}
	return asleep
}

// woken gives those that were not asleep after all; of the others it is known now that they called nothing. d.mu is held.
func (d *Daemon) woken(asleep []sleeper) map[*measured]map[pcl.FuncID]bool {
	awake := map[*measured]map[pcl.FuncID]bool{}
	for _, s := range asleep {
		woke, err := s.idle.Woke()
		switch {
		case err != nil: // it has ended
		case woke:
			awake[s.t] = s.funcs
		default:
			for id := range s.funcs {
				s.t.rates.Note(id, 0, d.Now())
			}
		}
	}
	return awake
}
