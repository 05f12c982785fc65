// Package session is one attachment to one or several processes, from Open to Close. It joins the rooms: the PCL library
// says what can be measured, the daemon measures it, the grid keeps it, the consultant searches, and what comes out is a
// report. Screens, the command line and other programs are clients of a session: they give it commands and read snapshots.
//
// It must not import programs (cmd) or anything that draws (visi). A Session is safe for use from any goroutine; Run is
// called once. Its mutex is a leaf: nothing of another room is called while it is held.
package session

import (
	"context"
	"os/exec"
	"sync"
	"time"

	"culprit/consultant"
	"culprit/consultant/mpi"
	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
	"culprit/session/socket"
	"culprit/session/watch"
)

// tick is how often a session without a fixed end looks whether it is over: rarely, as each time takes somebody's processor.
const tick = 200 * time.Millisecond

// defaultBudget is the budget of a session that is told none.
const defaultBudget = 0.02

// Config is what a session needs.
type Config struct {
	Tool     string // name and version for the report
	PIDs     []int
	Library  *pcl.Library
	Budget   float64 // fraction of the target's active time; 0 = 2 %
	Children bool    // follow children of the targets
	Search   bool
	History  *History // an earlier run, for the search to begin with; nil if there is none
	Phases   bool     // a phase begins when the targets begin to behave otherwise
	Backend  grid.Backend
	Watches  []watch.Watch
	OnEvent  func(consultant.Event) // nil = dropped; called from any goroutine
	Log      func(string)           // nil = dropped; called from any goroutine
	Attached func(string)           // told who has attached to what, and when, for the log; nil = dropped; called from any goroutine
	Guard    func() *exec.Cmd       // as daemon.Options.Guard
	Socket   bool                   // other processes of the user may ask the session (package socket)
	Patience time.Duration          // how long an attach, and pairs of Enable, are tried again that are not possible yet; 0 = once
	// Missing is told of each watched pair that the targets have nothing of when it is asked for, before the search begins; nil = dropped. It
	// may be called from any goroutine. What it is about may come later, with a library.
	Missing func(key grid.PairKey, err error)
}

// A Session is one attachment to one or several targets, from Open to Close. Without Close probes stay in the targets until
// `culprit restore`.
type Session struct {
	cfg       Config
	daemon    serve.Daemon
	grid      *grid.Grid
	search    *consultant.Search // nil without search
	pairs     *pairReader
	ranks     *mpi.Observer  // nil without search
	socket    *socket.Server // nil if nobody can ask
	announced sync.Once
	phasing   sync.Mutex // phases begin one after the other
	started   time.Time
	history   *report.History // what the search was given of an earlier run; nil without one

	mu     sync.Mutex
	final  *report.Report // set by Close
	end    End
	closed sync.Once
	err    error // of Close

	searchErr error
}

// Open attaches to the targets and prepares the search, which begins with Run. On error nothing is left in any target.
func Open(ctx context.Context, cfg Config) (*Session, error) {
	started := time.Now()
	if cfg.Budget <= 0 {
		cfg.Budget = defaultBudget
	}
	d, err := attach(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := on(d, cfg, started)
	s.listen()
	return s, nil
}

// on is a session on a daemon that has attached.
func on(d serve.Daemon, cfg Config, started time.Time) *Session {
	s := &Session{cfg: cfg, daemon: d, started: started}
	s.grid = newGrid(d, cfg.Library)
	s.pairs = newPairReader(s.grid, d, cfg)
	if cfg.Search {
		p, told := useHistory(cfg.History, s.targets(), cfg.Library)
		s.search, s.history = newSearch(cfg, d, s.grid, p), told
		if told != nil {
			s.log(historyText(told))
		}
		s.ranks = s.newRanks(s.grid, d)
	}
	return s
}

// Run searches and watches until ctx ends, the limits are reached or all targets have ended, and says which it was. The
// probes are still in: Close removes them, and may find that the targets have ended meanwhile.
func (s *Session) Run(ctx context.Context, l Limits) End {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	s.pairs.watch.Begin()
	s.announce()
	wg.Go(func() { s.pairs.watch.Run(ctx) })
	if s.search != nil {
		wg.Go(func() { s.keepSearching(ctx) })
		wg.Go(func() { s.ranks.Run(ctx) })
		if s.cfg.Phases {
			wg.Go(func() { s.findPhases(ctx) })
		}
	}
	end := s.wait(ctx, l)
	cancel()
	wg.Wait()
	s.mu.Lock()
	s.end = end
	s.mu.Unlock()
	return end
}

// keepSearching searches until ctx ends, and keeps why that was not possible.
func (s *Session) keepSearching(ctx context.Context) {
	if err := s.Search(ctx); err != nil {
		s.mu.Lock()
		s.searchErr = err
		s.mu.Unlock()
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (s *Session) wait(ctx context.Context, l Limits) End {
	begin := time.Now()
	every := tick
	if l.For > 0 {
		every = l.For
	}
	t := time.NewTicker(every)
	defer t.Stop()
	busy := begin // when the search last had something to test
	for {
		select {
		case <-s.daemon.Ended():
			return EndTarget
		case <-ctx.Done():
			return s.interrupted()
		case now := <-t.C:
			if !s.Settled() {
				busy = now
			}
			if end, over := l.over(now.Sub(begin), now.Sub(busy)); over {
				return end
			}
		}
	}
}

// interrupted prefers to say that the target ended, if both are so.
func (s *Session) interrupted() End {
	select {
	case <-s.daemon.Ended():
		return EndTarget
	default:
		return EndInterrupted
	}
}

// endedMeanwhile is End after all targets were left: those that had ended by then have ended before the session did, whatever else was over.
func (s *Session) endedMeanwhile() End {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.daemon.Ended():
		s.end = EndTarget
	default:
	}
	return s.end
}

// End says why the session ended: after Close it is EndTarget also where the targets ended before their probes were removed.
func (s *Session) End() End {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// SearchError says why there was no search, though one was wanted; nil if all went well.
func (s *Session) SearchError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.searchErr
}

// Ended is closed when all targets have ended.
func (s *Session) Ended() <-chan struct{} { return s.daemon.Ended() }

// Close takes the values up to now, removes every probe and makes the report. It may be called more than once; only the
// first does anything. The error says what could not be removed; the report is there nevertheless.
func (s *Session) Close() error {
	s.closed.Do(func() {
		s.announce()
		if s.socket != nil {
			s.socket.Close()
		}
		pairs := s.pairs.finish()
		r := s.build()
		s.addNotes(r)
		s.addUnmeasured(r)
		r.Pairs = pairs
		if s.ranks != nil {
			r.Jobs = jobsReport(s.ranks.Finish())
		}
		clean, err := s.daemon.Detach()
		r.RemovedClean = clean && err == nil
		r.End = string(s.endedMeanwhile())
		s.finishReport(r)
		s.mu.Lock()
		s.final, s.err = r, err
		s.mu.Unlock()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Report is the final report after Close; nil before.
func (s *Session) Report() *report.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final
}
