package consultant

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"culprit/consultant/answers"
	"culprit/consultant/decide"
	"culprit/grid"
)

// A model is a program that is scripted rather than run: the logic of the search is tested against it in virtual time.
// It answers as an Instrumenter and an Axis. What happens in it is a list of activities.
type model struct {
	mu      sync.Mutex
	t       float64
	noise   float64
	rng     *rand.Rand
	acts    []activity
	edges   map[string][]string     // further calls
	items   map[grid.Focus][]string // functions
	threads []string
	started map[string]float64                                // s; when a thread did that does not run from the beginning
	more    func(f grid.Focus, h grid.Hierarchy) []grid.Focus // further steps
	weigh   func(f grid.Focus) (float64, bool)                // nil: by what happens
	asks    int                                               // questions to the axis
	samples bool                                              // whether stack samples are taken
	active  float64
	cpus    float64

	predict   func(k grid.PairKey) (grid.Price, error)
	real      func(k grid.PairKey) float64 // cost; nil: as predicted
	whole     map[string]float64           // cost at the whole program, which is predicted as nothing
	enableErr func(k grid.PairKey, try int) error

	sinks    map[grid.PairKey]grid.Sink
	grown    map[grid.PairKey]*growth // since the last reading
	step     float64                  // s from one reading to the next
	grain    float64                  // s over which nothing changes
	tries    map[grid.PairKey]int
	enabled  []grid.PairKey // in order, every time
	maxCost  float64
	batches  int
	disabled int
	stopped  func(since float64) float64 // share of time that the first stop still adds to the observed cost
	began    float64                     // s; when something was enabled first
	overdone int                         // batches enabled although the observed cost exceeded 2 %
}

// An activity is what one thread does at one place.
type activity struct {
	stack  []string
	thread string
	kind   string   // cpu, sync, io or system_call, which is of cpu as well
	object []string // of SyncObject or IO: kind and name
	rate   func(t float64) float64
	from   float64 // s; the axis does not know it before
}

func always(v float64) func(float64) float64 { return func(float64) float64 { return v } }

func between(from, to, v float64) func(float64) float64 {
	return func(t float64) float64 {
		if t >= from && t < to {
			return v
		}
		return 0
	}
}

func newModel(acts ...activity) *model {
	return &model{
		acts: acts, rng: rand.New(rand.NewSource(1)), noise: 0.1, samples: true, active: 1, cpus: 2,
		predict: func(grid.PairKey) (grid.Price, error) { return grid.Price{Fraction: 0.0002, Rate: 100, Points: 2}, nil },
		sinks:   map[grid.PairKey]grid.Sink{}, tries: map[grid.PairKey]int{}, edges: map[string][]string{}, grown: map[grid.PairKey]*growth{}, step: 0.2, grain: 0.05,
	}
}

var _ grid.Instrumenter = (*model)(nil)
var _ grid.Axis = (*model)(nil)

func (m *model) now() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.t
}

// matches tells whether an activity happens at the focus.
func (a activity) matches(f grid.Focus) bool {
	if e := f.Elements(grid.Code); len(e) == 2 && !slices.Contains(a.stack, e[1]) {
		return false
	}
	if e := f.Elements(grid.Process); len(e) > 1 && e[1] != a.thread {
		return false
	}
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		e := f.Elements(h)
		if len(e) > 0 && (a.kind == "cpu" || len(a.object) < len(e) || !slices.Equal(a.object[:len(e)], e)) {
			return false
		}
	}
	return true
}

func (m *model) sum(kind string, f grid.Focus) float64 {
	v := 0.0
	for _, a := range m.acts {
		if a.kind == kind && a.matches(f) && m.inItem(a, f) {
			v += a.rate(m.t)
		}
	}
	return v
}

func (m *model) metric(k grid.PairKey) float64 {
	switch k.Metric {
	case "cpu_inclusive", "cpu": // cpu is read at the whole program, where it is the same
		return m.sum("cpu", k.Focus)
	case "run_queue_wait", "ready_after_wait", "sync_event_wait", "io_reply_wait", "spin_wait", "observed_cost":
		return 0
	case "sync_wait_inclusive":
		return m.sum("sync", k.Focus)
	case "system_time":
		return m.sum("system_call", k.Focus)
	case "io_wait_inclusive":
		return m.sum("io", k.Focus)
	case "blocked", "held_up":
		return m.sum("sync", k.Focus) + m.sum("io", k.Focus)
	case "io_ops":
		return 1000 * m.sum("io", k.Focus)
	case "io_bytes":
		return 64000 * m.sum("io", k.Focus)
	case "active_threads":
		return m.active
	case "number_of_cpus", "allowed_cpus":
		return m.cpus
	}
	return math.NaN()
}

func isLevel(metric string) bool {
	return metric == "active_threads" || metric == "number_of_cpus" || metric == "allowed_cpus"
}

func lookup(name string) (grid.Metric, bool) {
	style := grid.EventCounter
	if isLevel(name) {
		style = grid.SampledFunction
	}
	return grid.Metric{Name: name, Style: style}, name != "no_such_metric"
}

// A growth is what a pair has grown by since a time, or the sum of a level over that time.
type growth struct{ since, sum float64 }

// advance lets time pass and reads what is enabled, as often as the daemon does.
func (m *model) advance(dt float64) {
	for left := dt; left > 1e-9; left -= m.grain {
		d := min(m.grain, left)
		m.mu.Lock()
		type sample struct {
			sink       grid.Sink
			key        grid.PairKey
			start, end float64
			value      float64
		}
		var out []sample
		due := math.Floor((m.t+d)/m.step+1e-9) > math.Floor(m.t/m.step+1e-9)
		keys := make([]grid.PairKey, 0, len(m.sinks))
		for k := range m.sinks {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, grid.PairKey.Compare)
		cost := 0.0
		for _, k := range keys {
			v := m.metric(k)
			if !isLevel(k.Metric) {
				v = max(0, v*(1+m.noise*m.rng.NormFloat64()))
			}
			g := m.grown[k]
			if g == nil {
				g = &growth{since: m.t}
				m.grown[k] = g
			}
			if g.sum += v * d; due {
				if isLevel(k.Metric) {
					g.sum /= m.t + d - g.since
				}
				out = append(out, sample{m.sinks[k], k, g.since, m.t + d, g.sum})
				delete(m.grown, k)
			}
			cost += m.cost(k)
		}
		cost += m.kept()
		m.maxCost = max(m.maxCost, cost)
		m.t += d
		m.mu.Unlock()
		for _, s := range out {
			s.sink.Sample(s.key, s.start, s.end, s.value)
		}
	}
}

func (m *model) cost(k grid.PairKey) float64 {
	if isLevel(k.Metric) {
		return 0
	}
	if k.Focus == grid.Whole() {
		return m.whole[k.Metric]
	}
	if m.real != nil {
		return m.real(k)
	}
	p, _ := m.predict(k)
	return p.Fraction
}

// kept is what is taken for what is kept for pairs: once for all of them.
func (m *model) kept() (most float64) {
	for k := range m.sinks {
		if p, _ := m.predict(k); !isLevel(k.Metric) && k.Focus != grid.Whole() {
			most = max(most, p.Shared)
		}
	}
	return most
}

func (m *model) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	m.advance(0.1)
	prices, errs := make([]grid.Price, len(keys)), make([]error, len(keys))
	for i, k := range keys {
		if isLevel(k.Metric) || k.Focus == grid.Whole() {
			continue
		}
		prices[i], errs[i] = m.predict(k)
	}
	return prices, errs
}

func (m *model) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	over := m.ObservedCost() > 0.02+1e-9
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.batches++; m.batches == 1 {
		m.began = m.t
	}
	if over {
		m.overdone++
	}
	var out []grid.EnableResult
	for _, k := range keys {
		r := grid.EnableResult{Key: k, Tier: grid.TierProbe, Since: m.t}
		if k.Focus == grid.Whole() && m.whole[k.Metric] == 0 {
			r.Tier = grid.TierKernel
		}
		m.tries[k]++
		if m.enableErr != nil {
			r.Err = m.enableErr(k, m.tries[k])
		}
		if r.Err == nil {
			m.sinks[k] = sink
			m.enabled = append(m.enabled, k)
		}
		out = append(out, r)
	}
	return out
}

func (m *model) Disable(keys []grid.PairKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		delete(m.sinks, k)
		delete(m.grown, k)
		m.disabled++
	}
}

func (m *model) ObservedCost() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	cost := 0.0
	for k := range m.sinks {
		cost += m.cost(k)
	}
	cost += m.kept()
	if m.stopped != nil && len(m.sinks) > 0 {
		cost += m.stopped(m.t - m.began)
	}
	return cost
}

func (m *model) Costs() map[grid.PairKey]float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	costs := map[grid.PairKey]float64{}
	for k := range m.sinks {
		if c := m.cost(k); c >= grid.LeastCost {
			costs[k] = c
		}
	}
	return costs
}

func code(f grid.Focus, function string) grid.Focus { return f.Refine(grid.Code, "a.c", function) }

func (m *model) Refinements(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks++
	if m.more != nil {
		if list := m.more(f, h); list != nil {
			return list
		}
	}
	switch h {
	case grid.Defined:
		return m.itemsOf(f)
	case grid.Code:
		if f.Depth(grid.Defined) > 0 {
			return m.functionsOf(f)
		}
		return m.callees(f)
	case grid.Process:
		switch f.Depth(h) {
		case 0:
			return []grid.Focus{f.Refine(h, "srv{1}")}
		case 1:
			var out []grid.Focus
			for _, t := range m.threads {
				if m.started[t] > m.t {
					continue
				}
				out = append(out, f.Refine(h, "srv{1}", t))
			}
			return out
		}
	case grid.SyncObject, grid.IO:
		return m.objects(f, h)
	}
	return nil
}

func (m *model) callees(f grid.Focus) []grid.Focus {
	e := f.Elements(grid.Code)
	var names []string
	add := func(n string) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, a := range m.acts {
		if a.from > m.t {
			continue
		}
		for i, fn := range a.stack {
			if len(e) == 0 && i == 0 || len(e) == 2 && i > 0 && a.stack[i-1] == e[1] {
				add(fn)
			}
		}
	}
	if len(e) == 2 {
		for _, n := range m.edges[e[1]] {
			add(n)
		}
	}
	var out []grid.Focus
	for _, n := range names {
		out = append(out, code(f, n))
	}
	return out
}

func (m *model) objects(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	d := f.Depth(h)
	seen := map[grid.Focus]bool{}
	var out []grid.Focus
	for _, a := range m.acts {
		if (a.kind == "sync") != (h == grid.SyncObject) || len(a.object) <= d || a.from > m.t {
			continue
		}
		g := f.Refine(h, a.object[:d+1]...)
		if f.Covers(g) && !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}

func (m *model) Weight(f grid.Focus, kind string) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.weigh != nil {
		if v, ok := m.weigh(f); ok {
			return v
		}
	}
	all := m.sum(kind, grid.Whole())
	if !m.samples || all == 0 {
		return 0
	}
	return m.sum(kind, f) / all
}

// shipped are the three hypotheses of the first level as PCL ships them.
func shipped() ([]*hypothesis, []string) {
	share := func(name, metric, label string, threshold float64, refine ...grid.Hierarchy) *hypothesis {
		h := &hypothesis{
			Name: name, Label: label, Why: true, Where: true, Refine: refine,
		}
		value := func(get func(string) float64) float64 { return ratio(get(metric), get("active_threads")) }
		if metric == "cpu_inclusive" {
			value = func(get func(string) float64) float64 {
				return ratio(get(metric), math.Min(get("active_threads"), get("number_of_cpus")))
			}
		}
		limit := func(func(string) float64) float64 { return threshold }
		global := []string{"active_threads", "number_of_cpus"}
		return h.With(decide.NewTest(append([]string{metric}, global...), global, true, value, limit))
	}
	return []*hypothesis{
		share("CPUbound", "cpu_inclusive", "{function} uses {percent} of the processors", 0.30, grid.Code, grid.Process),
		share("ExcessiveSyncWaitingTime", "sync_wait_inclusive", "Threads wait {percent} of their time for {object} in {function} {source}",
			0.20, grid.Code, grid.Process, grid.SyncObject),
		share("ExcessiveIOBlockingTime", "io_wait_inclusive", "Threads wait {percent} of their time for {object} in {function}",
			0.20, grid.Code, grid.Process, grid.IO),
	}, []string{"top", "", "top"}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// A world is a model with what a search asks of its daemon besides; its zero value is a daemon without limits.
type world struct {
	halted func() bool // nil = never
	*model
	nowhere      bool // where functions are defined is not known
	spare, stood func() float64
	unseen       func(metric string) string
}

func (w *world) Now() float64 { return w.now() }

func (w *world) Source(grid.Focus) (string, int) {
	if w.nowhere {
		return "", 0
	}
	return "a.c", 41
}

func (w *world) Holders(grid.Focus) []grid.Holder { return nil }

func (w *world) Unseen(metric string) string {
	if w.unseen == nil {
		return ""
	}
	return w.unseen(metric)
}

func (w *world) Spare() float64 {
	if w.spare == nil {
		return math.Inf(1)
	}
	return w.spare()
}

func (w *world) Halted() bool { return w.halted != nil && w.halted() }

func (w *world) Stood() float64 {
	if w.stood == nil {
		return 0
	}
	return w.stood()
}

// A rig is a search over a model.
type rig struct {
	*testing.T
	m      *model
	w      *world
	s      *Search
	g      *grid.Grid
	events []Event
}

func newRig(t *testing.T, m *model, change ...func(*world)) *rig {
	t.Helper()
	r := &rig{T: t, m: m, w: &world{model: m}}
	r.g = grid.New(m, lookup, m.now)
	for _, c := range change {
		c(r.w)
	}
	cfg := Config{World: r.w, OnEvent: func(e Event) { r.events = append(r.events, e) }}
	list, parents := shipped()
	r.s = newSearch(cfg, list, parents)
	if r.s.err != nil {
		t.Fatal(r.s.err)
	}
	r.s.readFrom(r.g)
	return r
}

// run lets the program and the search run until the time.
func (r *rig) turn() {
	if r.s.isDue() {
		r.s.tick()
		r.copies()
	}
}

// copies checks that what readers are given of the nodes is what they are.
func (r *rig) copies() {
	if r.s.samplings%7 != 0 {
		return // it takes long where there are many
	}
	for i, got := range r.s.graph.copies.All(len(r.s.graph.nodes), func(i int, out *Node) bool { return r.s.graph.nodes[i].export(out) }) {
		var want Node
		if r.s.graph.nodes[i].export(&want); fmt.Sprint(got) != fmt.Sprint(want) {
			r.Errorf("readers are given %+v, and it is %+v", got, want)
		}
	}
}

func (r *rig) run(until float64) {
	for r.m.now() < until {
		r.m.advance(0.15)
		r.turn()
	}
}

// runUntil runs until the condition holds and returns the time; it fails at the limit.
func (r *rig) runUntil(limit float64, what string, done func() bool) float64 {
	r.Helper()
	for r.m.now() < limit {
		r.m.advance(0.15)
		r.turn()
		if done() {
			return r.m.now()
		}
	}
	r.dump()
	r.Fatalf("after %g s: not %s", limit, what)
	return 0
}

func (r *rig) dump() {
	for _, n := range r.s.Nodes() {
		r.Logf("%3d %v %-6s %s @ %v %s v=%.3f c=%.3f n=%d since=%.1f %s", n.ID, n.Parents, n.Axis, n.Hypothesis, n.Focus,
			n.State, n.Value, n.Confidence, n.Samples, n.Since, n.Reason)
	}
	for _, b := range r.s.Bottlenecks() {
		r.Logf("-> %s %v", b.Sentence, b.Chain)
	}
	r.Log(r.s.Status())
}

// node returns the node of a hypothesis at a focus in the global phase, or one with state "" if there is none.
func (r *rig) node(hyp string, f grid.Focus) Node {
	for _, n := range r.s.Nodes() {
		if n.Hypothesis == hyp && n.Focus == f && n.Phase.Name == answers.Global {
			return n
		}
	}
	return Node{}
}

// the only bottleneck, or a failure.
func (r *rig) only() Bottleneck {
	r.Helper()
	b := r.s.Bottlenecks()
	if len(b) != 1 {
		r.dump()
		r.Fatalf("%d bottlenecks, want one", len(b))
	}
	return b[0]
}

var background = context.Background()

// Bottlenecks are those of Answer.
func (s *Search) Bottlenecks() []Bottleneck {
	_, list := s.Answer()
	return list
}
