package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"culprit/daemon/probe"
	"culprit/daemon/trial"
	"culprit/pcl"
	"culprit/trampoline"
)

// prices tells what probes cost: it tries each kind once. The zero value is ready; close gives back what it holds.
type prices struct {
	mu    sync.Mutex
	bench *trial.Bench
	tried bool // to open it
	known map[string]float64
}

// Prices of one execution in ns where nothing can be tried, because the system gives out no memory for code: floors that were measured
// with bench (see bench/).
const (
	priceOfJump    = 1
	priceOfCounter = 0.5
	priceOfWall    = 10
	priceOfCPUTime = 230
	priceOfRow     = 2
	priceOfBucket  = 3.5
	priceOfTable   = 3
	priceOfGauge   = 15
	priceOfLoad    = 490 // of memory behind a pointer: a system call
	priceOfCall    = 115 // of one of the target's functions: all registers are saved
)

func (p *prices) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bench != nil {
		p.bench.Close()
		p.bench = nil
	}
}

// enough requests are looked at for an average: those of many functions are alike.
const enough = 256

// average is the mean price of an execution over the points of a plan that count, in ns.
func (p *prices) average(plan *pcl.Plan, rows bool) float64 { return p.averageOf(plan, false, rows) }

// averageOf is the mean price over those that count, or over those that only keep up with what descriptors stand for.
func (p *prices) averageOf(plan *pcl.Plan, follow, rows bool) float64 {
	part := *plan
	part.Requests = nil
	for i := range plan.Requests {
		if plan.Requests[i].Follows == follow && len(part.Requests) < enough {
			part.Requests = append(part.Requests, plan.Requests[i])
		}
	}
	var sum float64
	for _, ns := range p.each(&part, rows) {
		sum += ns
	}
	return sum / max(float64(len(part.Requests)), 1)
}

// each is the price of one execution of each request of a plan, in ns. What belongs together in a function, such as the start and the
// stop of a timer, is tried together and has one price.
func (p *prices) each(plan *pcl.Plan, rows bool) []float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	byFunc := map[pcl.FuncID][]int{}
	for i := range plan.Requests {
		id := plan.Requests[i].Func
		byFunc[id] = append(byFunc[id], i)
	}
	out := make([]float64, len(plan.Requests))
	for _, list := range byFunc {
		kinds := distinctRequests(plan, list)
		ns := p.of(plan, kinds, rows)
		for _, i := range list {
			out[i] = ns
		}
	}
	return out
}

// A kindOf is a request with what tells it from others, wherever they are.
type kindOf struct {
	text    string
	request *pcl.Request
}

// distinctRequests leaves out those that do the same at another point of the same kind.
func distinctRequests(plan *pcl.Plan, list []int) (kinds []kindOf) {
	for _, i := range list {
		r := &plan.Requests[i]
		k := kindOf{signature(plan, r), r}
		if !slices.ContainsFunc(kinds, func(o kindOf) bool { return o.text == k.text }) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// of is the mean price of an execution of requests in one function. p.mu is held.
func (p *prices) of(plan *pcl.Plan, kinds []kindOf, rows bool) float64 {
	var all strings.Builder
	fmt.Fprintln(&all, rows)
	for _, k := range kinds {
		all.WriteString(k.text)
		all.WriteByte('\n')
	}
	ns, ok := p.known[all.String()]
	if !ok {
		ns = p.try(plan, kinds, rows) / float64(len(kinds))
		if p.known == nil {
			p.known = map[string]float64{}
		}
		p.known[all.String()] = ns
	}
	return ns
}

// try is what all requests cost together.
func (p *prices) try(plan *pcl.Plan, kinds []kindOf, rows bool) float64 {
	if !p.tried {
		p.tried = true
		p.bench, _ = trial.Open() // without it there are floors
	}
	if p.bench != nil {
		if c, err := trialOf(plan, kinds, rows); err == nil {
			if ns, err := p.bench.Cost(c); err == nil {
				return ns
			}
		}
	}
	var ns float64
	for _, k := range kinds {
		ns += floor(plan, k.request, rows)
	}
	return ns
}

// A trialCells hands out the words of the block in which probes are tried.
type trialCells struct{ next int32 }

// Alloc leaves as much room as the largest timer takes.
func (m *trialCells) Alloc(n int32) (int32, error) {
	if n == trampoline.GaugeSize {
		m.next = (m.next + n - 1) &^ (n - 1)
	}
	if m.next+n > trial.EndCell {
		return 0, errors.New("too many variables to be tried")
	}
	off := m.next
	m.next += max(trampoline.RunTimerSize, n)
	return off, nil
}

func (m *trialCells) AllocBuckets() (int32, error) { return m.Alloc(trampoline.BucketsSize) }
func (m *trialCells) AllocTable() (int32, error)   { return m.Alloc(trampoline.TableSize) }

// trialKey is the key of all objects in a trial: most threads use few.
func trialKey(key *trampoline.Expr, _ pcl.FuncID) *trampoline.Expr {
	return &trampoline.Expr{Op: trampoline.ExOr, L: key, R: &trampoline.Expr{Value: 1}}
}

// trialOf makes the probes of requests for a trial: in cells of its own, with flags that let them run.
func trialOf(plan *pcl.Plan, kinds []kindOf, rows bool) (c trial.Case, err error) {
	l := probe.NewLayout(plan, rows)
	l.KeyOf = trialKey
	table := probe.Without
	if plan.By != 0 {
		table = probe.Needed
	}
	if err := l.Reserve(&trialCells{next: trial.FirstCell}, table, false); err != nil {
		return c, fmt.Errorf("metric %q: %w", plan.Pair.Metric, err)
	}
	c = trial.Case{Minis: map[trial.Place][]trampoline.Mini{}, Words: map[int32]uint64{}}
	for _, k := range kinds {
		minis, err := l.Code(k.request)
		if err != nil {
			return c, err
		}
		at := placeOf(k.request)
		if k.request.Prepend {
			c.Minis[at] = append(minis, c.Minis[at]...)
		} else {
			c.Minis[at] = append(c.Minis[at], minis...)
		}
		for _, g := range k.request.Guards {
			c.Words[l.Cells[g].Off] = 1 << 62 // above every stack
		}
	}
	return c, nil
}

func placeOf(r *pcl.Request) trial.Place {
	switch {
	case r.Where == pcl.Entry && !r.Post:
		return trial.Entry
	case r.Where == pcl.Return:
		return trial.Return
	case r.Where == pcl.Call && !r.Post:
		return trial.Call
	case r.Where == pcl.Call:
		return trial.Called
	}
	return trial.Inside
}

// floor prices a request by the table.
func floor(plan *pcl.Plan, r *pcl.Request, rows bool) float64 {
	ns := priceOfJump + priceOfCounter*float64(len(r.Guards))
	for _, in := range r.Code {
		ns += priceOfCounter + priceOfCall*float64(calls(in.Expr)+calls(in.Cond)) + priceOfLoad*float64(probe.Reads(in.Expr)+probe.Reads(in.Cond))
		if plan.Distribution && in.Op != pcl.OpCall && in.Var == 0 && in.Op != pcl.OpTimerEnter && in.Op != pcl.OpTimerStart {
			ns += priceOfBucket
		}
		if plan.By != 0 && in.Op != pcl.OpCall && in.Var == 0 && in.Op != pcl.OpTimerEnter && in.Op != pcl.OpTimerStart {
			ns += priceOfTable
		}
		if in.Op != pcl.OpCall && plan.Vars[in.Var].Kind.Holds() {
			ns += priceOfGauge
		}
		switch in.Op {
		case pcl.OpTimerEnter, pcl.OpTimerLeave, pcl.OpTimerStart, pcl.OpTimerStop:
			switch kind := plan.Vars[in.Var].Kind; {
			case kind == pcl.ProcessTimer && !rows:
				ns += priceOfCPUTime
			case kind == pcl.Kernel:
				ns += priceOfRow
			default:
				ns += priceOfWall
			}
		}
	}
	return ns
}

// calls is how many functions of the target an expression calls.
func calls(e *pcl.Expr) (n int) {
	if e == nil {
		return 0
	}
	if e.Op == pcl.ExCall {
		n = 1
	}
	for _, a := range e.Args {
		n += calls(a)
	}
	return n + calls(e.L) + calls(e.R)
}

// signature tells requests apart by what their probes do, not by where they are or which numbers they use.
func signature(plan *pcl.Plan, r *pcl.Request) string {
	b := []byte{byte(r.Where), flagByte(r.Post), flagByte(r.Prepend), flagByte(plan.Distribution), byte(plan.By), byte(len(r.Guards))}
	for _, in := range r.Code {
		b = append(b, '|', byte(in.Op))
		if in.Op != pcl.OpCall {
			b = append(b, byte(in.Var), byte(plan.Vars[in.Var].Kind))
		}
		b = shape(append(b, ':'), in.Expr)
		b = shape(append(b, '?'), in.Cond)
	}
	return string(b)
}

func flagByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func shape(b []byte, e *pcl.Expr) []byte {
	if e == nil {
		return append(b, '-')
	}
	b = append(b, '(', byte(e.Op), e.Size, byte(min(len(e.Text), 255)))
	b = shape(shape(b, e.L), e.R)
	for _, a := range e.Args {
		b = shape(b, a)
	}
	return append(b, ')')
}
