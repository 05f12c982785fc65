package image

import "culprit/trampoline/x86"

// mostAfterCall bounds the instructions that are looked at behind a system call. A wrapper of a C library has some twenty.
const mostAfterCall = 400

// FourthIsSpent reports whether r10, which holds the fourth argument of a system call, is of no use to anybody behind the syscall
// instruction that ends at ret: no way on from there reads it, and no caller counts on it, since the function writes it. (Where a
// compiler knows what a callee keeps, that is what the callee does not write anywhere.) What cannot be followed is not proven.
func (o *Object) FourthIsSpent(ret uint64) bool {
	f := o.FunctionAt(ret - syscallLength)
	if f == nil || !o.isSyscall(ret-syscallLength) || !o.overwritesFourth(f) {
		return false
	}
	seen := map[uint64]bool{}
	for todo := []uint64{ret}; len(todo) > 0; {
		at := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; seen[at] {
			continue
		}
		if seen[at] = true; len(seen) > mostAfterCall {
			return false
		}
		next, ok := o.beyondFourth(at)
		if !ok {
			return false
		}
		todo = append(todo, next...)
	}
	return true
}

// beyondFourth gives where control may go from an instruction with r10 as it was; not ok if it may be read there, or nobody knows.
func (o *Object) beyondFourth(at uint64) (next []uint64, ok bool) {
	in, code, ok := o.instructionAt(at)
	if !ok {
		return nil, false
	}
	touches, overwrites := in.Touches(x86.R10, code)
	switch {
	case overwrites && in.Flow == x86.FlowNext:
		return nil, true
	case touches:
		return nil, false
	}
	switch in.Flow {
	case x86.FlowNext:
		return []uint64{in.End()}, true
	case x86.FlowJump:
		return []uint64{in.Target}, true
	case x86.FlowCond, x86.FlowLoop, x86.FlowCall: // a callee may leave it as it is
		return []uint64{in.End(), in.Target}, true
	case x86.FlowRet:
		return nil, true
	}
	return nil, in.Opcode == opUD2
}

// overwritesFourth reports whether a function writes r10 anywhere.
func (o *Object) overwritesFourth(f *Function) bool {
	for _, r := range f.ranges() {
		for at := r.Lo; at < r.Hi; {
			in, code, ok := o.instructionAt(at)
			if !ok {
				break
			}
			if _, overwrites := in.Touches(x86.R10, code); overwrites {
				return true
			}
			at = in.End()
		}
	}
	return false
}

func (o *Object) isSyscall(at uint64) bool {
	in, _, ok := o.instructionAt(at)
	return ok && in.Opcode == opSyscall
}

// instructionAt decodes one instruction; code begins with its bytes.
func (o *Object) instructionAt(at uint64) (in x86.Inst, code []byte, ok bool) {
	s := o.elf.ExecAt(at)
	if s == nil {
		return in, nil, false
	}
	code, err := o.Code(at, min(at+x86.MaxLen, s.End()))
	if err != nil {
		return in, nil, false
	}
	in, err = x86.Decode(code, at)
	return in, code, err == nil && in.Len > 0 && in.Len <= len(code)
}
