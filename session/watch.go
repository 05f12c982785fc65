package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
)

// A Watch is a pair that the user asked for, or all the pairs of a metric with the children of a resource.
type Watch struct {
	Text  string // as the user wrote it
	Key   grid.PairKey
	wild  grid.Hierarchy // of the "*"; valid if every is set
	every bool
}

// ParseWatch reads "METRIC", "METRIC@FOCUS", or a focus in which one path ends with "/*". defined are the hierarchies that
// texts define. Errors are *grid.FocusError or say what is wrong.
func ParseWatch(text string, defined ...string) (Watch, error) {
	key, err := pcl.ParsePair(text, defined...)
	if err != nil {
		return Watch{}, err
	}
	w := Watch{Text: text, Key: key}
	for h := range grid.Defined + 1 {
		elems := key.Focus.Elements(h)
		if slices.Contains(elems[:max(len(elems)-1, 0)], "*") {
			return Watch{}, fmt.Errorf("%q has a star in the middle of a path; only the last name of one path may be *", clean(text))
		}
		if len(elems) == 0 || elems[len(elems)-1] != "*" {
			continue
		}
		if w.every {
			return Watch{}, fmt.Errorf("%q has two stars; one path of a focus may end with /*", clean(text))
		}
		w.every, w.wild = true, h
		w.Key.Focus, _ = key.Focus.Parent(h)
	}
	return w, nil
}

// Check says whether the library has the metric and can restrict it to the focus; the error says what is wrong.
func (w Watch) Check(lib *pcl.Library) error {
	f := w.Key.Focus
	if w.every && w.wild == grid.Defined {
		return w.checkItems(lib)
	}
	if w.every {
		f = f.Refine(w.wild, append(f.Elements(w.wild), "*")...)
	}
	return lib.Check(w.Key.Metric, f)
}

// checkItems says whether the metric can be read at one item at least of those that the star stands for.
func (w Watch) checkItems(lib *pcl.Library) (err error) {
	for _, f := range itemFoci(lib, w.Key.Focus) {
		if err = lib.Check(w.Key.Metric, f); err == nil {
			return nil
		}
	}
	return err
}

// itemFoci are the foci with each item of the defined hierarchy that the focus names.
func itemFoci(lib *pcl.Library, f grid.Focus) []grid.Focus {
	var out []grid.Focus
	hierarchy := f.Elements(grid.Defined)[0]
	for _, it := range lib.Items(hierarchy) {
		out = append(out, f.WithItem(hierarchy, it.Name))
	}
	return out
}

// maxPairs bounds how many pairs the stars of one session may stand for.
const maxPairs = 100_000

// watchEvery is how often stars are looked at for new children, and pairs that were deferred are tried again.
const watchEvery = 500 * time.Millisecond

// A watcher enables the watched pairs and reads them at the end.
type watcher struct {
	grid    *grid.Grid
	tree    *grid.Tree
	daemon  Daemon
	lib     *pcl.Library
	watches []Watch
	tell    func(grid.PairKey, error) // Config.Missing; nil = nobody

	mu      sync.Mutex
	state   map[grid.PairKey]*watched
	asked   map[grid.PairKey]grid.PairKey // what became of a watch without a star
	stands  []map[grid.PairKey]bool       // for what each watch has stood so far
	order   []grid.PairKey                // in which they were first asked for
	version uint64                        // of the tree when it was last looked at
}

// watched is what became of one pair: enabled if err is nil.
type watched struct {
	err   error
	tier  grid.Tier
	since float64 // s since the session started; from when on it is measured
	retry bool
	tries int
	told  bool // that there is nothing of it

	over bool // what follows is known
	end  ending
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

// maxTries bounds how often a pair is tried again that was refused: its function may come with a library later.
const maxTries = 100

func newWatcher(g *grid.Grid, d Daemon, lib *pcl.Library, watches []Watch) *watcher {
	w := &watcher{grid: g, tree: d.Tree(), daemon: d, lib: lib, watches: watches, state: map[grid.PairKey]*watched{}, asked: map[grid.PairKey]grid.PairKey{}}
	for range watches {
		w.stands = append(w.stands, map[grid.PairKey]bool{})
	}
	return w
}

// begin enables the pairs that are named one by one, before anything else is measured: what is wrong with them is said first.
func (w *watcher) begin() {
	if len(w.watches) > 0 && !slices.ContainsFunc(w.watches, func(one Watch) bool { return one.every }) {
		keys := w.missing()
		w.enable(keys[:min(len(keys), enabledAtOnce)])
	}
}

// enabledAtOnce is how many pairs are enabled at a time, so that an end that comes meanwhile does not wait for thousands.
const enabledAtOnce = 256

// run enables pairs until ctx ends: at once those that are there, later those of children that appear.
func (w *watcher) run(ctx context.Context) {
	if len(w.watches) == 0 {
		return
	}
	if slices.ContainsFunc(w.watches, func(one Watch) bool { return one.every && one.wild == grid.Code }) {
		w.daemon.ListCode()
	}
	for ctx.Err() == nil {
		for some := range slices.Chunk(w.missing(), enabledAtOnce) {
			if ctx.Err() == nil {
				w.enable(some)
			}
		}
		pause(ctx, watchEvery)
	}
}

// missing lists the pairs that are asked for and not enabled yet.
func (w *watcher) missing() []grid.PairKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []grid.PairKey
	version := w.tree.Version()
	if version != w.version || len(w.order) == 0 {
		w.version = version
		w.retryRefused()
		for i, one := range w.watches {
			for _, key := range w.expand(one) {
				w.stands[i][key] = true
				if !one.every {
					w.asked[one.Key] = key
				}
				w.add(key)
			}
			if key, ok := w.finder(one); ok {
				w.add(key)
			}
		}
	}
	for _, key := range w.order {
		if w.state[key].retry {
			keys = append(keys, key)
		}
	}
	return keys
}

// add has a pair enabled that is not yet. mu is held.
func (w *watcher) add(key grid.PairKey) {
	if w.state[key] == nil && len(w.order) < maxPairs {
		w.state[key] = &watched{retry: true}
		w.order = append(w.order, key)
	}
}

// retryRefused has the pairs tried again that were refused, since there is more code than before.
func (w *watcher) retryRefused() {
	for _, s := range w.state {
		var refused grid.ErrRefused
		if (errors.As(s.err, &refused) || pcl.NothingThere(s.err)) && s.tries < maxTries {
			s.tries++
			s.retry = true
		}
	}
}

// resolveProcess turns /Process/4242 into the process's name in the tree, exe{4242}.
func (w *watcher) resolveProcess(f grid.Focus) grid.Focus {
	elems := f.Elements(grid.Process)
	if len(elems) == 0 {
		return f
	}
	if _, err := strconv.Atoi(elems[0]); err != nil {
		return f
	}
	for _, name := range w.tree.Children(grid.Process) {
		if strings.HasSuffix(name, "{"+elems[0]+"}") {
			return f.Refine(grid.Process, append([]string{name}, elems[1:]...)...)
		}
	}
	return f
}

func (w *watcher) enable(keys []grid.PairKey) {
	if len(keys) == 0 {
		return
	}
	results := w.grid.Enable(keys...)
	for _, r := range w.take(results) {
		if w.tell != nil {
			w.tell(r.Key, r.Err)
		}
	}
}

// take notes what became of pairs, and returns those of which nothing is there and nobody was told.
func (w *watcher) take(results []grid.EnableResult) (untold []grid.EnableResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range results {
		var later grid.ErrDeferred
		s := w.state[r.Key]
		s.err, s.tier, s.since, s.retry = r.Err, r.Tier, r.Since, errors.As(r.Err, &later)
		if pcl.NothingThere(r.Err) && !s.told {
			s.told = true
			untold = append(untold, r)
		}
	}
	return untold
}

// ask enables pairs that no watch names, and tries those again for a while that are not possible yet.
func (w *watcher) ask(ctx context.Context, patience time.Duration, keys []grid.PairKey) {
	want := w.admit(keys)
	for deadline := time.Now().Add(patience); len(want) > 0; pause(ctx, retryEvery) {
		w.enable(want)
		want = w.waiting(want)
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return
		}
	}
}

// admit notes pairs as asked for, each once, and returns those that the library can measure.
func (w *watcher) admit(keys []grid.PairKey) (want []grid.PairKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if slices.Contains(want, key) {
			continue
		}
		w.add(key)
		s := w.state[key]
		if s == nil {
			continue // there are too many
		}
		w.asked[key] = key
		if s.err = w.lib.Check(key.Metric, key.Focus); s.err == nil {
			want = append(want, key)
		} else {
			s.retry = false
		}
	}
	return want
}

// waiting are those of some pairs that are to be tried again.
func (w *watcher) waiting(keys []grid.PairKey) (left []grid.PairKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if w.state[key].retry {
			left = append(left, key)
		}
	}
	return left
}

// finish stops all pairs, which brings the values up to now, and reads them. Run has returned.
func (w *watcher) finish() []report.Pair {
	w.mu.Lock()
	defer w.mu.Unlock()
	missing := w.ofChildren()
	for _, key := range w.order {
		if s := w.state[key]; s.err == nil && !s.retry {
			untold := clean(w.daemon.Notes(key))
			s.over, s.end = true, ending{
				uncertain: w.uncertainty(key), unsure: clean(w.daemon.Unsure(key)), untold: untold, note: joinNotes(w.late(s), untold, missing(key)),
			}
			s.end.places, s.end.probed = w.daemon.Placed(key)
		}
	}
	w.grid.DisableAll()
	var pairs []report.Pair
	for _, key := range w.shown() {
		pairs = append(pairs, w.pair(key))
	}
	return append(pairs, w.empty()...)
}

// lateAfter is how long after the first pair a pair may be enabled so that nobody takes its beginning for late, in s.
const lateAfter = 1.0

// late says of a pair that is measured from later on than others that what was before is not in its value: a thread may have done much until
// it was seen. "" of others.
func (w *watcher) late(s *watched) string {
	first := s.since
	for _, o := range w.state {
		if o.err == nil && !o.retry {
			first = min(first, o.since)
		}
	}
	if s.since-first < lateAfter {
		return ""
	}
	return fmt.Sprintf("measured from %.1f s on: what was before is not counted", s.since)
}

// ofChildren says of a value over all processes that what some of them did is not in it.
func (w *watcher) ofChildren() func(grid.PairKey) string {
	used, share := w.daemon.UnmeasuredChildren()
	return func(key grid.PairKey) string {
		if used == 0 || key.Focus.Depth(grid.Process) > 0 {
			return ""
		}
		return fmt.Sprintf("what processes did that ended too soon is not counted (%.0f %% of all CPU time)", 100*share)
	}
}

func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// notes are what the values of the pairs do not tell of, each once. Finish has returned.
func (w *watcher) notes() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range w.shown() {
		if note := joinNotes(w.state[key].end.note, w.sinceAttach(key)); note != "" {
			all = append(all, fmt.Sprintf("%v: %s", key, note))
		}
	}
	return all
}

// sinceAttach says of a value of which only changes are seen what 0 stands for. Where values are listed it stands beside them.
func (w *watcher) sinceAttach(key grid.PairKey) string {
	if m, _ := w.lib.Metric(key.Metric); !m.SinceAttach {
		return ""
	}
	return "only its changes since the attach are seen: 0 stands for what it was then"
}

// uncertainty is missing for what is counted or kept by the kernel.
func (w *watcher) uncertainty(key grid.PairKey) report.Missing {
	if v, ok := w.daemon.Uncertainty(key); ok {
		return report.Missing(v)
	}
	return missing
}

// blank is a pair without values.
func (w *watcher) blank(key grid.PairKey) report.Pair {
	p := report.Pair{Metric: clean(key.Metric), Focus: focusReport(key.Focus), Average: missing, Uncertainty: missing, Min: missing, Max: missing}
	if m, ok := w.lib.Metric(key.Metric); ok {
		p.Unit = clean(m.RateUnits())
	}
	return p
}

func (w *watcher) pair(key grid.PairKey) report.Pair {
	p := w.blank(key)
	for _, real := range w.asked {
		p.Asked = p.Asked || real == key
	}
	s := w.state[key]
	snap, ok := w.grid.Pair(key)
	switch {
	case s.err != nil:
		p.Error = clean(s.err.Error())
	case s.retry:
		p.Error = "the session ended before it was enabled"
	}
	if p.Error != "" || !ok {
		return p
	}
	p.Tier, p.Note = string(snap.Tier), s.end.note
	if p.Uncertainty = s.end.uncertain; !s.over {
		p.Uncertainty = w.uncertainty(key)
	}
	p.Sum, p.Average, p.Min, p.Max = report.Number(snap.Sum), report.Missing(snap.Average), report.Missing(snap.Min), report.Missing(snap.Max)
	p.Start, p.BinSeconds = report.Number(snap.Histogram.Start()), report.Number(snap.Histogram.Width())
	p.Bins = binsReport(snap.Histogram.Rates())
	if snap.Metric.Style == grid.SampledFunction {
		p.Gauge = gaugeReport(&snap)
	}
	if snap.Values != nil {
		values := snap.Values.Total()
		p.Distribution = distributionReport(&values, snap.Metric.Values)
	}
	return p
}
