package trampoline

import (
	"encoding/binary"
	"fmt"

	"culprit/trampoline/x86"
)

// A punned site has one byte: the opcode of a jump whose displacement is the first four bytes of what follows. What follows
// must become a branch, too, whose own displacement can be chosen: either it is a call, which keeps its opcode and is
// retargeted, or instructions that nothing jumps into, which move away like those of a host. The two branches share three
// bytes. They lead to stubs at places that fit, and those to the base trampoline.

// punLen is how many bytes change: the two branches overlap in all but the first and the last byte.
const punLen = 1 + jumpLen

// placePunned finds a way to the point at instruction i whose only room is one byte; reason is why there is no other.
func (m *planner) placePunned(p Point, i int, reason string) string {
	if p.Kind == FuncEntry && m.Insts[i].Endbr {
		i++
	}
	if p.Kind != FuncEntry && p.Kind != Ret || i+1 >= len(m.Insts) {
		return reason
	}
	in := &m.Insts[i]
	if in.Len != 1 || m.movable(in) != "" || in.Addr/PageSize != (in.Addr+punLen-1)/PageSize || m.Insts[i+1].Addr != in.End() {
		return reason
	}
	h := m.successor(i + 1)
	if h == nil || m.Hidden != "" && h.hi-h.lo > 1 {
		return reason
	}
	r := &run{lo: i, hi: i + 1, tactic: Punned, host: h, marks: map[Point]int{p: i}}
	if why := m.merge(r); why != "" {
		return why
	}
	m.runs = append(m.runs, h)
	return ""
}

// successor is the host that begins with instruction i: a call, or what fills a jump.
func (m *planner) successor(i int) *run {
	if in := &m.Insts[i]; retargetable(in) {
		return m.unlessTaken(&run{lo: i, hi: i + 1, tactic: hosting})
	}
	return m.filling(i, jumpLen)
}

// retargetable reports whether an instruction is a call of five bytes, E8 rel32.
func retargetable(in *x86.Inst) bool {
	return in.Flow == x86.FlowCall && in.Len == jumpLen && in.RelOff == 1 && in.RelLen == 4 && !in.PCSensitive
}

// Call is the function that a punned site's successor calls; 0 if it is no call.
func (h *Host) Call() uint64 {
	if in := &h.Insts[0]; len(h.Insts) == 1 && retargetable(in) {
		return in.Target
	}
	return 0
}

// opcode is that of the branch behind a punned site.
func (h *Host) opcode() byte {
	if h.Call() != 0 {
		return 0xE8
	}
	return 0xE9
}

// PunStub is where the stub of a punned site that a jump to at could reach must be for its successor's branch, for each of the
// 256 values of the last byte; ok is false if the branches do not fit together with a stub at at.
func (s *Site) PunStub(at uint64, last byte) (successor uint64, ok bool) {
	rel, err := rel32(s.Addr+jumpLen, at)
	if err != nil || rel[0] != s.Host.opcode() {
		return 0, false
	}
	second := binary.LittleEndian.Uint32([]byte{rel[1], rel[2], rel[3], last})
	return s.Addr + punLen + uint64(int64(int32(second))), true
}

// FirstPunStub is the lowest address from at on where the stub of a punned site's own jump can be.
func (s *Site) FirstPunStub(at uint64) uint64 {
	low := byte(s.Addr+jumpLen) + s.Host.opcode()
	return at + uint64(low-byte(at))
}

// punned is the piece of a punned site: its jump to w.Site, of which all but the opcode are the branch behind it to w.Host.
func (s *Site) punned(w Way) ([]Piece, error) {
	first, err := jump(s.Addr, w.Site)
	if err != nil {
		return nil, err
	}
	second, err := rel32(s.Addr+punLen, w.Host)
	if err != nil {
		return nil, err
	}
	if first[1] != s.Host.opcode() || [3]byte(first[2:]) != [3]byte(second[:3]) {
		return nil, fmt.Errorf("stubs at %#x and %#x do not fit the code at %#x", w.Site, w.Host, s.Addr)
	}
	return []Piece{{s.Addr, append(first, second[3])}}, nil
}
