package image

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"sync"

	"culprit/daemon/image/lazy"
	"culprit/trampoline/x86"
)

// ExitKind says how control leaves a function.
type ExitKind uint8

// The kinds of exits.
const (
	ExitRet      ExitKind = iota + 1 // ret in any form
	ExitTailJump                     // jmp to another function, also by its linkage stub
	ExitTailCond                     // conditional jump to another function
	ExitTailInd                      // jmp through a register or memory to another function
)

var exitNames = [...]string{"?", "ret", "tail-jump", "tail-cond", "tail-ind"}

// String is a short name, for messages.
func (k ExitKind) String() string { return exitNames[min(int(k), len(exitNames))%len(exitNames)] }

// An Exit is an instruction that leaves the function for good.
type Exit struct {
	Addr   uint64
	Kind   ExitKind
	Target uint64 // for jumps: where to, 0 if not known
	Import string // for jumps through a linkage stub or slot: the symbol
}

// A CallSite is a call instruction.
type CallSite struct {
	Addr     uint64
	Len      int
	Ret      uint64 // address behind the call
	Target   uint64 // 0 if not known
	Import   string // symbol, if the call goes through a linkage stub or slot
	Indirect bool   // through a register or memory
}

// A Flow is the flow of control in one function.
type Flow struct {
	Parts   []Range             // where the code is; the first range starts with the entry
	Insts   []x86.Inst          // all instructions of all parts, sorted by Addr
	Targets Addresses           // every address that something may jump to; not all are starts of instructions
	Exits   []Exit              // sorted by Addr
	Calls   []CallSite          // sorted by Addr
	Hidden  string              // not "": there may be targets that are not in Targets; why
	twice   []Range             // code that has two readings
	tables  map[uint64][]uint64 // where an indirect jump inside the function may lead, by its address
}

// Addresses is a set of addresses, sorted.
type Addresses []uint64

// Has reports whether a is in the set.
func (s Addresses) Has(a uint64) bool {
	_, ok := slices.BinarySearch(s, a)
	return ok
}

func (s Addresses) sorted() Addresses {
	slices.Sort(s)
	return slices.Compact(s)
}

// Brief is the flow without its instructions, which are most of its memory.
func (w *Flow) Brief() *Flow {
	b := *w
	b.Insts, b.tables = nil, nil
	return &b
}

// In reports whether addr lies in the function.
func (w *Flow) In(addr uint64) bool {
	for _, p := range w.Parts {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// At gives the instruction that starts at addr, nil if none does.
func (w *Flow) At(addr uint64) *x86.Inst {
	i := sort.Search(len(w.Insts), func(i int) bool { return w.Insts[i].Addr >= addr })
	if i == len(w.Insts) || w.Insts[i].Addr != addr {
		return nil
	}
	return &w.Insts[i]
}

// maxFunction bounds the code of one function in bytes. The largest that compilers make are interpreters of about 1 MB.
const maxFunction = 32 << 20

// Flow decodes f and finds its targets, exits and calls. *ErrRefused says why a function cannot be handled: an instruction
// that is not known, or f is only a fragment of another function. The first call for an object makes the pass over all of its
// code (27 ms for redis-server, 0.3 s for 50 MB of text).
// Flow does not look at f.Refuse: the calls of _start are of interest although it is never instrumented.
func (o *Object) Flow(f *Function) (w *Flow, err error) {
	if lazy.InStop(o.elf.Name()+": the code of "+f.Name, func() { _, _ = o.BriefFlow(f) }) {
		return nil, lazy.ErrInStop
	}
	defer func() {
		if err != nil {
			o.flows.keep(f, nil, err)
		}
	}()
	defer lazy.Guard(&err, o.elf.Name()+": "+f.Name)
	x := o.xref()
	if o.elf.Unread() {
		return nil, &ErrRefused{Point: f.Name, Reason: "its file could not be read in whole, so that not all jumps into it are known"}
	}
	if owner := x.owner[f]; owner != nil {
		return nil, &ErrRefused{Point: f.Name, Reason: "it is a fragment of " + owner.Name}
	}
	if x.lost[f] {
		return nil, &ErrRefused{Point: f.Name, Reason: whyFragment}
	}
	b := &flowBuilder{o: o, f: f, x: x, flow: &Flow{tables: map[uint64][]uint64{}}}
	if err := b.decode(); err != nil {
		return nil, err
	}
	b.targetsFromElsewhere()
	for i := range b.flow.Insts {
		b.visit(i)
	}
	b.resolveIndirect()
	b.readTwice()
	b.flow.Targets = b.flow.Targets.sorted()
	slices.SortFunc(b.flow.Exits, func(p, q Exit) int { return cmp.Compare(p.Addr, q.Addr) })
	o.flows.keep(f, b.flow.Brief(), nil) // the instructions belong to the caller
	return b.flow, nil
}

// Callees are the call instructions of f and the jumps out of it, as Flow lists them, but for what only the code of all other functions can show: parts of f
// that have no symbol, and where indirect jumps lead that do not go through a slot. Code that cannot be decoded has none. They are found once.
func (o *Object) Callees(f *Function) ([]CallSite, []Exit) {
	k, ok := o.flows.of(f)
	if !ok {
		k, ok = o.callees.of(f)
	}
	if !ok {
		k.flow, k.err = o.callsIn(f)
		o.callees.keep(f, k.flow, k.err)
	}
	if k.err != nil {
		return nil, nil
	}
	return k.flow.Calls, k.flow.Exits
}

// callsIn is a flow that has calls and exits only.
func (o *Object) callsIn(f *Function) (w *Flow, err error) {
	defer lazy.Guard(&err, o.elf.Name()+": "+f.Name)
	b := &flowBuilder{o: o, f: f, x: &xref{}, flow: &Flow{}}
	defer b.flow.Release()
	if err := b.decode(); err != nil {
		return nil, err
	}
	for i := range b.flow.Insts {
		b.visit(i)
	}
	for _, i := range b.indirect {
		if in := &b.flow.Insts[i]; in.RIPOff != 0 {
			name, target := o.throughSlot(in.RIPTarget)
			b.exit(Exit{Addr: in.Addr, Kind: ExitTailInd, Target: target, Import: name})
		}
	}
	return &Flow{Calls: b.flow.Calls, Exits: b.flow.Exits}, nil
}

type flowBuilder struct {
	o        *Object
	f        *Function
	x        *xref
	flow     *Flow
	indirect []int // indices of indirect jumps
	ownTaken bool  // there are addresses of places inside the function in data or registers
}

func (b *flowBuilder) decode() error {
	parts := append(b.f.ranges(), b.x.parts[b.f]...)
	parts = slices.DeleteFunc(parts, func(r Range) bool {
		// LLVM outlines unlikely code into functions of their own that are called; those are no parts.
		return r.Lo != b.f.Addr && has(b.x.calls, r.Lo)
	})
	var total uint64
	for _, r := range parts {
		if total += r.Hi - r.Lo; total > maxFunction {
			return &ErrRefused{Point: b.f.Name, Reason: fmt.Sprintf("it is larger than %d bytes", maxFunction)}
		}
		if err := b.decodeRange(r); err != nil {
			return err
		}
	}
	b.flow.Parts = parts
	if byAddr := func(p, q x86.Inst) int { return cmp.Compare(p.Addr, q.Addr) }; len(parts) > 1 && !slices.IsSortedFunc(b.flow.Insts, byAddr) {
		slices.SortStableFunc(b.flow.Insts, byAddr)
	}
	return nil
}

func (b *flowBuilder) decodeRange(r Range) error {
	for _, piece := range b.o.cutAtHandlers(r) {
		if err := b.decodePiece(piece, piece.Hi < r.Hi); err != nil {
			return err
		}
	}
	return nil
}

// decodePiece decodes code that goes on to the end of r, or to what lies before an abort handler there.
func (b *flowBuilder) decodePiece(r Range, handler bool) error {
	code, err := b.o.Code(r.Lo, r.Hi)
	if err != nil {
		return err
	}
	if returnsFromSignal(code) {
		return &ErrRefused{Point: b.f.Name, Reason: whySignal}
	}
	if b.flow.Insts == nil {
		b.flow.Insts = listFor(len(code)/3 + 4)
	}
	for off := 0; off < len(code); {
		in, err := x86.Decode(code[off:], r.Lo+uint64(off))
		if err == nil && (in.Len <= 0 || off+in.Len > len(code)) {
			err = fmt.Errorf("the instruction runs beyond the end of the function")
		}
		if err != nil && handler && len(code)-off <= beforeHandler {
			return nil
		}
		if err != nil {
			return &ErrRefused{Point: b.f.Name, Reason: fmt.Sprintf("cannot decode the instruction at %#x: %v", r.Lo+uint64(off), err)}
		}
		b.flow.Insts = append(b.flow.Insts, in)
		off += in.Len
	}
	return nil
}

// bytesOf gives the bytes of a decoded instruction.
func (b *flowBuilder) bytesOf(in *x86.Inst) []byte {
	s := b.o.elf.ExecAt(in.Addr)
	if s == nil {
		return nil
	}
	return s.Slice(in.Addr, uint64(in.Len))
}

func (b *flowBuilder) target(addr uint64) { b.flow.Targets = append(b.flow.Targets, addr) }

// targetsFromElsewhere adds what other functions, data, exceptions and symbols say.
func (b *flowBuilder) targetsFromElsewhere() {
	t := b.o.functions()
	for _, r := range b.flow.Parts {
		b.target(r.Lo)
		for _, list := range [][]uint64{b.x.into, b.x.taken, b.x.pads, t.labels, b.o.sequences().aborts} {
			for _, a := range within(list, r) {
				b.target(a)
			}
		}
		for _, a := range within(b.x.taken, r) {
			b.ownTaken = b.ownTaken || a != b.f.Addr
		}
		i, _ := slices.BinarySearchFunc(t.spans, r.Lo, func(s span, a uint64) int { return cmp.Compare(s.lo, a) })
		for ; i < len(t.spans) && t.spans[i].lo < r.Hi; i++ {
			b.target(t.spans[i].lo)
		}
	}
	b.checkPads()
}

func (b *flowBuilder) checkPads() {
	for _, r := range b.flow.Parts {
		if d := b.o.frames.At(r.Lo); d != nil {
			if _, ok := b.o.frames.PadAddresses(d); !ok {
				b.hide("its table of landing pads cannot be read")
			}
		}
	}
}

// hide records the first reason for which targets may be missing.
func (b *flowBuilder) hide(format string, args ...any) {
	if b.flow.Hidden == "" {
		b.flow.Hidden = fmt.Sprintf(format, args...)
	}
}

func (b *flowBuilder) visit(i int) {
	in := &b.flow.Insts[i]
	switch in.Flow {
	case x86.FlowJump, x86.FlowCond, x86.FlowLoop:
		b.visitBranch(in)
	case x86.FlowRet:
		b.exit(Exit{Addr: in.Addr, Kind: ExitRet})
	case x86.FlowCall:
		b.call(CallSite{Addr: in.Addr, Target: in.Target, Import: b.o.importOf(in.Target)}, in)
		if in.Target != b.f.Addr && b.flow.In(in.Target) {
			b.target(in.Target)
		}
	case x86.FlowCallInd:
		c := CallSite{Addr: in.Addr, Indirect: true}
		if in.RIPOff != 0 {
			c.Import, c.Target = b.o.throughSlot(in.RIPTarget)
		}
		b.call(c, in)
	case x86.FlowJumpInd:
		b.indirect = append(b.indirect, i)
	}
}

func (b *flowBuilder) visitBranch(in *x86.Inst) {
	switch {
	case b.flow.In(in.Target):
		b.target(in.Target)
	case in.Flow == x86.FlowJump:
		b.exit(Exit{Addr: in.Addr, Kind: ExitTailJump, Target: in.Target, Import: b.o.importOf(in.Target)})
	default:
		b.exit(Exit{Addr: in.Addr, Kind: ExitTailCond, Target: in.Target, Import: b.o.importOf(in.Target)})
	}
}

func (b *flowBuilder) exit(e Exit) { b.flow.Exits = append(b.flow.Exits, e) }

func (b *flowBuilder) call(c CallSite, in *x86.Inst) {
	c.Len, c.Ret = in.Len, in.Addr+uint64(in.Len)
	b.flow.Calls = append(b.flow.Calls, c)
}

// flows keeps what was found out about functions, without their instructions: many processes that run one program ask for the same.
type flows struct {
	mu   sync.Mutex
	kept map[*Function]keptFlow
}

type keptFlow struct {
	flow *Flow
	err  error
}

func (l *flows) keep(f *Function, w *Flow, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[*Function]keptFlow{}
	}
	l.kept[f] = keptFlow{w, err}
}

func (l *flows) of(f *Function) (k keptFlow, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok = l.kept[f]
	return k, ok
}

// BriefFlow is Flow without the instructions. It is found out once; the answer belongs to the object.
func (o *Object) BriefFlow(f *Function) (*Flow, error) {
	k, ok := o.flows.of(f)
	if !ok {
		w, err := o.Flow(f)
		if err != nil {
			return nil, err
		}
		w.Release()
		k, _ = o.flows.of(f)
	}
	return k.flow, k.err
}

// flowOf is the flow of a function without its instructions, nil if it is refused.
func (o *Object) flowOf(f *Function) *Flow {
	w, err := o.BriefFlow(f)
	if err != nil {
		return nil
	}
	return w
}

// instructions are the lists of functions that nobody looks at any more: most of what the analysis needs of memory.
var instructions sync.Pool

// largestKept is how many instructions a list has at most that is kept for the next function.
const largestKept = 1 << 14

// Release gives the instructions back. Nobody may use them, or the flow, afterwards; what Brief made of it stays.
func (w *Flow) Release() {
	if list := w.Insts[:0]; cap(list) > 0 && cap(list) <= largestKept {
		instructions.Put(&list)
	}
	w.Insts = nil
}

// listFor is an empty list for so many instructions.
func listFor(n int) []x86.Inst {
	if list, ok := instructions.Get().(*[]x86.Inst); ok && cap(*list) >= n {
		return *list
	}
	return make([]x86.Inst, 0, n)
}
