package image

import (
	"slices"
	"strings"

	"culprit/daemon/image/unwind"
	"culprit/trampoline/x86"
)

// A basicBlock is a run of instructions that is entered at its first and left behind its last.
type basicBlock struct {
	lo, hi     int // indices in Flow.Insts
	succ, pred []int
	edges      []Edge // in the order of succ
}

// An EdgeKind says by what control goes along an edge.
type EdgeKind uint8

// The kinds of edges.
const (
	EdgeFalls    EdgeKind = iota // it goes on with the next instruction
	EdgeJumps                    // a direct jump, or a conditional one that is taken
	EdgeIndirect                 // a jump table or computed goto
	EdgeThrows                   // an exception out of a call
)

// An Edge is a way from the last instruction of a block to the first of another.
type Edge struct {
	From, To uint64
	Kind     EdgeKind
}

// A graph is the flow graph of a function; block 0 has the entry.
type graph struct {
	flow   *Flow
	blocks []basicBlock
	at     map[uint64]int // block by the address of its first instruction
}

// graphOf cuts a function into blocks. Calls that do not return end theirs.
func (o *Object) graphOf(f *Function, w *Flow) *graph {
	g := &graph{flow: w, at: map[uint64]int{}}
	silent, known := map[uint64]bool{}, map[CallSite]bool{}
	for _, c := range w.Calls {
		callee := CallSite{Target: c.Target, Import: c.Import}
		never, ok := known[callee]
		if !ok {
			never = o.neverReturns(callee)
			known[callee] = never
		}
		silent[c.Addr] = never
	}
	g.cut(silent)
	for i := range g.blocks {
		g.connect(i, silent)
	}
	if d := o.frames.At(f.Addr); d != nil {
		sites, _ := o.frames.LandingPads(d)
		g.throws(sites)
	}
	if i, ok := g.at[f.Addr]; ok && i != 0 { // a cold part lies before it
		g.swapFirst(i)
	}
	return g
}

func (g *graph) cut(silent map[uint64]bool) {
	insts := g.flow.Insts
	first := 0
	for i := range insts {
		last := i+1 == len(insts) || insts[i+1].Addr != insts[i].End() || insts[i].Flow != x86.FlowNext && insts[i].Flow != x86.FlowCall &&
			insts[i].Flow != x86.FlowCallInd && insts[i].Flow != x86.FlowSyscall || silent[insts[i].Addr]
		if !last {
			last = g.flow.Targets.Has(insts[i+1].Addr)
		}
		if last {
			g.at[insts[first].Addr] = len(g.blocks)
			g.blocks = append(g.blocks, basicBlock{lo: first, hi: i + 1})
			first = i + 1
		}
	}
}

func (g *graph) edge(from int, e Edge) {
	to, ok := g.at[e.To]
	if !ok || slices.Contains(g.blocks[from].edges, e) {
		return
	}
	b := &g.blocks[from]
	b.succ, b.edges = append(b.succ, to), append(b.edges, e)
	g.blocks[to].pred = append(g.blocks[to].pred, from)
}

func (g *graph) connect(i int, silent map[uint64]bool) {
	last := &g.flow.Insts[g.blocks[i].hi-1]
	switch last.Flow {
	case x86.FlowRet, x86.FlowStop:
		return
	case x86.FlowJump:
		g.edge(i, Edge{last.Addr, last.Target, EdgeJumps})
		return
	case x86.FlowJumpInd:
		for _, to := range g.flow.tables[last.Addr] {
			g.edge(i, Edge{last.Addr, to, EdgeIndirect})
		}
		return
	case x86.FlowCond, x86.FlowLoop:
		g.edge(i, Edge{last.Addr, last.Target, EdgeJumps})
	}
	if !silent[last.Addr] {
		g.edge(i, Edge{last.Addr, last.End(), EdgeFalls})
	}
}

// throws adds the edges of exceptions: from every block with a call in a site's range.
func (g *graph) throws(sites []unwind.LandingPad) {
	for i := range g.blocks {
		b := &g.blocks[i]
		for _, s := range sites {
			for k := b.lo; k < b.hi; k++ {
				in := &g.flow.Insts[k]
				if in.Addr >= s.Lo && in.Addr < s.Hi && (in.Flow == x86.FlowCall || in.Flow == x86.FlowCallInd) {
					g.edge(i, Edge{in.Addr, s.Pad, EdgeThrows})
				}
			}
		}
	}
}

// swapFirst makes block i the first.
func (g *graph) swapFirst(i int) {
	swap := func(list []int) {
		for k, v := range list {
			switch v {
			case 0:
				list[k] = i
			case i:
				list[k] = 0
			}
		}
	}
	g.blocks[0], g.blocks[i] = g.blocks[i], g.blocks[0]
	for k := range g.blocks {
		swap(g.blocks[k].succ)
		swap(g.blocks[k].pred)
	}
	for a, b := range g.at {
		switch b {
		case 0:
			g.at[a] = i
		case i:
			g.at[a] = 0
		}
	}
}

// silentNames are functions of the C, C++ and Rust libraries that do not return.
var silentNames = map[string]bool{"abort": true, "exit": true, "_exit": true, "_Exit": true, "quick_exit": true, "__stack_chk_fail": true,
	"__assert_fail": true, "__assert_perror_fail": true, "__fortify_fail": true, "__chk_fail": true, "__libc_fatal": true, "longjmp": true,
	"_longjmp": true, "siglongjmp": true, "__longjmp_chk": true, "pthread_exit": true, "err": true, "errx": true, "verr": true, "verrx": true,
	"_Unwind_Resume": true, "__cxa_throw": true, "__cxa_rethrow": true, "__cxa_bad_cast": true, "__cxa_bad_typeid": true, "__cxa_throw_bad_array_new_length": true,
	"__cxa_pure_virtual": true, "_ZSt9terminatev": true, "_ZSt10unexpectedv": true, "thrd_exit": true}

// isSetjmp reports whether a call returns again when somebody jumps back to it.
func (o *Object) isSetjmp(c CallSite) bool {
	name := c.Import
	if f := o.FunctionAt(c.Target); name == "" && c.Target != 0 && f != nil && f.Addr == c.Target {
		name = f.Linkage
	}
	return name != "" && refusals[name] == whySetjmp && strings.Contains(name, "set")
}

// neverReturns reports whether control does not come back behind a call: the callee is known for it, or has no way out.
func (o *Object) neverReturns(c CallSite) bool {
	if c.Import != "" {
		return silentNames[c.Import]
	}
	if c.Target == 0 {
		return false
	}
	f := o.FunctionAt(c.Target)
	if f == nil || f.Addr != c.Target {
		return false
	}
	if silentNames[f.Linkage] || silentNames[f.Name] {
		return true
	}
	w, err := o.Flow(f)
	return err == nil && w.Hidden == "" && len(w.Exits) == 0
}
