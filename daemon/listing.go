package daemon

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/pcl"
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
	PriceNS  float64 // of one pass through it
	Code     []ListedInst
}

// A ListedInst is one instruction of a trampoline, at the address where it would probably lie.
type ListedInst struct {
	Addr  uint64
	Bytes []byte
	Text  string
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
	l := &Listing{Process: c.t.Name, Plan: c.plan.Describe(c.t.called), Kernel: cmp.Or(c.plan.KernelName, c.plan.Event), PriceNS: d.prices.average(c.plan, c.t.readsRows(c.plan))}
	if c.plan.KeptByKernel() || c.plan.Kind == pcl.Void {
		return l, nil
	}
	p := newProbePart(c.t, c.plan, 0)
	p.rows = c.t.readsRows(c.plan)
	defer p.discard()
	if err := p.reserve(); err != nil {
		return nil, err
	}
	if err := d.newBatch().place(p); err != nil {
		return nil, err
	}
	prices := d.prices.each(c.plan, c.t.readsRows(c.plan))
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
	p.release()
}

// list makes the part's own trampoline of a site.
func (p *part) list(s *patch.Site, prices []float64) (*ListedSite, error) {
	code, at, err := p.t.Text.Show(s, p)
	if err != nil {
		return nil, err
	}
	f := p.t.FunctionAt(s.Addr)
	out := &ListedSite{Function: f.Fn.Module + "/" + f.Fn.Name, Addr: s.Addr, Tactic: string(s.Tactic), Code: disassemble(code, at)}
	for _, m := range s.Marks {
		if s.Runs(p, m.Point) {
			out.Points = append(out.Points, m.Point.Kind.String())
		}
	}
	for i := range p.plan.Requests {
		r := &p.plan.Requests[i]
		if slices.ContainsFunc(p.t.pointsOf(p.t.Func(r.Func), r), func(e exit) bool { return s.Serves(e.pt) }) {
			out.PriceNS += prices[i]
		}
	}
	return out, nil
}

// disassemble writes code in the notation of the GNU tools. What the disassembler does not know is a line of bytes.
func disassemble(code []byte, at uint64) (out []ListedInst) {
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
		text, n := "(bad)", 1
		if err == nil && in.Len > 0 {
			text, n = withAddress(in, x86asm.GNUSyntax(in, at, nil)), in.Len
		}
		out = append(out, ListedInst{at, slices.Clone(code[:n]), text})
		code, at = code[n:], at+uint64(n)
	}
	return out
}

// withAddress completes the text of an instruction that reads or writes an address without registers, such as %fs:0x0: the package
// leaves out an address of 0, and writes one below it with 32 bits.
func withAddress(in x86asm.Inst, text string) string {
	for _, a := range in.Args {
		m, ok := a.(x86asm.Mem)
		if !ok || m.Base != 0 || m.Index != 0 || m.Disp > math.MaxUint32 {
			continue
		}
		bare, full := "", fmt.Sprintf("%#x", uint64(int32(m.Disp)))
		if m.Disp != 0 {
			bare = fmt.Sprintf("%#x", uint32(m.Disp))
		}
		switch {
		case m.Segment != 0:
			segment := "%" + strings.ToLower(m.Segment.String()) + ":"
			return strings.Replace(text, segment+bare, segment+full, 1)
		case bare == "" && strings.HasSuffix(text, ","):
			return text + "0x0"
		case bare == "":
			return strings.Replace(text, " ,", " 0x0,", 1)
		}
	}
	return text
}
