package trampoline

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"culprit/grid"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// A model is the slow twin of the generated code: it does to a thread's block what the primitives of a function mean. Times
// are not known; a timer's start and sum are only known to be zero or not.
type model struct {
	mem      []byte
	at       uint64 // its address
	regs     registers
	ret      uint64
	sp       uint64
	finalRDI uint64
	sums     map[int32]bool // timers that were stopped: their sum may be anything
	stops    map[int32]int  // how often each of them was
	timed    map[int32]int  // and how often its time went into buckets
	did      map[string]int // how often what was evaluated, if not nil

	shared  uint64            // the gauge of the process
	changes map[int32][]int64 // of the gauges, by their cells
}

func (m *model) word(cell int32) uint64       { return binary.LittleEndian.Uint64(m.mem[cell:]) }
func (m *model) set(cell int32, value uint64) { binary.LittleEndian.PutUint64(m.mem[cell:], value) }

// function runs what the function's points have, in the order in which they are passed.
func (m *model) function(s *sample, plan *planner.Plan, groups map[planner.Point][]Group) {
	m.sp = entrySP
	var entry, exit, taken planner.Point
	for _, p := range s.points {
		switch p.Kind {
		case planner.FuncEntry:
			entry = p
		case planner.TailCond:
			taken = p
		case planner.CallPre, planner.CallPost:
		default:
			exit = p
		}
	}
	m.point(groups[entry])
	for _, p := range s.points {
		if p.Kind == planner.CallPre || p.Kind == planner.CallPost {
			m.sp = entrySP
			if site, _ := plan.SiteOf(p); site != nil && site.Tactic == planner.Retarget {
				m.sp = entrySP - 8 // a call has happened
			}
			m.point(groups[p])
		}
	}
	m.sp = entrySP
	if taken.Addr != 0 && m.branches(s, taken) {
		m.point(groups[taken])
		return
	}
	m.point(groups[exit])
}

// branches tells whether the conditional tail jump behind `test %rdi,%rax` is taken; both registers are final by then.
func (m *model) branches(s *sample, p planner.Point) bool {
	var in x86.Inst
	for _, i := range s.insts {
		if i.Addr == p.Addr {
			in = i
		}
	}
	v := m.ret & m.finalRDI
	parity := 0
	for i := range 8 {
		parity ^= int(v >> i & 1)
	}
	zero, sign, even := v == 0, int64(v) < 0, parity == 0
	holds := []bool{false, false, zero, zero, sign, even, sign, sign || zero}[in.Opcode>>1&7] // O B E BE S P L LE; OF = CF = 0
	return holds != (in.Opcode&1 == 1)
}

func (m *model) point(groups []Group) {
	for _, g := range groups {
		for i := range g.Minis {
			m.mini(&g.Minis[i])
		}
	}
}

func (m *model) mini(p *Mini) {
	for _, g := range p.Guards {
		v := m.word(g.Cell)
		if g.Activation && v < m.sp || !g.Activation && v == 0 {
			return
		}
	}
	if p.Cond != nil && !m.holds(p.Cond) {
		return
	}
	active := m.word(p.Cell)
	switch p.Op {
	case Add:
		v := m.eval(p.Expr) // a call in it may change the word
		m.set(p.Cell, m.word(p.Cell)+v)
		if p.Buckets != 0 {
			m.count(v)
		}
		if p.Table != 0 {
			m.table(p, v)
		}
	case Set:
		m.set(p.Cell, m.eval(p.Expr))
	case Do:
		m.eval(p.Expr)
	case GaugeAdd, GaugeSet:
		m.gauge(p)
	case FlagEnter:
		if active <= m.sp {
			m.set(p.Cell, m.sp)
		}
	case FlagLeave:
		if m.ends(p, active) {
			m.set(p.Cell, 0)
		}
	case WallEnter, CPUEnter:
		if active <= m.sp {
			m.start(p.Cell, m.sp)
		}
	case WallLeave, CPULeave:
		if m.ends(p, active) {
			m.stop(p)
		}
	case WallStart, CPUStart:
		if active == 0 {
			m.start(p.Cell, 1)
		}
	case WallStop, CPUStop:
		if active != 0 {
			m.stop(p)
		}
	default:
		m.rowTimer(p, active)
	}
}

// ends tells whether the activation that holds a word ends at the point.
func (m *model) ends(p *Mini, active uint64) bool {
	if p.Ending == ByCaller {
		return active != 0 && active <= m.sp
	}
	return active == m.sp
}

func (m *model) start(cell int32, by uint64) {
	m.set(cell+TimerActive, by)
	m.set(cell+TimerStart, ^uint64(0))
}

func (m *model) stop(p *Mini) {
	m.set(p.Cell+TimerActive, 0)
	m.sums[p.Cell] = true
	m.stops[p.Cell]++
	if p.Buckets != 0 {
		m.timed[p.Cell]++
	}
}

// count puts a value into its bucket.
func (m *model) count(v uint64) {
	c := bucketsCell + int32(grid.BucketOf(int64(v)))*WordSize
	m.set(c, m.word(c)+1)
}

// table adds a value under a key.
func (m *model) table(p *Mini, v uint64) {
	key := m.word(p.Key)
	at := p.Table + TableFirst + int32(TablePlace(key))*TableEntry
	if key == 0 {
		return
	}
	for range tableProbes {
		if there := m.word(at); there == key || there == 0 {
			m.set(at, key)
			m.set(at+TableValue, m.word(at+TableValue)+v)
			return
		}
		at += TableEntry
	}
	m.set(p.Table+TableLost, m.word(p.Table+TableLost)+v)
}

// holds is a condition; of an argument compared with a small constant only the lower half counts.
func (m *model) holds(e *Expr) bool {
	if e.Op == ExEq && e.L.Op == ExArg && e.R.Op == ExConst && e.R.Value >= 0 && e.R.Value <= 1<<31-1 {
		return uint32(m.eval(e.L)) == uint32(e.R.Value)
	}
	return m.eval(e) != 0
}

func (m *model) eval(e *Expr) uint64 {
	switch e.Op {
	case ExConst:
		return uint64(e.Value)
	case ExWord:
		return m.word(int32(e.Value))
	case ExShared:
		return m.shared
	case ExReturn:
		return m.ret
	case ExArg:
		return m.regs[argRegs[e.Value]]
	case ExNarrow, ExSP, ExStack, ExLoad, ExMatch, ExPath:
		return m.memory(e)
	case ExNeg:
		return -m.eval(e.L)
	case ExAddr:
		return m.at + uint64(e.Value)
	case ExCall:
		return m.call(e)
	}
	l, r := m.eval(e.L), m.eval(e.R)
	m.logic(e, l, r)
	yes := map[ExprOp]bool{ExEq: l == r, ExNe: l != r, ExLt: int64(l) < int64(r), ExLe: int64(l) <= int64(r), ExGt: int64(l) > int64(r),
		ExGe: int64(l) >= int64(r), ExAnd: l != 0 && r != 0, ExOr: l != 0 || r != 0}
	switch e.Op {
	case ExAdd:
		return l + r
	case ExSub:
		return l - r
	case ExMul:
		return l * r
	case ExDiv:
		return quotient(int64(l), int64(r))
	}
	if yes[e.Op] {
		return 1
	}
	return 0
}

func quotient(l, r int64) uint64 {
	switch r {
	case 0:
		return 0
	case -1:
		return uint64(-l)
	}
	return uint64(l / r)
}

// call does what the callees of the runner's text do. Arguments are evaluated from the last to the first.
func (m *model) call(e *Expr) uint64 {
	args := make([]uint64, len(e.Args))
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = m.eval(e.Args[i])
	}
	if e.Value == storeAt {
		cell := int32(args[0] - m.at)
		m.set(cell, m.word(cell)+args[1])
		return m.word(cell)
	}
	sum := uint64(7)
	for i, a := range args {
		sum += a << i
	}
	return sum
}

// compare holds a block against the model.
func (m *model) compare(got []byte) error {
	for i := range 8 {
		if g, w := binary.LittleEndian.Uint64(got[wordCell(i):]), m.word(wordCell(i)); g != w {
			return fmt.Errorf("word %d is %#x, the interpreter says %#x", i, g, w)
		}
	}
	for i := range 4 {
		c := timerCell(i)
		active, start, sum := binary.LittleEndian.Uint64(got[c:]), binary.LittleEndian.Uint64(got[c+TimerStart:]), binary.LittleEndian.Uint64(got[c+TimerSum:])
		if w := m.word(c); active != w {
			return fmt.Errorf("timer %d is active by %#x, the interpreter says %#x", i, active, w)
		}
		if (start != 0) != (m.word(c+TimerStart) != 0) {
			return fmt.Errorf("timer %d started at %d, the interpreter says %v", i, start, m.word(c+TimerStart) != 0)
		}
		if sum != 0 && !m.sums[c] {
			return fmt.Errorf("timer %d has a sum of %d without having been stopped", i, sum)
		}
		if m.stops[c] == 1 && m.timed[c] == 1 {
			m.count(sum)
			delete(m.timed, c)
		}
	}
	for at := int32(tableCell); at < tableCell+TableSize; at += WordSize {
		if g, w := binary.LittleEndian.Uint64(got[at:]), m.word(at); g != w {
			return fmt.Errorf("the word at %d of the table is %#x, the interpreter says %#x", at-tableCell, g, w)
		}
	}
	if err := m.compareRowTimers(got); err != nil {
		return err
	}
	if err := m.compareGauges(got); err != nil {
		return err
	}
	return m.compareBuckets(got[bucketsCell:][:BucketsSize])
}

// compareBuckets holds the buckets against the model. Of a timer that was stopped several times no single time is known, only how
// many there were.
func (m *model) compareBuckets(got []byte) error {
	unknown := 0
	for _, n := range m.timed {
		unknown += n
	}
	for i := range grid.DistributionBuckets {
		g, w := binary.LittleEndian.Uint64(got[i*WordSize:]), m.word(bucketsCell+int32(i*WordSize))
		if g < w {
			return fmt.Errorf("bucket %d counts %d, the interpreter says %d", i, g, w)
		}
		unknown -= int(g - w)
	}
	if unknown != 0 {
		return fmt.Errorf("%d values too many are in no bucket, or in one too many", unknown)
	}
	return nil
}

// newModel is the twin of a thread's block.
func newModel(block []byte, regs registers) *model {
	return &model{mem: bytes.Clone(block), regs: regs, sums: map[int32]bool{}, stops: map[int32]int{}, timed: map[int32]int{}, changes: map[int32][]int64{}}
}
