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
	if !p.use.Priced() {
		p.use.Price(&p.Process.Common.Prices, p.Plan, p.ReadsStatistics())
		p.Ahead = p.predict()
	}
	p.use.Count(each, followed, interval)
	return p.use.CPUs
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
