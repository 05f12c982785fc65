package daemon

import (
	"cmp"

	"culprit/daemon/patch"
	"culprit/daemon/probe"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline/disasm"
)

// A Listing is what a metric at a focus would be in one process: the plan, and the code for each place.
type Listing struct {
	Process string
	Plan    string  // as package pcl prints it
	Kernel  string  // the quantity of the kernel that is read; no code then
	PriceNS float64 // mean price of one execution of a probe
	Sites   []ListedSite
	Left    int // sites beyond those that were asked for
}

// A ListedSite is a place in the program that would be patched.
type ListedSite struct {
	Function string // module/function
	Points   []string
	Addr     uint64
	Tactic   string
	PriceNS  float64       // of one pass through it
	Code     []disasm.Inst // at the addresses where it would probably lie
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
	if err := p.placeIf(c.t.Sites.Check); err != nil {
		return nil, err
	}
	prices := d.prices.Each(c.plan, c.t.readsRows(c.plan))
	sites := patch.Distinct(p.sites) // several requests may lead to one
	for i, s := range sites {
		if i == most {
			l.Left = len(sites) - most
			break
		}
		listed, err := p.list(s, prices)
		if err != nil {
			return nil, err
		}
		l.Sites = append(l.Sites, *listed)
	}
	return l, nil
}

// called is how a listing names a function.
func (t *measured) called(id pcl.FuncID) string { return t.FuncModule(id) + "/" + t.FuncName(id) }

// discard takes back a part that was only made to be looked at.
func (p *part) discard() {
	for _, s := range p.sites {
		s.Drop(p)
	}
	p.Release()
}

// list makes the part's own trampoline of a site.
func (p *part) list(s *patch.Site, prices []float64) (*ListedSite, error) {
	code, at, err := p.t.Text.Show(s, p)
	if err != nil {
		return nil, err
	}
	f := p.t.FunctionAt(s.Addr)
	out := &ListedSite{Function: f.Fn.Module + "/" + f.Fn.Name, Addr: s.Addr, Tactic: string(s.Tactic), Code: disasm.List(code, at)}
	for _, m := range s.Marks {
		if s.Runs(p, m.Point) {
			out.Points = append(out.Points, m.Point.Kind.String())
		}
	}
	for i := range p.plan.Requests {
		r := &p.plan.Requests[i]
		if p.t.Sites.Serves(s, r) {
			out.PriceNS += prices[i]
		}
	}
	return out, nil
}
