package daemon

import (
	"cmp"

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

// Disassemble makes the trampolines of a metric at a focus without putting them in, and prices them. At most as many sites as said
// are listed for each process.
func (d *Daemon) Disassemble(k grid.PairKey, sites int) ([]Listing, error) {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	plans, err := d.compileAll(k)
	if err != nil {
		return nil, d.typed(err)
	}
	var out []Listing
	for _, c := range plans {
		l, err := d.listing(c, sites)
		if err != nil {
			return nil, d.typed(err)
		}
		out = append(out, *l)
	}
	return out, nil
}

func (d *Daemon) listing(c costed, most int) (*Listing, error) {
	if err := c.t.needsProbes("the code of a metric"); err != nil {
		return nil, err
	}
	l := &Listing{Process: c.t.Name, Plan: c.plan.Describe(c.t.called), Kernel: cmp.Or(c.plan.KernelName, c.plan.Event), PriceNS: d.prices.Average(c.plan, c.t.readsRows(c.plan))}
	if c.plan.KeptByKernel() || c.plan.Kind == pcl.Void {
		return l, nil
	}
	p := newProbePart(c.t, c.plan, 0, probe.Options{}, c.t.readsRows(c.plan))
	defer p.discard()
	if err := p.probes.Reserve(); err != nil {
		return nil, err
	}
	c.t.Sites.Look() // the code is what it would be
	if err := p.place(c.t.Sites.Check); err != nil {
		return nil, err
	}
	var err error
	l.Sites, l.Left, err = p.code.List(most, d.prices.Each(c.plan, c.t.readsRows(c.plan)))
	return l, err
}

// called is how a listing names a function.
func (t *measured) called(id pcl.FuncID) string { return t.FuncModule(id) + "/" + t.FuncName(id) }

// discard takes back a part that was only made to be looked at.
func (p *part) discard() {
	p.code.Drop()
	p.Release()
}
