package session

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"

	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
)

// Who waits for whom in a job of MPI. Where two ranks or more of a job are measured, the time of each in collective operations is
// taken beside the search: in what all take part in, who comes last waits least.

const (
	collectiveTime  = "mpi_collective_time"
	collectiveFuncs = "mpi_collective_funcs"
	// ranksShare is how much of the budget that may take.
	ranksShare = 0.5
	// maxRanks bounds how many ranks are looked at.
	maxRanks = 256
)

// A rankWatch measures the ranks of a session.
type rankWatch struct {
	grid   *grid.Grid
	daemon Daemon
	lib    *pcl.Library
	budget float64
	log    func(string)

	mu    sync.Mutex
	ranks map[int]rank // by pid
}

// A rank is one that is measured, or cannot be.
type rank struct {
	grid.Rank
	key grid.PairKey
	err error
}

func newRankWatch(g *grid.Grid, d Daemon, cfg Config) *rankWatch {
	log := cfg.Log
	if log == nil {
		log = func(string) {}
	}
	return &rankWatch{grid: g, daemon: d, lib: cfg.Library, budget: cfg.Budget, log: log, ranks: map[int]rank{}}
}

// run measures ranks as they appear, until ctx ends.
func (w *rankWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.enable(w.fresh())
		pause(ctx, watchEvery)
	}
}

// fresh lists the ranks that are not measured yet and have company.
func (w *rankWatch) fresh() (fresh []rank) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string][]grid.TargetInfo{}
	for _, t := range w.daemon.Targets() {
		if t.Rank != nil && !t.Ended {
			all[t.Rank.Job] = append(all[t.Rank.Job], t)
		}
	}
	for _, job := range all {
		for _, t := range job {
			if _, known := w.ranks[t.PID]; known || len(job) < 2 || len(w.ranks)+len(fresh) >= maxRanks {
				continue
			}
			fresh = append(fresh, rank{Rank: *t.Rank, key: grid.PairKey{Metric: collectiveTime, Focus: grid.Whole().Refine(grid.Process, strconv.Itoa(t.PID))}})
		}
	}
	return fresh
}

// enable measures them if that is not too dear.
func (w *rankWatch) enable(fresh []rank) {
	if len(fresh) == 0 {
		return
	}
	var keys []grid.PairKey
	for _, r := range fresh {
		keys = append(keys, r.key)
	}
	err := w.afford(keys)
	results := make([]grid.EnableResult, len(keys))
	if err == nil {
		results = w.grid.Enable(keys...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range fresh {
		if r.err = err; err == nil {
			r.err = results[i].Err
		}
		pid, _ := strconv.Atoi(r.key.Focus.Elements(grid.Process)[0])
		w.ranks[pid] = r
	}
	if err != nil {
		w.log(err.Error())
	}
}

// afford says why ranks are not measured, if that would take too much of their time.
func (w *rankWatch) afford(keys []grid.PairKey) error {
	prices, errs := w.grid.Price(keys)
	dearest := 0.0
	for i, p := range prices {
		if errs[i] == nil {
			dearest = max(dearest, p.Fraction+p.Shared)
		}
	}
	if dearest > ranksShare*w.budget {
		return fmt.Errorf("who waits for whom in MPI is not measured: it would take %.2g %% of a rank's time, the budget has %.2g %% for it", 100*dearest, 100*ranksShare*w.budget)
	}
	return nil
}

// finish stops and judges each job. Run has returned, and the probes are still in.
func (w *rankWatch) finish() (jobs []report.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	byJob := map[string]*report.Job{}
	pids := map[string][]int{}
	var order []string
	for _, t := range w.daemon.Targets() {
		r, ok := w.ranks[t.PID]
		if !ok || r.err != nil {
			continue
		}
		w.grid.Disable(r.key)
		snap, ok := w.grid.Pair(r.key)
		if !ok || math.IsNaN(snap.Average) {
			continue
		}
		if byJob[r.Job] == nil {
			byJob[r.Job] = &report.Job{}
			order = append(order, r.Job)
		}
		byJob[r.Job].Ranks = append(byJob[r.Job].Ranks, report.RankTime{Rank: r.Number, PID: t.PID, Collective: report.Number(snap.Average)})
		pids[r.Job] = append(pids[r.Job], t.PID)
	}
	for _, name := range order {
		j := byJob[name]
		j.Function = clean(w.daemon.SeenMost(w.collectives(), pids[name]...))
		j.Judge()
		jobs = append(jobs, *j)
	}
	return jobs
}

// collectives are the names of the collective functions; a list that a user has replaced may hold patterns, which name none.
func (w *rankWatch) collectives() (names []string) {
	for _, l := range w.lib.Lists() {
		for _, item := range l.Items {
			if name, err := strconv.Unquote(item); err == nil && l.Name == collectiveFuncs {
				names = append(names, name)
			}
		}
	}
	return names
}
