package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"culprit/consultant"
	"culprit/consultant/earlier"
	"culprit/grid"
	"culprit/session/report"
)

// A Snapshot is a copy of what is known at one moment; the screens draw it. Names in it are as the target has them: clean
// them before they are shown.
type Snapshot struct {
	Targets     []report.Target
	Elapsed     float64 // s since the session started
	Budget      float64 // fraction of the target's active time
	Observed    float64 // same
	Nodes       []consultant.Node
	Bottlenecks []consultant.Bottleneck
	Earlier     []report.Earlier
	Phases      []report.PhaseAnswer // what holds in those that somebody has begun
	Cycle       *report.Cycle        // what the program does again and again; nil if nothing
	By          map[int]report.By    // which threads the bottlenecks are about, by node
	Idle        *report.Idle         // where threads had nothing to do; nil if that is not known
	Status      string               // what is being tested now, or why the search waits
	Settled     bool
	Searching   bool // false with --no-search
	Ended       bool // all targets have ended
	Watched     []Watched
}

// Snapshot takes a picture of the session.
func (s *Session) Snapshot() Snapshot {
	snap := Snapshot{
		Targets: s.targets(), Elapsed: s.daemon.Now(), Budget: s.cfg.Budget, Observed: s.daemon.ObservedCost(),
		Searching: s.search != nil, Settled: s.Settled(), Ended: s.interrupted() == EndTarget,
		Watched: s.pairs.look(),
	}
	if s.search != nil {
		nodes, found := s.search.Answer()
		snap.Nodes, snap.Bottlenecks, snap.Phases = nodes, inWhole(found), s.phaseAnswers(nodes, found)
		snap.Earlier, snap.Status = earlierReport(s.search.Earlier()), s.search.Status()
		snap.By, snap.Cycle = whose(snap.Bottlenecks), cycleReport(s.search.Cycle())
		snap.Idle = idleReport(s.daemon.Idle())
	}
	return snap
}

func (s *Session) targets() []report.Target {
	var list []report.Target
	for _, t := range s.daemon.Targets() {
		one := report.Target{
			Host: clean(t.Host), PID: t.PID, Exe: clean(t.Exe), BuildID: clean(t.BuildID), Runtime: t.Runtime, Threads: t.Threads, Interprets: t.Interprets, NamesGenerated: t.NamesGenerated, Stopped: t.Stopped && !t.Ended, Frozen: clean(t.Frozen), Ended: t.Ended, Became: t.Became, From: report.Number(t.From), To: report.Number(t.To),
			Backend: t.Backend.String(), Why: clean(t.Why),
		}
		if t.Rank != nil {
			one.Rank = &t.Rank.Number
		}
		list = append(list, one)
	}
	return list
}

// build makes the report as it stands, without pairs.
func (s *Session) build() *report.Report {
	r := &report.Report{
		Schema: report.Schema, Tool: s.cfg.Tool, Started: s.started.UTC().Format(time.RFC3339Nano), Targets: s.targets(),
		Seconds: report.Number(s.daemon.Now()), NotSearched: s.search == nil,
	}
	r.History, r.Settings = s.history, settings(s.cfg.Library)
	if s.search != nil {
		nodes, found := s.search.Answer()
		for _, n := range nodes {
			r.Nodes = append(r.Nodes, nodeReport(n))
		}
		r.Bottlenecks, r.Notes = s.told(inWhole(found), nodes, r.Targets)
		r.Earlier = earlierReport(s.search.Earlier())
		r.Phases, r.Cycle = s.phaseAnswers(nodes, found), cycleReport(s.search.Cycle())
	}
	r.Idle = idleReport(s.daemon.Idle())
	s.mu.Lock()
	r.End = string(s.end)
	s.mu.Unlock()
	return r
}

func earlierReport(list []earlier.Answer) (out []report.Earlier) {
	for _, a := range list {
		out = append(out, report.Earlier{
			Node: a.Node, Hypothesis: clean(a.Why), From: report.Number(a.From), To: report.Number(a.To), Times: a.Times,
			Severity: report.Number(a.Severity), Sentence: clean(a.Sentence),
		})
	}
	return out
}

// maxIdlePlaces bounds what a report says of where threads had nothing to do.
const maxIdlePlaces = 20

func idleReport(idle grid.Idle) *report.Idle {
	if len(idle.Places) == 0 {
		return nil
	}
	r := &report.Idle{Share: report.Number(idle.Share)}
	for _, p := range idle.Places[:min(len(idle.Places), maxIdlePlaces)] {
		r.Places = append(r.Places, report.IdlePlace{Function: clean(p.Function), Threads: p.Threads, Share: report.Number(p.Share), Waker: clean(p.Waker), WakesIn: clean(p.WakesIn), Child: p.For == grid.ForChild, For: string(p.For)})
	}
	return r
}

// advice is what a hypothesis, by its name in a report, says to do.
func (s *Session) advice(name string) string {
	for _, h := range s.cfg.Library.Hypotheses() {
		if clean(h.Name) == name {
			return clean(h.Explain)
		}
	}
	return ""
}

// finishReport adds what is known only when the probes are out.
func (s *Session) finishReport(r *report.Report) {
	o := s.daemon.Overhead()
	r.Overhead = report.Overhead{
		Budget: report.Number(s.cfg.Budget), Observed: report.Number(o.Observed), DaemonCPU: report.Number(o.DaemonCPU),
		Taken: report.Number(o.Taken), Lost: report.Number(o.Lost),
		Pauses: report.Pauses{Count: o.Pauses.Count, MaxUS: o.Pauses.MaxUS, TotalUS: o.Pauses.TotalUS, LaterUS: o.Pauses.LaterUS, ThreadStops: o.Pauses.ThreadStops, CutTransfers: o.Pauses.Cuts},
	}
	if o.Pauses.Count > 0 {
		r.Overhead.Pauses.P50US, r.Overhead.Pauses.P99US = &o.Pauses.P50US, &o.Pauses.P99US
	}
	p := s.daemon.Probes()
	r.Probes = report.Probes{Inserted: p.Inserted, Removed: p.Removed, Left: p.Left, Gone: max(p.Inserted-p.Removed-p.Left, 0)}
	for _, f := range p.Refused {
		r.Probes.Refused = append(r.Probes.Refused, report.Refusal{Function: clean(f.Function), Reason: clean(f.Reason)})
	}
	for i, t := range s.daemon.Targets() {
		if i < len(r.Targets) && r.Targets[i].PID == t.PID {
			r.Targets[i].Ended, r.Targets[i].Became = t.Ended, t.Became
		}
	}
}

// addUnmeasured says what was done by processes that nobody could measure.
func (s *Session) addUnmeasured(r *report.Report) {
	if used, share := s.daemon.UnmeasuredChildren(); used > 0 {
		r.NotMeasured = fmt.Sprintf("processes that it started, and that ended before they could be measured, used %.2f s of CPU time (%.0f %% of all)", used.Seconds(), 100*share)
		r.NotMeasuredShare = report.Number(share)
	}
}

// addNotes says of what was concluded for the whole program, and of the bottlenecks, what their values do not tell of.
func (s *Session) addNotes(r *report.Report) {
	if s.search == nil {
		return
	}
	found := map[int]bool{}
	for _, b := range slices.Concat(r.Bottlenecks, r.Notes) {
		found[b.Node] = true
	}
	foci := map[int]grid.Focus{}
	for _, n := range s.search.Nodes() {
		foci[n.ID] = n.Focus
	}
	metrics := map[string][]string{}
	for _, h := range s.cfg.Library.Hypotheses() {
		metrics[clean(h.Name)] = h.Metrics
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if concluded := n.Samples > 0 && (n.State == "true" || n.State == "false"); concluded && (len(n.Focus) == 0 || found[n.ID]) {
			n.Note = s.untold(metrics[n.Hypothesis], foci[n.ID])
		}
	}
}

// untold is what the values of metrics at a focus do not tell of. What of a metric is seen nowhere is said of the whole program only.
func (s *Session) untold(metrics []string, focus grid.Focus) string {
	var notes []string
	for _, m := range metrics {
		note := s.daemon.Notes(grid.PairKey{Metric: m, Focus: focus})
		if !focus.IsWhole() {
			note = strings.TrimSuffix(strings.TrimSuffix(note, s.daemon.Unseen(m)), "; ")
		}
		if note = clean(note); !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return joinNotes(notes...)
}

// whose says by node who had the locks of bottlenecks, who ended the waits of others, and who computes where that is what was found.
func whose(found []consultant.Bottleneck) map[int]report.By {
	all := map[int]report.By{}
	for _, b := range found {
		var by report.By
		for _, h := range b.Holders {
			list := &by.HeldBy
			switch {
			case h.Computes != (b.Kind == "cpu") || h.Competes != (b.Kind == "ready"):
				continue
			case h.Competes:
				list = &by.CPUsUsedBy
			case h.Computes:
				list = &by.ComputedBy
			case h.InTurn:
				list = &by.InTurn
			case h.Wakes:
				list = &by.WokenBy
			}
			*list = append(*list, report.Held{Thread: clean(h.Thread), Function: clean(h.Function), Share: report.Number(h.Share)})
		}
		by.ComputedBy = by.ComputedBy[:min(len(by.ComputedBy), report.MostComputing)]
		all[b.Node] = by
	}
	for _, b := range found {
		if by, told := all[b.Explained]; told && by.Awaited == nil {
			by.Awaited = working(b.Holders)
			all[b.Explained] = by
		}
	}
	return all
}

// working are those of the threads that end waits, or are waited for in turn, that mostly work meanwhile. Where they do so stands in the finding that
// explains the waits.
func working(holders []grid.Holder) (list []report.Held) {
	for _, h := range holders {
		if h.Wakes && h.Works+h.Delayed > h.Share/2 {
			list = append(list, report.Held{Thread: clean(h.Thread), Share: report.Number(h.Share)})
		}
	}
	return list
}

// told is what was found as a report tells it.
func (s *Session) told(found []consultant.Bottleneck, nodes []consultant.Node, targets []report.Target) (bottlenecks, notes []report.Bottleneck) {
	by := whose(found)
	for _, b := range found {
		one := bottleneckReport(b)
		one.By, one.Advice = by[b.Node], s.advice(clean(b.Why))
		if b.Why != nodes[b.Node-1].Hypothesis {
			one.Why = clean(b.Why)
		}
		if b.Note {
			notes = append(notes, one)
			continue
		}
		one.Sentence = one.By.Told(one.Sentence, targets)
		bottlenecks = append(bottlenecks, one)
	}
	return bottlenecks, notes
}

func bottleneckReport(b consultant.Bottleneck) report.Bottleneck {
	r := report.Bottleneck{
		Node: b.Node, Sentence: clean(b.Sentence), Chain: slices.Clone(b.Chain), Severity: report.Number(b.Severity), Own: report.Number(b.Own),
		Object: clean(b.Object), ExplainedBy: b.Explained,
	}
	if b.File != "" {
		r.Source = &report.Source{File: clean(b.File), Line: b.Line}
	}
	return r
}
