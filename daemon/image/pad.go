package image

import "culprit/trampoline/x86"

// PadEnd gives the end of the padding (nop, int3) that starts at addr; addr itself if there is none. Padding ends before
// anything that is the start of a function, a symbol, or the target of a jump, and before what must stay (Stays). Whether addr is reached by falling through is
// for the caller to know: behind a ret or a jmp it is not.
func (o *Object) PadEnd(addr uint64) uint64 {
	s := o.elf.ExecAt(addr)
	if s == nil {
		return addr
	}
	var w *Flow
	if f := o.FunctionAt(addr); f != nil {
		if w = o.flowOf(f); w == nil || w.Hidden != "" {
			return addr
		}
	}
	code := s.Slice(addr, s.End()-addr)
	at := addr
	for len(code) > 0 && !o.stopsPadding(at, w) {
		in, err := x86.Decode(code, at)
		if err != nil || !(in.Nop || in.Opcode == opInt3) || o.targetInside(in, w) {
			break
		}
		at += uint64(in.Len)
		code = code[in.Len:]
	}
	return at
}

// stopsPadding reports whether something starts at addr or leads there.
func (o *Object) stopsPadding(addr uint64, w *Flow) bool {
	if o.functions().startsAt(addr) != nil || o.Stays(w, addr, addr+1) != "" || has(o.functions().labels, addr) {
		return true
	}
	if w != nil {
		if w.Targets.Has(addr) {
			return true
		}
	}
	x := o.xref()
	return has(x.into, addr) || has(x.taken, addr) || has(x.pads, addr) || has(x.calls, addr)
}

// targetInside reports whether something leads between the bytes of in.
func (o *Object) targetInside(in x86.Inst, w *Flow) bool {
	for a := in.Addr + 1; a < in.Addr+uint64(in.Len); a++ {
		if o.stopsPadding(a, w) {
			return true
		}
	}
	return false
}
