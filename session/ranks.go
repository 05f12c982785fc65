package session

import (
	"culprit/consultant/mpi"
	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
)

// newRanks prepares to observe jobs of MPI.
func (s *Session) newRanks(g *grid.Grid, d serve.Daemon) *mpi.Observer {
	return mpi.New(mpi.Config{Grid: g, Daemon: d, Functions: collectives(s.cfg.Library), Budget: s.cfg.Budget, Log: s.log})
}

// collectives are the names of the collective functions; a list that a user has replaced may hold patterns, which name none.
func collectives(lib *pcl.Library) (names []string) {
	for _, l := range lib.Lists() {
		for _, item := range l.Items {
			if item.Pattern == "" && l.Name == mpi.Collectives {
				names = append(names, item.Text)
			}
		}
	}
	return names
}

// jobsReport is what was found out of jobs, for a report.
func jobsReport(jobs []mpi.Job) (list []report.Job) {
	for _, j := range jobs {
		one := report.Job{Function: clean(j.Function), Waiting: j.Waiting, Awaited: j.Awaited, Sentence: clean(j.Sentence)}
		for _, r := range j.Ranks {
			one.Ranks = append(one.Ranks, report.RankTime{Rank: r.Rank, PID: r.PID, Collective: report.Number(r.Collective)})
		}
		list = append(list, one)
	}
	return list
}
