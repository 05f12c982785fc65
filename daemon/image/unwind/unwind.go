package unwind

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/op"

	"culprit/daemon/image/lazy"
)

// ErrNoCFI means that the file has no call frame information for the address.
var ErrNoCFI = errors.New("no call frame information for this address")

// ErrStackEnd means that the frame is the outermost one: it has no caller.
var ErrStackEnd = errors.New("outermost frame")

// Unwind makes one step from the frame with registers r to its caller. pc is the address to look up as a file address:
// r.LookupPC()-bias. mem reads 8 bytes of the process. A damaged stack may lead round in a circle: bound the number of steps. Errors: ErrNoCFI, ErrStackEnd, whatever mem returns, damaged tables.
func (t *Table) Unwind(pc uint64, r Regs, bias uint64, mem func(addr uint64) (uint64, error)) (caller Regs, cfa uint64, err error) {
	defer lazy.Guard(&err, t.file.Name()+": unwinding")
	f, w, err := t.rowFor(pc)
	switch {
	case err != nil:
		return Regs{}, 0, fmt.Errorf("%s: at %#x: %w", t.file.Name(), pc, err)
	case f == nil:
		return Regs{}, 0, ErrNoCFI
	}
	u := unwinder{regs: r, bias: bias, mem: mem}
	if cfa, err = u.cfaOf(w); err != nil {
		return Regs{}, 0, fmt.Errorf("%s: at %#x: %w", t.file.Name(), pc, err)
	}
	// A frame that is found from rsp or rbp lies above the stack pointer, or the stack is damaged. (In longjmp it is found from
	// the jump buffer, behind a signal on another stack: there, and only there, it may lie anywhere.)
	if cfa <= r.RSP && !f.cie.signal && w.cfaExpr == nil && (w.cfaReg == regRSP || w.cfaReg == regRBP) {
		return Regs{}, 0, fmt.Errorf("%s: at %#x: the caller's frame %#x is not above the stack pointer %#x", t.file.Name(), pc, cfa, r.RSP)
	}
	caller, err = u.caller(w, f, cfa)
	if err != nil && !errors.Is(err, ErrStackEnd) {
		err = fmt.Errorf("%s: at %#x: %w", t.file.Name(), pc, err)
	}
	return caller, cfa, err
}

type unwinder struct {
	regs Regs
	bias uint64
	mem  func(uint64) (uint64, error)
}

func (u *unwinder) reg(n uint64) (uint64, error) {
	p := u.regs.slot(n)
	if p == nil || (n < ripColumn && u.regs.Lost>>n&1 != 0) {
		return 0, fmt.Errorf("register %d is not known in this frame", n)
	}
	return *p, nil
}

func (u *unwinder) cfaOf(w *row) (uint64, error) {
	if w.cfaExpr != nil {
		return u.eval(w.cfaExpr, 0, false)
	}
	v, err := u.reg(w.cfaReg)
	return v + uint64(w.cfaOff), err
}

func (u *unwinder) caller(w *row, f *FDE, cfa uint64) (Regs, error) {
	ra := w.regs[f.cie.ra]
	if ra.kind == ruleUndefined || ra.kind == ruleNone {
		return Regs{}, ErrStackEnd
	}
	c := Regs{Exact: f.cie.signal}
	for n := uint64(0); n < ripColumn; n++ {
		v, known, err := u.apply(n, w.regs[n], cfa, f.cie.signal)
		if err != nil {
			return Regs{}, err
		}
		*c.slot(n) = v
		if !known {
			c.Lost |= 1 << n
		}
	}
	v, known, err := u.apply(f.cie.ra, ra, cfa, true)
	switch {
	case err != nil:
		return Regs{}, err
	case !known || v == 0:
		return Regs{}, ErrStackEnd
	}
	c.RIP = v
	return c, nil
}

// apply finds one register of the caller. keep says that registers without a rule keep their value even if calls change them.
func (u *unwinder) apply(n uint64, r rule, cfa uint64, keep bool) (v uint64, known bool, err error) {
	switch r.kind {
	case ruleNone:
		if n == regRSP {
			return cfa, true, nil
		}
		if !keep && callerSaved>>n&1 != 0 {
			return 0, false, nil
		}
		return u.same(n)
	case ruleSame:
		return u.same(n)
	case ruleOffset:
		v, err = u.mem(cfa + uint64(r.off))
	case ruleValOffset:
		v = cfa + uint64(r.off)
	case ruleRegister:
		return u.same(uint64(r.reg))
	case ruleExpr:
		if v, err = u.eval(r.expr, cfa, true); err == nil {
			v, err = u.mem(v)
		}
	case ruleValExpr:
		v, err = u.eval(r.expr, cfa, true)
	default: // undefined
		return 0, false, nil
	}
	return v, err == nil, err
}

func (u *unwinder) same(n uint64) (uint64, bool, error) {
	v, err := u.reg(n)
	return v, err == nil, nil
}

// eval runs a DWARF expression; rules of registers start with the frame address on the stack (DWARF 5, section 6.4.2.3).
func (u *unwinder) eval(expr []byte, cfa uint64, push bool) (uint64, error) {
	if !simple(expr) {
		return 0, errors.New("call frame expression: of a kind that is not run")
	}
	if push {
		expr = append([]byte{byte(op.DW_OP_call_frame_cfa)}, expr...)
	}
	v, pieces, err := u.run(expr, cfa, 0)
	if err != nil {
		return 0, fmt.Errorf("call frame expression: %w", err)
	}
	if len(pieces) > 0 {
		return 0, errors.New("call frame expression: not an address")
	}
	return uint64(v), nil
}

// run runs an expression that is simple.
func (u *unwinder) run(expr []byte, cfa uint64, frameBase int64) (int64, []op.Piece, error) {
	regs := make([]*op.DwarfRegister, ripColumn+1)
	for n := range regs {
		if v, err := u.reg(uint64(n)); err == nil {
			regs[n] = op.DwarfRegisterFromUint64(v)
		}
	}
	d := op.NewDwarfRegisters(u.bias, regs, binary.LittleEndian, ripColumn, regRSP, regRBP, ripColumn)
	d.CFA, d.FrameBase = int64(cfa), frameBase
	return op.ExecuteStackProgram(*d, expr, 8, u.read)
}

// read serves DW_OP_deref, which reads 8 bytes or fewer.
func (u *unwinder) read(b []byte, addr uint64) (int, error) {
	if len(b) > 8 {
		return 0, errBadCFI
	}
	v, err := u.mem(addr)
	if err != nil {
		return 0, err
	}
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v)
	return copy(b, w[:]), nil
}
