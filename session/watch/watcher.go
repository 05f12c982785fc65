package watch

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"culprit/grid"
	"culprit/pcl"
)

// maxPairs bounds how many pairs the stars of one session may stand for.
const maxPairs = 100_000

// lookEvery is how often stars are looked at for new children, and pairs that were deferred are tried again.
const lookEvery = 500 * time.Millisecond

// Code is what a Watcher asks of a daemon.
type Code interface {
	ListCode()
	ListLoops(module, function string) (names []string, err error)
}

// A Watcher enables the pairs of watches.
type Watcher struct {
	grid    *grid.Grid
	tree    *grid.Tree
	code    Code
	lib     *pcl.Library
	watches []Watch
	tell    func(grid.PairKey, error) // nil = nobody

	mu      sync.Mutex
	state   map[grid.PairKey]*state
	asked   map[grid.PairKey]grid.PairKey // what became of a watch without a star
	stands  []map[grid.PairKey]bool       // for what each watch has stood so far
	order   []grid.PairKey                // in which they were first asked for
	version uint64                        // of the tree when it was last looked at
}

// state is what became of one pair: enabled if err is nil and it is not to be tried again.
type state struct {
	err   error
	since float64 // s since the session started; from when on it is measured
	retry bool
	tries int
	told  bool // that there is nothing of it
}

func (s *state) enabled() bool { return s.err == nil && !s.retry }

// maxTries bounds how often a pair is tried again that was refused: its function may come with a library later.
const maxTries = 100

// New prepares a Watcher; nothing is enabled until Begin, Run or Ask. tell is told of each pair that the targets have nothing of
// when it is first asked for; nil = nobody.
func New(g *grid.Grid, tree *grid.Tree, code Code, lib *pcl.Library, watches []Watch, tell func(grid.PairKey, error)) *Watcher {
	w := &Watcher{grid: g, tree: tree, code: code, lib: lib, watches: watches, tell: tell, state: map[grid.PairKey]*state{}, asked: map[grid.PairKey]grid.PairKey{}}
	for range watches {
		w.stands = append(w.stands, map[grid.PairKey]bool{})
	}
	return w
}

// Begin enables the pairs that are named one by one, before anything else is measured: what is wrong with them is said first.
func (w *Watcher) Begin() {
	if len(w.watches) > 0 && !slices.ContainsFunc(w.watches, func(one Watch) bool { return one.every }) {
		keys := w.missing()
		w.enable(keys[:min(len(keys), enabledAtOnce)])
	}
}

// enabledAtOnce is how many pairs are enabled at a time, so that an end that comes meanwhile does not wait for thousands.
const enabledAtOnce = 256

// Run enables pairs until ctx ends: at once those that are there, later those of children that appear.
func (w *Watcher) Run(ctx context.Context) {
	if len(w.watches) == 0 {
		return
	}
	if slices.ContainsFunc(w.watches, func(one Watch) bool { return one.every && one.wild == grid.Code }) {
		w.code.ListCode()
	}
	for ctx.Err() == nil {
		for some := range slices.Chunk(w.missing(), enabledAtOnce) {
			if ctx.Err() == nil {
				w.enable(some)
			}
		}
		pause(ctx, lookEvery)
	}
}

// missing lists the pairs that are asked for and not enabled yet.
func (w *Watcher) missing() []grid.PairKey {
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
func (w *Watcher) add(key grid.PairKey) {
	if w.state[key] == nil && len(w.order) < maxPairs {
		w.state[key] = &state{retry: true}
		w.order = append(w.order, key)
	}
}

// retryRefused has the pairs tried again that were refused, since there is more code than before.
func (w *Watcher) retryRefused() {
	for _, s := range w.state {
		var refused grid.ErrRefused
		if (errors.As(s.err, &refused) || pcl.NothingThere(s.err)) && s.tries < maxTries {
			s.tries++
			s.retry = true
		}
	}
}

// resolveProcess turns /Process/4242 into the process's name in the tree, exe{4242}.
func (w *Watcher) resolveProcess(f grid.Focus) grid.Focus {
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

func (w *Watcher) enable(keys []grid.PairKey) {
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
func (w *Watcher) take(results []grid.EnableResult) (untold []grid.EnableResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range results {
		var later grid.ErrDeferred
		s := w.state[r.Key]
		s.err, s.since, s.retry = r.Err, r.Since, errors.As(r.Err, &later)
		if pcl.NothingThere(r.Err) && !s.told {
			s.told = true
			untold = append(untold, r)
		}
	}
	return untold
}

// retryEvery is how often Ask tries again.
const retryEvery = 20 * time.Millisecond

// Ask enables pairs that no watch names, and tries those again for a while that are not possible yet.
func (w *Watcher) Ask(ctx context.Context, patience time.Duration, keys []grid.PairKey) {
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
func (w *Watcher) admit(keys []grid.PairKey) (want []grid.PairKey) {
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
func (w *Watcher) waiting(keys []grid.PairKey) (left []grid.PairKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if w.state[key].retry {
			left = append(left, key)
		}
	}
	return left
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
