package cost

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"culprit/daemon/trial"
	"culprit/pcl"
)

// Executions are the prices of one execution of probes: each kind is tried once. The zero value is ready. Without Close the memory in which
// probes are tried stays.
type Executions struct {
	mu    sync.Mutex
	bench *trial.Bench
	tried bool // to open it
	known map[string]float64
}

// Close gives back the memory. What was not tried by then is priced by floors.
func (x *Executions) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.bench != nil {
		x.bench.Close()
		x.bench = nil
	}
	x.tried = true
}

// enough requests are looked at for an average: those of many functions are alike.
const enough = 256

// Average is the mean price of an execution over the points of a plan that count, in ns. With stats its timers read per-thread statistics.
func (x *Executions) Average(plan *pcl.Plan, stats bool) float64 {
	return x.averageOf(plan, false, stats)
}

// averageOf is the mean price over those that count, or over those that only keep up with what descriptors stand for.
func (x *Executions) averageOf(plan *pcl.Plan, follow, stats bool) float64 {
	part := *plan
	part.Requests = nil
	for i := range plan.Requests {
		if plan.Requests[i].Follows == follow && len(part.Requests) < enough {
			part.Requests = append(part.Requests, plan.Requests[i])
		}
	}
	var sum float64
	for _, ns := range x.Each(&part, stats) {
		sum += ns
	}
	return sum / max(float64(len(part.Requests)), 1)
}

// Each is the price of one execution of each request of a plan, in ns. What belongs together in a function, such as the start and the
// stop of a timer, is tried together and has one price.
func (x *Executions) Each(plan *pcl.Plan, stats bool) []float64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	byFunc := map[pcl.FuncID][]int{}
	for i := range plan.Requests {
		id := plan.Requests[i].Func
		byFunc[id] = append(byFunc[id], i)
	}
	out := make([]float64, len(plan.Requests))
	for _, list := range byFunc {
		kinds := distinctRequests(plan, list)
		ns := x.of(plan, kinds, stats)
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

// of is the mean price of an execution of requests in one function. x.mu is held.
func (x *Executions) of(plan *pcl.Plan, kinds []kindOf, stats bool) float64 {
	var all strings.Builder
	fmt.Fprintln(&all, stats)
	for _, k := range kinds {
		all.WriteString(k.text)
		all.WriteByte('\n')
	}
	ns, ok := x.known[all.String()]
	if !ok {
		ns = x.try(plan, kinds, stats) / float64(len(kinds))
		if x.known == nil {
			x.known = map[string]float64{}
		}
		x.known[all.String()] = ns
	}
	return ns
}

// try is what all requests cost together.
func (x *Executions) try(plan *pcl.Plan, kinds []kindOf, stats bool) float64 {
	if !x.tried {
		x.tried = true
		x.bench, _ = trial.Open() // without it there are floors
	}
	if x.bench != nil {
		if c, err := trialOf(plan, kinds, stats); err == nil {
			if ns, err := x.bench.Cost(c); err == nil {
				return ns
			}
		}
	}
	var ns float64
	for _, k := range kinds {
		ns += floor(plan, k.request, stats)
	}
	return ns
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
