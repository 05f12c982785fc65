package trampoline

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"

	"culprit/trampoline/planner"
)

// The runner fills the last page of its data and some of its stack with a pattern. Behind the data nothing is mapped.
const (
	dataEnd    = dataAt + 1<<20
	stackFill  = 256 // bytes from stackTop on
	lowestDown = 32  // bytes from the lowest stack pointer at a point of any test up to stackTop
)

func pattern(addr uint64) byte { return byte(addr*37 + (addr>>8)*101 + 11) }

// patterned reports whether the runner has filled n bytes at addr.
func patterned(addr, n uint64) bool {
	return addr >= dataEnd-4096 && addr <= dataEnd-n || addr >= stackTop && addr <= stackTop+stackFill-n
}

// nowhere are addresses of which nothing can be read: nothing is mapped there, they are the kernel's, or none at all.
var nowhere = []uint64{0, 1, 4096, dataEnd, dataEnd + 12345, 1 << 40, 1<<47 - 4096, 1 << 47, 0x8000_0000_0000_0000, 0xffff_8000_0000_0000, 0xffff_ffff_8100_0000, ^uint64(0), ^uint64(6)}

// someAddress is one that the runner has filled, often near the end, or one of nowhere.
func someAddress(rng *rand.Rand) uint64 {
	switch rng.IntN(4) {
	case 0:
		return nowhere[rng.IntN(len(nowhere))]
	case 1:
		return dataEnd - 1 - rng.Uint64N(16) // what is read there often reaches beyond
	}
	return dataEnd - 4096 + rng.Uint64N(4096-MaxText-64)
}

func someSize(rng *rand.Rand) uint8 { return 1 << rng.IntN(4) }

// stackLeaf reads the stack pointer, or the pattern above it.
func stackLeaf(rng *rand.Rand) *Expr {
	if rng.IntN(3) == 0 {
		return &Expr{Op: ExSP}
	}
	return &Expr{Op: ExStack, Value: int64(lowestDown + rng.IntN(stackFill-2*lowestDown)), Size: someSize(rng), Signed: rng.IntN(2) == 0}
}

// memoryExpr reads memory by an address that is a constant, an argument, the stack pointer, or what was read at one of these.
func memoryExpr(rng *rand.Rand, k planner.PointKind, depth int) *Expr {
	e := &Expr{Op: ExLoad, Value: rng.Int64N(32), Size: someSize(rng), Signed: rng.IntN(2) == 0}
	addr := someAddress(rng)
	switch n := rng.IntN(6); {
	case n == 0:
		return &Expr{Op: ExNarrow, Size: e.Size, Signed: e.Signed, L: randomExpr(rng, k, depth-1)}
	case n == 1 && k == planner.FuncEntry:
		e.L = &Expr{Op: ExArg, Value: rng.Int64N(6)}
		return e
	case n == 2:
		e.L, e.Value = &Expr{Op: ExSP}, int64(lowestDown+rng.IntN(stackFill-2*lowestDown))
		return e
	case n == 3 && depth > 2:
		e.L = memoryExpr(rng, k, depth-1)
		if e.L.Op != ExLoad { // a narrowed number may be any address
			return e.L
		}
		return e
	case n == 4:
		e.Op, e.Text = ExMatch, someText(rng, addr+uint64(e.Value))
	case n == 5 && rng.IntN(2) == 0:
		e.Op, e.Text = ExPath, somePath(rng, addr+uint64(e.Value))
	}
	e.L = &Expr{Op: ExConst, Value: int64(addr)}
	return e
}

// logicExpr joins conditions of which one at least reads memory.
func logicExpr(rng *rand.Rand, k planner.PointKind) *Expr {
	e := &Expr{Op: ExAnd + ExprOp(rng.IntN(2)), L: memoryExpr(rng, k, 3), R: randomExpr(rng, k, 2)}
	if rng.IntN(2) == 0 {
		e.L, e.R = e.R, e.L
	}
	return e
}

// someText is what stands at an address, often with one bit wrong.
func someText(rng *rand.Rand, addr uint64) string {
	b := make([]byte, 1+rng.IntN(MaxText))
	for i := range b {
		b[i] = pattern(addr + uint64(i))
	}
	if rng.IntN(2) == 0 {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	}
	return string(b)
}

// somePath is the path that stands at an address, if one does, often with one bit wrong.
func somePath(rng *rand.Rand, addr uint64) string {
	b := []byte{}
	for i := uint64(0); i < MaxText-1 && pattern(addr+i) != 0; i++ {
		b = append(b, pattern(addr+i))
	}
	if len(b) > 0 && rng.IntN(2) == 0 {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	}
	if path := shortPath(string(b)); path != "" && !strings.Contains(path, "\x00") && shortPath(path) == path {
		return path
	}
	return "/x"
}

// read is what the kernel copies for a probe.
func (m *model) read(addr uint64, n int) ([]byte, bool) {
	if !patterned(addr, uint64(n)) {
		m.note("memory that is not there")
		return nil, false
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = pattern(addr + uint64(i))
	}
	m.note("memory read")
	return b, true
}

// logic notes which sides of && and || the generated code need not ask for.
func (m *model) logic(e *Expr, l, r uint64) {
	if (e.Op == ExAnd || e.Op == ExOr) && e.AsksKernel() && !e.hasEffects() {
		m.note(map[bool]string{true: "both sides asked for", false: "one side decides"}[(l != 0) == (e.Op == ExAnd) && (r != 0) == (e.Op == ExAnd)])
	}
}

func (m *model) note(what string) {
	if m.did != nil {
		m.did[what]++
	}
}

// memory evaluates an operation on memory.
func (m *model) memory(e *Expr) uint64 {
	if e.Op == ExSP {
		return m.sp
	}
	addr, n := m.sp+uint64(e.Value), int(e.Size)
	if e.Op != ExStack {
		addr = m.eval(e.L) + uint64(e.Value)
	}
	if e.Op == ExNarrow {
		return extended(addr, e)
	}
	if e.Op == ExMatch {
		n = len(e.Text)
	}
	if e.Op == ExPath {
		n = MaxText
	}
	b, ok := m.read(addr, n)
	switch {
	case !ok:
		return 0
	case e.Op == ExPath:
		path, _, ends := strings.Cut(string(b), "\x00")
		same := ends && shortPath(path) == e.Text
		m.note(map[bool]string{true: "path that matches", false: "path that differs"}[same])
		return map[bool]uint64{true: 1}[same]
	case e.Op != ExMatch:
		return extended(binary.LittleEndian.Uint64(append(b, make([]byte, 8)...)), e)
	case string(b) == e.Text:
		m.note("text that matches")
		return 1
	}
	m.note("text that differs")
	return 0
}

func extended(v uint64, e *Expr) uint64 {
	up := 64 - 8*e.Size
	if e.Signed {
		return uint64(int64(v<<up) >> up)
	}
	return v << up >> up
}
