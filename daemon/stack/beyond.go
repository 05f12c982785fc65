package stack

import (
	"encoding/binary"
	"errors"

	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
)

// Code that a library generates, as for a regular expression, has no tables, no name and mostly no frame pointer. Who called it is found on the stack: it
// comes back to behind an indirect call, and from there tables lead all the way to where the thread began. A word that only looks like that hardly
// leads there. Only samples are followed so, and not those of programs that run another language: there the one that is found runs all of it.

// beyond are the registers of the nearest caller of code that is not known. What such code leaves in the others is not known.
func (s *Walker) beyond(r unwind.Regs, mem Reader, code codeReader) (caller unwind.Regs, ok bool) {
	if s.Code.Generates() || s.Code.Interprets() != "" {
		return r, false
	}
	for a := r.RSP &^ 7; a < r.RSP+8*guessWords; a += 8 {
		ret, err := mem(a)
		if err != nil {
			return r, false
		}
		if !s.behind(ret, code, arch.EndsInIndirectCall) || s.callsFile(ret, mem, code) {
			continue
		}
		if s.Live != nil {
			if now, err := s.Live(a); err != nil || now != ret {
				continue // the thread has come back meanwhile
			}
		}
		caller = unwind.Regs{RIP: ret, RSP: a + 8, Lost: arch.AllRegisters &^ (1 << arch.RSP)}
		if s.leadsToEnd(caller, s.further(mem)) {
			return caller, true
		}
	}
	return r, false
}

// callsFile reports whether the call before an address goes through a word at a distance from the instruction that has an address in a file.
func (s *Walker) callsFile(ret uint64, mem Reader, read codeReader) bool {
	code := read(s.Code.ObjectAt(ret), ret)[arch.LongestCall-6:]
	if code[0] != arch.Indirect || code[1] != arch.CallThroughTable {
		return false
	}
	to, err := s.further(mem)(ret + uint64(int64(int32(binary.LittleEndian.Uint32(code[2:])))))
	return err == nil && s.Code.ObjectAt(to) != nil
}

// further reads what a sample has, and else what is there now: a library may keep more on the stack of its caller than a sample takes.
func (s *Walker) further(mem Reader) Reader {
	if s.Live == nil {
		return mem
	}
	return func(addr uint64) (uint64, error) {
		if v, err := mem(addr); err == nil {
			return v, nil
		}
		return s.Live(addr)
	}
}

// leadsToEnd reports whether tables lead from an activation to the one that its thread began with.
func (s *Walker) leadsToEnd(r unwind.Regs, mem Reader) bool {
	for range maxFrames {
		o, bias := s.Code.TablesAt(r.LookupPC())
		caller, _, err := unwindIn(o, r, bias, mem)
		if f := s.Code.FunctionAt(r.LookupPC()); err != nil && !errors.Is(err, unwind.ErrStackEnd) && f != nil && s.findFrame(f, &r, mem) {
			caller, _, err = unwindIn(o, r, bias, mem)
		}
		switch {
		case errors.Is(err, unwind.ErrStackEnd):
			return true
		case err != nil || caller.RSP <= r.RSP || caller.RIP == 0:
			return false
		}
		r = caller
	}
	return false
}
