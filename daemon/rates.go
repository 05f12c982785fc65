package daemon

import (
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/cost"
	"culprit/daemon/measuring"
	"culprit/daemon/program"
	"culprit/pcl"
)

// How often functions are called is counted for a while by probes that are taken out again. In targets that were idle it is not: whether they were
// is asked again afterwards.

// unknown collects the functions whose rate is not known or too old.
func (c costed) unknown(into map[*measuring.Process]map[pcl.FuncID]bool, now float64) {
	c.t.Lock()
	defer c.t.Unlock()
	for _, r := range c.plan.Requests {
		if c.t.Func(r.Func) == nil || c.t.Rates.Fresh(r.Func, now) {
			continue
		}
		if into[c.t] == nil {
			into[c.t] = map[pcl.FuncID]bool{}
		}
		into[c.t][r.Func] = true
	}
}

// learnRates counts calls for cost.Window, and then those of targets that were not asleep. enabling is held.
func (pr *pricer) learnRates(unknown map[*measuring.Process]map[pcl.FuncID]bool, asleep []sleeper) {
	for len(unknown)+len(asleep) > 0 {
		counters := pr.countCalls(unknown)
		if len(counters)+len(asleep) > 0 {
			time.Sleep(cost.Window)
		}
		pr.readRates(counters)
		unknown, asleep = pr.woken(asleep), nil
	}
}

// A rateCounter counts the calls of one function for a while.
type rateCounter struct {
	f     *program.Function
	part  *measuring.Part
	group *batch.Group
	since time.Time
}

// countCalls switches counters on at the entries of functions. What cannot be counted has rate 0: it cannot be timed either.
func (pr *pricer) countCalls(unknown map[*measuring.Process]map[pcl.FuncID]bool) (counters []rateCounter) {
	b := batch.New(&pr.lingering)
	for t, set := range unknown {
		t.Lock()
		counters = append(counters, pr.addCounters(b, t, set)...)
		t.Unlock()
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

// addCounters adds counters of functions of a target, which is locked, to a batch.
func (pr *pricer) addCounters(b *batch.Batch, t *measuring.Process, set map[pcl.FuncID]bool) (counters []rateCounter) {
	for id := range set {
		p, err := measuring.NewBare(t, callCounter(id), pr.nextOwner())
		if err != nil {
			continue
		}
		t.Blocks.Zero(p.Probes)
		if t.Sites.Prepare(&p.Plan.Requests[0]) != nil {
			b.Withdraw(p)
			continue
		}
		g := b.Group()
		if p.AddTo(b, g) == nil {
			counters = append(counters, rateCounter{f: t.Func(id), part: p, group: g})
		}
	}
	return counters
}

// callCounter is the plan of counting a function's calls.
func callCounter(id pcl.FuncID) *pcl.Plan {
	return &pcl.Plan{Kind: pcl.Counter, Vars: []pcl.Var{{Name: "calls", Kind: pcl.Counter}},
		Requests: []pcl.Request{{Func: id, Where: pcl.Entry, Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: &pcl.Expr{Op: pcl.ExConst, Value: 1}}}}}}
}

// readRates takes the counters out again.
func (pr *pricer) readRates(counters []rateCounter) {
	for _, c := range counters {
		t := c.part.Process
		t.Lock()
		n := c.part.Probes.Count()
		t.Rates.Note(c.f.ID, float64(n)/time.Since(c.since).Seconds(), pr.Now())
		if c.group.Err() == nil {
			pr.lingering.Add(c.part)
		}
		t.Unlock()
	}
}

// byWakefulness parts the targets into those that ran lately, or of which that is not known, and the others. enabling is held.
func (pr *pricer) byWakefulness() (running, asleep []*measuring.Process) {
	for _, t := range pr.targets {
		if !t.Ended() && cost.IsIdle(t.Threads.Ran()) {
			asleep = append(asleep, t)
		} else {
			running = append(running, t)
		}
	}
	return running, asleep
}

// A sleeper is a target that did not run lately, and whose functions are priced without counting.
type sleeper struct {
	t     *measuring.Process
	funcs map[pcl.FuncID]bool
	idle  cost.Idle
}

// setAside takes the targets that did not run lately from those whose calls are to be counted.
func setAside(unknown map[*measuring.Process]map[pcl.FuncID]bool) (asleep []sleeper) {
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

// woken gives those that were not asleep after all; of the others it is known now that they called nothing. enabling is held.
func (pr *pricer) woken(asleep []sleeper) map[*measuring.Process]map[pcl.FuncID]bool {
	awake := map[*measuring.Process]map[pcl.FuncID]bool{}
	for _, s := range asleep {
		woke, err := s.idle.Woke()
		switch {
		case err != nil: // it has ended
		case woke:
			awake[s.t] = s.funcs
		default:
			s.t.Lock()
			for id := range s.funcs {
				s.t.Rates.Note(id, 0, pr.Now())
			}
			s.t.Unlock()
		}
	}
	return awake
}
