package image

import "culprit/trampoline/x86"

// maxStub is how far into a stub of the procedure linkage table its jump is looked for: endbr64 (4), then jmp *slot(%rip).
const maxStub = 3

// pltSlot gives the slot through which the stub at addr jumps; ok is false if addr is no stub.
func (o *Object) pltSlot(addr uint64) (slot uint64, ok bool) {
	s := o.elf.ExecAt(addr)
	if s == nil || !s.IsPLT() {
		return 0, false
	}
	code := s.Slice(addr, min(16, s.End()-addr))
	for range maxStub {
		in, err := x86.Decode(code, addr)
		if err != nil {
			return 0, false
		}
		if in.Flow == x86.FlowJumpInd && in.RIPOff != 0 {
			return in.RIPTarget, true
		}
		if in.Flow != x86.FlowNext || in.Len >= len(code) {
			return 0, false
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
	return 0, false
}

// throughSlot resolves a transfer through a word that the loader fills: the symbol that is imported, and the address if it
// lies in this object. Of an indirect function the address is not known before it runs.
func (o *Object) throughSlot(word uint64) (symbol string, target uint64) {
	s, ok := o.relocations().slots[word]
	if !ok {
		return "", o.relocations().words[word]
	}
	if s.ifunc {
		if f := o.functions().startsAt(s.target); s.symbol == "" && f != nil {
			return f.Linkage, 0
		}
		return s.symbol, 0
	}
	return s.symbol, s.target
}

// importOf names the symbol behind a stub, "" if addr is none.
func (o *Object) importOf(addr uint64) string {
	word, ok := o.pltSlot(addr)
	if !ok {
		return ""
	}
	name, _ := o.throughSlot(word)
	return name
}
