package measuring

import (
	"culprit/daemon/cost"
	"culprit/grid"
	"culprit/pcl"
)

// Price works out how many CPUs the probes took since it was last asked, at a session time: executions times calibrated time.
func (p *Part) Price(now float64) (cpus float64) {
	interval := now - p.pricedAt
	p.pricedAt = now
	if p.Probes == nil || interval <= 0 {
		return 0
	}
	each, followed, ok := p.Probes.Executions()
	if !ok {
		return 0
	}
	p.priceExecutions()
	p.use.Count(each, followed, interval)
	return p.use.CPUs
}

// PriceEarly works out how many CPUs the probes took from the beginning up to a session time, where no pass has read them yet. Probes that keep up with
// descriptors are left out.
func (p *Part) PriceEarly(now float64) (cpus float64) {
	interval := now - p.pricedAt
	if p.Probes == nil || interval <= 0 {
		return 0
	}
	p.priceExecutions()
	return p.use.Peek(p.Probes.Count(), interval)
}

// priceExecutions has it found out what an execution costs, the first time.
func (p *Part) priceExecutions() {
	if !p.use.Priced() {
		p.use.Price(&p.Process.Common.Prices, p.Plan, p.ReadsStatistics())
		p.Ahead = p.predict()
	}
}

// AddPrice adds to a price what a plan would take in the target.
func (t *Process) AddPrice(price *grid.Price, plan *pcl.Plan) {
	cost.Add(price, plan, t.Common.Prices.Each(plan, t.ReadsStatistics(plan)), &t.Rates, t.Threads.Active(), func(id pcl.FuncID) bool { return t.Func(id) != nil })
}

// predict is the share of the target's active time that a part will use by what is known of how often its functions are
// called; what was never counted adds nothing.
func (p *Part) predict() float64 {
	var price grid.Price
	p.Process.AddPrice(&price, p.Plan)
	return price.Fraction
}
