package unwind

import (
	"errors"
	"fmt"
	"sync"

	"culprit/daemon/image/elffile"
	"culprit/daemon/image/lazy"
)

type ruleKind uint8

const (
	ruleNone      ruleKind = iota // nothing said: callee-saved registers keep their value
	ruleSame                      // keeps its value
	ruleUndefined                 // cannot be restored
	ruleOffset                    // saved at CFA+off
	ruleValOffset                 // is CFA+off
	ruleRegister                  // is in another register
	ruleExpr                      // saved at the address that expr gives
	ruleValExpr                   // is what expr gives
)

// A rule says how one register of the caller is found.
type rule struct {
	kind ruleKind
	reg  uint8
	off  int64
	expr []byte
}

// A row is the state of the frame at one address. The canonical frame address is reg+off, or what expr gives.
type row struct {
	cfaReg  uint64
	cfaOff  int64
	cfaExpr []byte
	regs    [ripColumn + 1]rule
}

// plain reports whether CFA is rsp+8: the stack as a caller left it, so that a jump out of here is a tail call.
func (w *row) plain() bool { return w.cfaExpr == nil && w.cfaReg == regRSP && w.cfaOff == 8 }

// maxRemembered bounds DW_CFA_remember_state; compilers nest it once or twice.
const maxRemembered = 64

var errBadCFI = errors.New("damaged call frame information")

// rowAt runs the program of f up to pc.
func (f *FDE) rowAt(pc uint64) (*row, error) {
	m := cfiMachine{cie: f.cie, loc: f.Lo, pc: pc}
	if err := m.run(f.cie.init, false); err != nil {
		return nil, err
	}
	m.init = m.row
	if err := m.run(f.prog, true); err != nil {
		return nil, err
	}
	return &m.row, nil
}

// maxStillProgram is how long the program of a frame description is at most, in bytes, that is run in a stop: a thread may stand anywhere,
// and what holds there is not worked out before. A byte takes some 10 ns; those of compilers have some dozen.
const maxStillProgram = 4096

// maxRows bounds how many rows an object keeps, of some 900 bytes each: the same return addresses are met again and again.
const maxRows = 2048

// rowsKept are the rows that were worked out last, by pc.
type rowsKept struct {
	mu   sync.Mutex
	kept map[uint64]keptRow
}

type keptRow struct {
	fde *FDE
	row *row
}

// rowFor is the row that holds at pc, with what it is part of, which is nil if nothing is known of pc. Nobody changes a row.
func (t *Table) rowFor(pc uint64) (*FDE, *row, error) {
	l := &t.rows
	l.mu.Lock()
	k, ok := l.kept[pc]
	l.mu.Unlock()
	if ok {
		return k.fde, k.row, nil
	}
	f := t.At(pc)
	if f == nil {
		return nil, nil, nil
	}
	if len(f.prog) > maxStillProgram && lazy.InStop(t.file.Name()+": a long program of call frames", func() { _, _, _ = t.rowFor(pc) }) {
		return f, nil, lazy.ErrInStop
	}
	w, err := f.rowAt(pc)
	if err != nil {
		return f, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil || len(l.kept) >= maxRows {
		l.kept = map[uint64]keptRow{}
	}
	own := *w // what it was worked out with is larger
	l.kept[pc] = keptRow{f, &own}
	return f, &own, nil
}

// cfiMachine executes call frame instructions (DWARF 5, section 6.4.2).
type cfiMachine struct {
	cie   *cie
	row   row
	init  row
	stack []row
	loc   uint64
	pc    uint64
}

func (m *cfiMachine) run(prog []byte, stop bool) error {
	r := &elffile.Reader{Rest: prog}
	for len(r.Rest) > 0 {
		done, err := m.step(r)
		if err != nil {
			return err
		}
		if r.Bad {
			return errBadCFI
		}
		if stop && done {
			return nil
		}
	}
	return nil
}

// advance moves to the next row; done says that it begins behind the pc that is asked for.
func (m *cfiMachine) advance(n uint64) (done bool) {
	m.loc += n * m.cie.codeAlign
	return m.loc > m.pc
}

func (m *cfiMachine) set(reg uint64, r rule) {
	if reg < uint64(len(m.row.regs)) {
		m.row.regs[reg] = r
	}
}

func (m *cfiMachine) restore(reg uint64) {
	if reg < uint64(len(m.row.regs)) {
		m.row.regs[reg] = m.init.regs[reg]
	}
}

func (m *cfiMachine) step(r *elffile.Reader) (done bool, err error) {
	op := r.Byte()
	low := uint64(op & 0x3f)
	switch op >> 6 {
	case 1: // DW_CFA_advance_loc
		return m.advance(low), nil
	case 2: // DW_CFA_offset
		m.set(low, rule{kind: ruleOffset, off: int64(r.ULEB()) * m.cie.dataAlign})
		return false, nil
	case 3: // DW_CFA_restore
		m.restore(low)
		return false, nil
	}
	switch op {
	case 0x00: // nop
	case 0x01: // set_loc
		v, ok := pointer(r, m.cie.ptrEnc&^pePCRel)
		if !ok || m.cie.ptrEnc&pePCRel != 0 {
			return false, errBadCFI // relative to its own place: no compiler writes it
		}
		m.loc = v
		return m.loc > m.pc, nil
	case 0x02:
		return m.advance(r.Uint(1)), nil
	case 0x03:
		return m.advance(r.Uint(2)), nil
	case 0x04:
		return m.advance(r.Uint(4)), nil
	case 0x0a, 0x0b:
		return false, m.remember(op == 0x0b)
	case 0x0c, 0x0d, 0x0e, 0x0f, 0x12, 0x13:
		m.stepCFA(op, r)
	default:
		return false, m.stepReg(op, r)
	}
	return false, nil
}

func (m *cfiMachine) remember(restore bool) error {
	n := len(m.stack)
	switch {
	case restore && n == 0, !restore && n == maxRemembered:
		return errBadCFI
	case restore:
		m.row, m.stack = m.stack[n-1], m.stack[:n-1]
	default:
		m.stack = append(m.stack, m.row)
	}
	return nil
}

func (m *cfiMachine) stepCFA(op byte, r *elffile.Reader) {
	w := &m.row
	switch op {
	case 0x0c: // def_cfa
		w.cfaReg, w.cfaOff, w.cfaExpr = r.ULEB(), int64(r.ULEB()), nil
	case 0x0d: // def_cfa_register
		w.cfaReg, w.cfaExpr = r.ULEB(), nil
	case 0x0e: // def_cfa_offset
		w.cfaOff, w.cfaExpr = int64(r.ULEB()), nil
	case 0x0f: // def_cfa_expression
		w.cfaExpr = block(r)
	case 0x12: // def_cfa_sf
		w.cfaReg, w.cfaOff, w.cfaExpr = r.ULEB(), r.SLEB()*m.cie.dataAlign, nil
	case 0x13: // def_cfa_offset_sf
		w.cfaOff, w.cfaExpr = r.SLEB()*m.cie.dataAlign, nil
	}
}

// block reads a counted block; never nil, so that an empty one differs from none.
func block(r *elffile.Reader) []byte {
	return append([]byte{}, r.Part(r.ULEB()).Rest...)
}

func (m *cfiMachine) stepReg(op byte, r *elffile.Reader) error {
	da := m.cie.dataAlign
	if op == 0x2e { // GNU_args_size: only for unwinding into landing pads
		r.ULEB()
		return nil
	}
	reg := r.ULEB()
	switch op {
	case 0x05: // offset_extended
		m.set(reg, rule{kind: ruleOffset, off: int64(r.ULEB()) * da})
	case 0x06: // restore_extended
		m.restore(reg)
	case 0x07:
		m.set(reg, rule{kind: ruleUndefined})
	case 0x08:
		m.set(reg, rule{kind: ruleSame})
	case 0x09: // register
		from := r.ULEB()
		if from >= ripColumn {
			m.set(reg, rule{kind: ruleUndefined})
			return nil
		}
		m.set(reg, rule{kind: ruleRegister, reg: uint8(from)})
	case 0x10:
		m.set(reg, rule{kind: ruleExpr, expr: block(r)})
	case 0x11: // offset_extended_sf
		m.set(reg, rule{kind: ruleOffset, off: r.SLEB() * da})
	case 0x14: // val_offset
		m.set(reg, rule{kind: ruleValOffset, off: int64(r.ULEB()) * da})
	case 0x15: // val_offset_sf
		m.set(reg, rule{kind: ruleValOffset, off: r.SLEB() * da})
	case 0x16:
		m.set(reg, rule{kind: ruleValExpr, expr: block(r)})
	case 0x2f: // GNU_negative_offset_extended
		m.set(reg, rule{kind: ruleOffset, off: -int64(r.ULEB()) * da})
	default:
		return fmt.Errorf("call frame instruction %#x is not known", op)
	}
	return nil
}
