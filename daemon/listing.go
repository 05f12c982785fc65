package daemon

import (
	"cmp"

	"culprit/daemon/measuring"
	"culprit/daemon/placement"
	"culprit/daemon/probe"
	"culprit/grid"
	"culprit/pcl"
)

// A Listing is what a metric at a focus would be in one process: the plan, and the code for each place.
type Listing struct {
	Process string
	Plan    string  // as package pcl prints it
	Kernel  string  // the quantity of the kernel that is read; no code then
	PriceNS float64 // mean price of one execution of a probe
	Sites   []placement.Listed
	Left    int // sites beyond those that were asked for
}

// Disassemble makes the trampolines of a metric at a focus without putting them in, and prices them. At most as many sites as said are listed for each process.
func (pr *pricer) Disassemble(k grid.PairKey, sites int) ([]Listing, error) {
	pr.enabling.Lock()
	defer pr.enabling.Unlock()
	plans, err := pr.compileAll(k)
	if err != nil {
		return nil, pr.typedNow(err)
	}
	var out []Listing
	for _, c := range plans {
		l, err := pr.listing(c, sites)
		if err != nil {
			return nil, pr.typedNow(err)
		}
		out = append(out, *l)
	}
	return out, nil
}

func (pr *pricer) listing(c costed, most int) (*Listing, error) {
	c.t.Lock()
	defer c.t.Unlock()
	if err := c.t.NeedsProbes("the code of a metric"); err != nil {
		return nil, err
	}
	l := &Listing{Process: c.t.Name, Plan: c.plan.Describe(func(id pcl.FuncID) string { return c.t.FuncModule(id) + "/" + c.t.FuncName(id) }), Kernel: cmp.Or(c.plan.KernelName, c.plan.Event), PriceNS: pr.common.Prices.Average(c.plan, c.t.ReadsStatistics(c.plan))}
	if c.plan.KeptByKernel() || c.plan.Kind == pcl.Void {
		return l, nil
	}
	p := measuring.NewProbes(c.t, c.plan, 0, probe.Options{}, c.t.ReadsStatistics(c.plan))
	defer p.Discard()
	if err := p.Probes.Reserve(); err != nil {
		return nil, err
	}
	c.t.Sites.Look() // the code is what it would be
	if err := p.Place(c.t.Sites.Check); err != nil {
		return nil, err
	}
	var err error
	l.Sites, l.Left, err = p.Code.List(most, pr.common.Prices.Each(c.plan, c.t.ReadsStatistics(c.plan)))
	return l, err
}
