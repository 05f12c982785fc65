package image

import (
	"debug/elf"
	"slices"
	"strings"

	"culprit/daemon/image/elffile"
	"culprit/trampoline/x86"
)

// Programs that read memory which may not be there (a JVM's SafeFetch, scanners that survive what they find, copies with a table of
// exceptions as the kernel has them) have a handler that goes by the address of the instruction that faulted. That instruction must
// stay where it is. A handler knows the address from somewhere: the code names it, a table holds it, or it has a symbol. What is
// found here errs towards too many functions: it costs some of them a way in.

// namedCode is code whose address something else than a call or a jump has, sorted.
type namedCode struct {
	by      []uint64 // the code of another function, other than to see whether it is what a pointer holds
	ordered []uint64 // of those: to see what lies below or above
	equal   []uint64 // the code of another function, to see whether it is what a pointer holds
	tabled  []uint64 // data: tables of functions, of labels
	own     []uint64 // a section that the program has made for such addresses
}

// recoverers are functions whose faults are known to be recovered by where they happen, by the beginning of the linkage name.
var recoverers = []string{"SafeFetch32", "SafeFetchN", "_SafeFetch", "JIT_MemCpy", "JIT_MemSet", "JIT_WriteBarrier", "JIT_CheckedWriteBarrier", "JIT_ByRefWriteBarrier"}

// FaultsAsked reports whether a handler may know a fault of the function by where it happened. w is the function's flow; its
// instructions are not needed.
func (o *Object) FaultsAsked(f *Function, w *Flow) bool {
	x, t := o.xref(), o.functions()
	if slices.ContainsFunc(recoverers, func(s string) bool { return strings.HasPrefix(f.Linkage, s) }) || o.inOwnSection(f.Addr) {
		return true
	}
	called := has(x.calls, f.Addr) || has(x.into, f.Addr)
	if has(x.named.by, f.Addr) && called || has(x.named.ordered, f.Addr) || has(x.named.equal, f.Addr) && !has(x.named.tabled, f.Addr) {
		return true
	}
	for _, r := range w.Parts {
		inner := Range{r.Lo + 1, r.Hi}
		if r.Lo != f.Addr {
			inner = r
		}
		if len(within(t.labels, r)) > 0 || len(within(x.named.own, r)) > 0 || len(within(x.named.by, inner)) > 0 || len(within(x.named.equal, inner)) > 0 ||
			o.elf.Kind() != elffile.KindExec && len(within(x.named.tabled, inner)) > 0 {
			return true
		}
	}
	return false
}

// inOwnSection reports whether code lies in a section with a name of the program's own, whose bounds the linker gives away.
func (o *Object) inOwnSection(addr uint64) bool {
	s := o.elf.ExecAt(addr)
	return s != nil && ownSection(s)
}

// ownSection reports whether a section has a name as only programs give: those of compilers begin with a dot.
func ownSection(s *elffile.Section) bool { return s.Name != "" && s.Name[0] != '.' }

// scanOwnTables finds the addresses of code in sections with names of the program's own: whole ones where the object has fixed
// addresses (else they are relocations), and distances from the place where they lie, as in the kernel's tables of exceptions.
func (o *Object) scanOwnTables(x *xref) {
	for _, s := range o.elf.Sections() {
		if !s.Alloc() || s.Exec() || s.Type != elf.SHT_PROGBITS || !ownSection(s) {
			continue
		}
		b := s.Bytes()
		for off := 0; off+4 <= len(b); off += 4 {
			at := s.Addr + uint64(off)
			if v := at + uint64(int64(int32(elffile.U32(b[off:])))); o.elf.ExecAt(v) != nil {
				x.named.own = append(x.named.own, v)
			}
			if off+8 <= len(b) && o.elf.Kind() == elffile.KindExec && o.elf.ExecAt(elffile.U64(b[off:])) != nil {
				x.named.own = append(x.named.own, elffile.U64(b[off:]))
			}
		}
	}
}

// name notes the address of other code that an instruction of fn names.
func (c *codeScan) name(in *x86.Inst, code []byte, fn *Function) {
	v, ok := c.codeNamed(in, code)
	if !ok || c.o.elf.ExecAt(v) == nil || fn != nil && fn.Contains(v) {
		return
	}
	switch comparison(in, code) {
	case forEqual:
		c.named.equal = append(c.named.equal, v)
	case forOrder:
		c.named.ordered = append(c.named.ordered, v)
		fallthrough
	default:
		c.named.by = append(c.named.by, v)
	}
}

// codeNamed gives the address that an instruction may name: the one that it loads, what is in a word of addresses that it reads, or
// where addresses are fixed a constant.
func (c *codeScan) codeNamed(in *x86.Inst, code []byte) (v uint64, ok bool) {
	switch {
	case in.Flow != x86.FlowNext:
		return 0, false
	case in.RIPOff != 0 && in.Opcode == opLea:
		return in.RIPTarget, true
	case in.RIPOff != 0:
		_, v = c.o.throughSlot(in.RIPTarget)
		return v, v != 0
	case !c.fixed || in.Len < leastImmediate:
		return 0, false
	case in.Opcode == opLea, in.Opcode == opGroup32, in.Opcode < 0x40 && in.Opcode&7 == 5:
		return uint64(elffile.U32(code[in.Len-4:])), true
	}
	return immediate(in, code)
}

// A compared says what a named address is compared for.
type compared uint8

const (
	notCompared compared = iota
	forEqual
	forOrder
)

// How far, in instructions, an address is followed to a comparison, and that to what asks for its outcome.
const (
	comparedSoon = 10
	askedSoon    = 3
)

// comparison reports what the address is compared for that an instruction names, or loads for one of those behind it.
func comparison(in *x86.Inst, code []byte) compared {
	reg, loads := loaded(in, code)
	if !loads {
		return outcome(in, code)
	}
	for range comparedSoon {
		code = code[in.Len:]
		next, err := x86.Decode(code, in.End())
		if err != nil || next.Flow != x86.FlowNext && next.Flow != x86.FlowCond {
			return notCompared
		}
		if p, ok := operandOf(code, &next); ok {
			switch uses := p.reg == reg || p.isReg && p.rm == reg; {
			case uses && subtracts(&next):
				return outcome(&next, code)
			case p.reg == reg && (next.Opcode == opLea || next.Opcode == opMovLoad):
				return notCompared
			}
		}
		in = &next
	}
	return notCompared
}

// loaded gives the register into which an instruction loads what it names, if that is what it does.
func loaded(in *x86.Inst, code []byte) (reg byte, ok bool) {
	if in.Opcode&^7 == opMovReg {
		if reg = byte(in.Opcode & 7); in.Prefix&x86.PrefixRexB != 0 {
			reg |= 8
		}
		return reg, true
	}
	p, ok := operandOf(code, in)
	return p.reg, ok && (in.Opcode == opLea && in.RIPOff != 0 || in.Opcode == opMovLoad)
}

// outcome reports what is asked behind an instruction that compares or subtracts.
func outcome(in *x86.Inst, code []byte) compared {
	switch {
	case in.Opcode == opMovMem || in.Opcode == opPushImm:
		return notCompared
	case !subtracts(in) && in.Opcode != opCmpImm && in.Opcode != opGroup32:
		return forOrder // a sum that leaves a distance
	}
	for range askedSoon {
		code = code[in.Len:]
		next, err := x86.Decode(code, in.End())
		if err != nil {
			break
		}
		switch op := next.Opcode; {
		case op>>4 == opJccShort>>4, op>>4 == opJccNear>>4, op>>4 == 0x14, op>>4 == 0x19: // jcc, cmovcc, setcc
			if op&^1&15 == 4 {
				return forEqual
			}
			return forOrder
		}
		in = &next
	}
	return forEqual
}

// subtracts reports whether an instruction compares or subtracts its operands, a register among them.
func subtracts(in *x86.Inst) bool {
	switch in.Opcode {
	case 0x29, 0x2B, 0x39, 0x3B:
		return true
	}
	return false
}
