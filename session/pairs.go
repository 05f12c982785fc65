package session

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
	"culprit/session/watch"
)

// A pairReader reads what was measured of the pairs that a watcher has enabled.
type pairReader struct {
	watch  *watch.Watcher
	grid   *grid.Grid
	daemon serve.Daemon
	lib    *pcl.Library

	mu    sync.Mutex
	ended map[grid.PairKey]ending // what is known when measuring ends; empty before
}

// An ending is what is known of a pair when measuring ends.
type ending struct {
	uncertain report.Missing // of the average
	note      string         // what the value does not tell of
	untold    string         // of that, what the daemon says
	unsure    string         // why nothing may be concluded from the value, "" if it may
	places    int            // in how many places its probes are
	probed    bool           // it has probes, if there are places for them
}

func newPairReader(g *grid.Grid, d serve.Daemon, cfg Config) *pairReader {
	return &pairReader{watch: watch.New(g, d.Tree(), d, cfg.Library, cfg.Watches, cfg.Missing), grid: g, daemon: d, lib: cfg.Library}
}

// end is what is known of a pair since measuring ended.
func (r *pairReader) end(key grid.PairKey) (e ending, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, over = r.ended[key]
	return e, over
}

// finish stops all pairs, which brings the values up to now, and reads them. The watcher's Run has returned.
func (r *pairReader) finish() (pairs []report.Pair) {
	ended := map[grid.PairKey]ending{}
	children := r.ofChildren()
	enabled, first := r.watch.Enabled()
	for _, key := range enabled {
		state, _ := r.watch.State(key)
		untold := clean(r.daemon.Notes(key))
		e := ending{uncertain: r.uncertainty(key), unsure: clean(r.daemon.Unsure(key)), untold: untold, note: joinNotes(late(state.Since, first), untold, children(key))}
		e.places, e.probed = r.daemon.Placed(key)
		ended[key] = e
	}
	r.mu.Lock()
	r.ended = ended
	r.mu.Unlock()
	r.grid.DisableAll()
	for _, key := range r.watch.Shown() {
		pairs = append(pairs, r.pair(key))
	}
	for _, v := range r.watch.Vain() {
		p := r.blank(v.Key)
		p.Error, p.Asked = clean(v.Why), true
		pairs = append(pairs, p)
	}
	return pairs
}

// lateAfter is how long after the first pair a pair may be enabled so that nobody takes its beginning for late, in s.
const lateAfter = 1.0

// late says of a pair that is measured from later on than the first one that what was before is not in its value: a thread may have
// done much until it was seen. "" of others.
func late(since, first float64) string {
	if since-first < lateAfter {
		return ""
	}
	return fmt.Sprintf("measured from %.1f s on: nothing before that is counted", since)
}

// ofChildren says of a value over all processes that what some of them did is not in it.
func (r *pairReader) ofChildren() func(grid.PairKey) string {
	used, share := r.daemon.UnmeasuredChildren()
	return func(key grid.PairKey) string {
		if used == 0 || key.Focus.Depth(grid.Process) > 0 {
			return ""
		}
		return fmt.Sprintf("processes that ended too soon are not counted (%.0f %% of all CPU time)", 100*share)
	}
}

func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// notes are what the values of the pairs do not tell of, each once. finish has returned.
func (r *pairReader) notes() (all []string) {
	for _, key := range r.watch.Shown() {
		e, _ := r.end(key)
		if note := joinNotes(e.note, r.sinceAttach(key)); note != "" {
			all = append(all, fmt.Sprintf("%v: %s", key, note))
		}
	}
	return all
}

// sinceAttach says of a value of which only changes are seen what 0 stands for. Where values are listed it stands beside them.
func (r *pairReader) sinceAttach(key grid.PairKey) string {
	if m, _ := r.lib.Metric(key.Metric); !m.SinceAttach {
		return ""
	}
	return "only changes since the attach are seen: 0 is the value at the attach"
}

// uncertainty is missing for what is counted or kept by the kernel.
func (r *pairReader) uncertainty(key grid.PairKey) report.Missing {
	if v, ok := r.daemon.Uncertainty(key); ok {
		return report.Missing(v)
	}
	return missing
}

// blank is a pair without values.
func (r *pairReader) blank(key grid.PairKey) report.Pair {
	p := report.Pair{Metric: clean(key.Metric), Focus: focusReport(key.Focus), Sum: missing, Average: missing, Uncertainty: missing, Min: missing, Max: missing}
	if m, ok := r.lib.Metric(key.Metric); ok {
		p.Unit = clean(m.RateUnits())
	}
	return p
}

// soFar is a pair while it is measured.
func (r *pairReader) soFar(key grid.PairKey) report.Pair {
	p := r.pair(key)
	if s, _ := r.watch.State(key); s.Waiting {
		p.Error = "not enabled yet"
	}
	return p
}

// pair is a pair that somebody asked for.
func (r *pairReader) pair(key grid.PairKey) report.Pair {
	p := r.blank(key)
	s, _ := r.watch.State(key)
	p.Asked = s.Named
	snap, ok := r.grid.Pair(key)
	switch {
	case s.Err != nil:
		p.Error = clean(withSimilarObject(r.daemon.Tree(), s.Err, key.Focus).Error())
	case s.Waiting:
		p.Error = errNotEnabled.Error()
	}
	if p.Error != "" || !ok {
		return p
	}
	e, over := r.end(key)
	p.Tier, p.Note = string(snap.Tier), e.note
	if p.Uncertainty = e.uncertain; !over {
		p.Uncertainty = r.uncertainty(key)
	}
	fill(&p, &snap)
	return p
}

// fill puts the values into a pair.
func fill(p *report.Pair, snap *grid.Snapshot) {
	p.Sum, p.Average, p.Min, p.Max = report.Missing(snap.Sum), report.Missing(snap.Average), report.Missing(snap.Min), report.Missing(snap.Max)
	p.Start, p.BinSeconds = report.Number(snap.Histogram.Start()), report.Number(snap.Histogram.Width())
	p.Bins = binsReport(snap.Histogram.Rates())
	if snap.Metric.Style == grid.SampledFunction {
		p.Gauge = gaugeReport(snap)
	}
	if snap.Values != nil {
		values := snap.Values.Total()
		p.Distribution = distributionReport(&values, snap.Metric.Values)
	}
}
