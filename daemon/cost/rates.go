package cost

import (
	"time"

	"culprit/grid"
	"culprit/pcl"
)

// Window is how long the calls of a function are counted to know its rate.
const Window = 100 * time.Millisecond

// rateAge is how long a rate is believed, in seconds.
const rateAge = 10.0

// Rates are how often functions of one target were called when that was last counted. The zero value knows of none.
type Rates struct {
	of map[pcl.FuncID]rate
}

type rate struct {
	perSecond float64
	at        float64 // session time
}

// Note keeps the rate of a function as it was counted at a session time.
func (r *Rates) Note(f pcl.FuncID, perSecond, at float64) {
	if r.of == nil {
		r.of = map[pcl.FuncID]rate{}
	}
	r.of[f] = rate{perSecond, at}
}

// Of is how often a second a function was called, and whether that was ever counted.
func (r *Rates) Of(f pcl.FuncID) (perSecond float64, counted bool) {
	v, ok := r.of[f]
	return v.perSecond, ok
}

// Fresh tells whether a rate was counted so lately that it is believed at session time now.
func (r *Rates) Fresh(f pcl.FuncID, now float64) bool {
	v, ok := r.of[f]
	return ok && now-v.at < rateAge
}

// Forget drops the rates of functions that are gone.
func (r *Rates) Forget(gone func(pcl.FuncID) bool) {
	for f := range r.of {
		if gone(f) {
			delete(r.of, f)
		}
	}
}

// Add adds to a price what a plan would take of a target in which so many threads are active: executions per second of each request times
// what one takes (ns, by request). A function that was never counted adds nothing. has tells which functions there are.
func Add(p *grid.Price, plan *pcl.Plan, ns []float64, rates *Rates, active float64, has func(pcl.FuncID) bool) {
	perNS := InProgram(plan) / 1e9 / max(active, 1)
	for i := range plan.Requests {
		f := plan.Requests[i].Func
		if !has(f) {
			continue
		}
		rate, _ := rates.Of(f)
		p.Points++
		p.Rate += rate
		p.Fraction += rate * ns[i] * perNS
	}
}

// timerInProgram is by how much more a timer costs in a program than where it is tried, in a loop that waits for nothing: the
// time-stamp counter is read when the computation before it is done, 54 ns for 22 of a pair (bench/), and the whole of nginx under
// load took longer by three to four times what its timers cost by the trial. Counters hide beside what the program does anyway.
const timerInProgram = 2.5

// InProgram is what the budget takes for one ns of a plan's price.
func InProgram(plan *pcl.Plan) float64 {
	for _, v := range plan.Vars {
		if v.Kind == pcl.WallTimer || v.Kind == pcl.ProcessTimer {
			return timerInProgram
		}
	}
	return 1
}
