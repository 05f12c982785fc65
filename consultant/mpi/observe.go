// Package mpi finds out who waits for whom in a job of MPI. Where two ranks or more of a job are measured, the time of each in
// collective operations is taken beside the search: in what all take part in, who comes last waits least.
//
// It must not import the daemon, the session or a program. Run is called once, from any goroutine; Finish after it has
// returned. What it enables stays enabled without Finish.
package mpi

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"culprit/grid"
)

const (
	collectiveTime = "mpi_collective_time"
	// Collectives is the list of PCL that has the names of the collective functions.
	Collectives = "mpi_collective_funcs"
	// ranksShare is how much of the budget measuring ranks may take.
	ranksShare = 0.5
	// maxRanks bounds how many ranks are measured.
	maxRanks = 256
	// lookEvery is how often ranks are looked for that are new.
	lookEvery = 500 * time.Millisecond
)

// A Daemon knows the processes and where they are seen.
type Daemon interface {
	Targets() []grid.TargetInfo
	SeenMost(functions []string, pids ...int) string
}

// Config is what an Observer needs.
type Config struct {
	Grid      *grid.Grid
	Daemon    Daemon
	Functions []string     // the collective functions
	Budget    float64      // fraction of a rank's active time that all measuring may take
	Log       func(string) // told why ranks are not measured
}

// An Observer measures the ranks of a session.
type Observer struct {
	cfg   Config
	ranks map[int]rank // by pid
}

// A rank is one that is measured, or cannot be.
type rank struct {
	grid.Rank
	pid int
	key grid.PairKey
	err error
}

// New prepares an Observer; nothing is measured until Run.
func New(cfg Config) *Observer { return &Observer{cfg: cfg, ranks: map[int]rank{}} }

// Run measures ranks as they appear, until ctx ends.
func (o *Observer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		o.enable(o.fresh())
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// fresh lists the ranks that are not measured yet and have company.
func (o *Observer) fresh() (fresh []rank) {
	all := map[string][]grid.TargetInfo{}
	for _, t := range o.cfg.Daemon.Targets() {
		if t.Rank != nil && !t.Ended {
			all[t.Rank.Job] = append(all[t.Rank.Job], t)
		}
	}
	for _, job := range all {
		for _, t := range job {
			if _, known := o.ranks[t.PID]; known || len(job) < 2 || len(o.ranks)+len(fresh) >= maxRanks {
				continue
			}
			fresh = append(fresh, rank{Rank: *t.Rank, pid: t.PID, key: grid.PairKey{Metric: collectiveTime, Focus: grid.Whole().Refine(grid.Process, strconv.Itoa(t.PID))}})
		}
	}
	return fresh
}

// enable measures them if that is not too expensive.
func (o *Observer) enable(fresh []rank) {
	if len(fresh) == 0 {
		return
	}
	var keys []grid.PairKey
	for _, r := range fresh {
		keys = append(keys, r.key)
	}
	err := o.afford(keys)
	results := make([]grid.EnableResult, len(keys))
	if err == nil {
		results = o.cfg.Grid.Enable(keys...)
	}
	for i, r := range fresh {
		if r.err = err; err == nil {
			r.err = results[i].Err
		}
		o.ranks[r.pid] = r
	}
	if err != nil {
		o.cfg.Log(err.Error())
	}
}

// afford says why ranks are not measured, if that would take too much of their time.
func (o *Observer) afford(keys []grid.PairKey) error {
	prices, errs := o.cfg.Grid.Price(keys)
	most := 0.0
	for i, p := range prices {
		if errs[i] == nil {
			most = max(most, p.Fraction+p.Shared)
		}
	}
	if most > ranksShare*o.cfg.Budget {
		return fmt.Errorf("who waits for whom in MPI is not measured: it would take %.2g %% of a rank's time, the budget has %.2g %% for it", 100*most, 100*ranksShare*o.cfg.Budget)
	}
	return nil
}

// Finish stops measuring and judges each job. Run has returned, and the probes are still in.
func (o *Observer) Finish() (jobs []Job) {
	byJob := map[string]*Job{}
	pids := map[string][]int{}
	var order []string
	for _, t := range o.cfg.Daemon.Targets() {
		r, ok := o.ranks[t.PID]
		if !ok || r.err != nil {
			continue
		}
		o.cfg.Grid.Disable(r.key)
		snap, ok := o.cfg.Grid.Pair(r.key)
		if !ok || math.IsNaN(snap.Average) {
			continue
		}
		if byJob[r.Job] == nil {
			byJob[r.Job] = &Job{}
			order = append(order, r.Job)
		}
		byJob[r.Job].Ranks = append(byJob[r.Job].Ranks, RankTime{Rank: r.Number, PID: t.PID, Collective: snap.Average})
		pids[r.Job] = append(pids[r.Job], t.PID)
	}
	for _, name := range order {
		j := byJob[name]
		j.Function = o.cfg.Daemon.SeenMost(o.cfg.Functions, pids[name]...)
		j.judge()
		jobs = append(jobs, *j)
	}
	return jobs
}
