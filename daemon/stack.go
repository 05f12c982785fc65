package daemon

import (
	"encoding/binary"
	"errors"

	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/trampoline"
)

// A frame is one activation on a thread's stack.
type frame struct {
	f   *program.Function // nil where the code is not known
	pc  uint64            // next instruction (of a caller: where the call returns to)
	cfa uint64            // stack pointer before the call that made the activation; its entry saw cfa-8
}

// maxFrames bounds a stack walk: deeper frames are not looked at.
const maxFrames = 256

// A memReader reads 8 bytes of a stopped or running process.
type memReader func(addr uint64) (uint64, error)

var errUnmapped = errors.New("address is outside of the stack that was read")

// cachedStack reads words from a copy of the top of a stack and asks further only where that ends.
func cachedStack(at uint64, mem []byte, more memReader) memReader {
	return func(addr uint64) (uint64, error) {
		if off := addr - at; addr >= at && off+8 <= uint64(len(mem)) {
			return binary.LittleEndian.Uint64(mem[off:]), nil
		}
		if more == nil {
			return 0, errUnmapped
		}
		return more(addr)
	}
}

// walk returns the activations of a thread, innermost first. It ends where the frames end or cannot be followed.
func (t *target) walk(r unwind.Regs, mem memReader) (frames []frame) {
	t.walkEach(r, mem, func(fr frame, _ unwind.Regs) bool {
		frames = append(frames, fr)
		return true
	})
	return frames
}

// walkEach hands each activation to visit, with what is known of its registers, until that says that it was the last one wanted.
func (t *target) walkEach(r unwind.Regs, mem memReader, visit func(frame, unwind.Regs) bool) {
	t.follow(r, mem, t.FunctionAt, fileCode, visit)
}

// follow is walkEach with what it goes by: known finds functions and may know none, code reads what lies before an address that may be one
// behind a call.
func (t *target) follow(r unwind.Regs, mem memReader, known func(addr uint64) *program.Function, code codeReader, visit func(frame, unwind.Regs) bool) {
	r.Exact = true
	if t.seg != nil && t.seg.Contains(r.RIP) && !t.outOfTrampoline(&r) {
		return
	}
	for range maxFrames {
		if t.outOfCall(&r, mem) && !t.outOfTrampoline(&r) {
			return
		}
		o, bias := t.TablesAt(r.LookupPC())
		if o == nil {
			return
		}
		fr := frame{f: known(r.LookupPC()), pc: r.RIP}
		caller, cfa, err := o.Unwind(r.LookupPC()-bias, r, bias, mem)
		if err != nil && !errors.Is(err, unwind.ErrStackEnd) && fr.f != nil && t.findFrame(fr.f, &r, mem) {
			caller, cfa, err = o.Unwind(r.LookupPC()-bias, r, bias, mem)
		}
		if err != nil && !errors.Is(err, unwind.ErrStackEnd) {
			var ok bool
			if caller, cfa, ok = t.guess(r, fr.f, mem, code); !ok {
				visit(fr, r)
				return
			}
			err = nil
		}
		fr.cfa = cfa
		if !visit(fr, r) || err != nil || caller.RIP == 0 || caller.RSP <= r.RSP && !caller.Exact {
			return
		}
		r = caller
	}
}

// outOfTrampoline puts a thread that is inside one of our trampolines back to the instruction that it was about to do.
func (t *target) outOfTrampoline(r *unwind.Regs) bool {
	orig, pushed, ok := t.text.Original(r.RIP)
	if ok {
		r.RIP = orig
		r.RSP += uint64(pushed)
	}
	return ok
}

// outOfCall leads from a function that a probe has called back into the probe's trampoline.
func (t *target) outOfCall(r *unwind.Regs, mem memReader) bool {
	if t.seg == nil || !t.seg.ReturnsFromCall(r.RIP) || r.Lost&(1<<arch.RBP) != 0 {
		return false
	}
	var frame [3]uint64 // where the probe goes on, rbp, rbx
	for i := range frame {
		var err error
		if frame[i], err = mem(r.RBP + uint64(8*i)); err != nil {
			return false
		}
	}
	if !t.seg.Contains(frame[0]) {
		return false
	}
	r.RIP, r.RSP, r.Exact = frame[0], r.RBP+trampoline.FrameArgs, true
	r.RBP, r.RBX = frame[1], frame[2]
	r.Lost &^= 1 << arch.RBX
	return true
}

// findFrame finds the frame of a function whose frame pointer is not known, by the first return address on the stack that lies
// behind a call of this very function. Below it the frame pointer was pushed.
func (t *target) findFrame(f *program.Function, r *unwind.Regs, mem memReader) bool {
	if r.Lost&(1<<arch.RBP) == 0 {
		return false
	}
	for a := r.RSP &^ 7; a < r.RSP+8*guessWords; a += 8 {
		ret, err := mem(a + 8)
		if err != nil {
			return false
		}
		if t.behindCallOf(f, ret, mem) {
			r.RBP, r.Lost = a, r.Lost&^(1<<arch.RBP)
			return true
		}
	}
	return false
}

// behindCallOf reports whether the instruction before an address calls the function: directly, or through a word of the global
// offset table.
func (t *target) behindCallOf(f *program.Function, ret uint64, mem memReader) bool {
	o := t.ObjectAt(ret)
	if o == nil || ret < o.Text {
		return false
	}
	code, err := o.Code(ret-o.Bias-6, ret-o.Bias)
	if err != nil || len(code) < 6 {
		return false
	}
	to := ret + uint64(int64(int32(binary.LittleEndian.Uint32(code[2:]))))
	if code[1] == arch.Call {
		return to == f.Addr()
	}
	if code[0] != 0xFF || code[1] != 0x15 {
		return false
	}
	to, err = mem(to)
	return err == nil && to == f.Addr()
}

// A codeReader gives the arch.LongestCall bytes of code before an address in an object, nil if it cannot.
type codeReader func(o *program.Object, ret uint64) []byte

// fileCode reads code from the file.
func fileCode(o *program.Object, ret uint64) []byte {
	code, err := o.Code(ret-o.Bias-arch.LongestCall, ret-o.Bias)
	if err != nil || len(code) < arch.LongestCall {
		return nil
	}
	return code
}

// behindCall reports whether the instruction before an address may be a call.
func (t *target) behindCall(ret uint64, read codeReader) bool {
	o := t.ObjectAt(ret)
	if o == nil {
		return false
	}
	code := read(o, ret)
	return code != nil && arch.EndsInCall(code)
}

// threadRegs are the registers of a stopped thread.
func threadRegs(s *process.Stopped) unwind.Regs {
	r := &s.Regs
	return unwind.Regs{RAX: r.Rax, RBX: r.Rbx, RCX: r.Rcx, RDX: r.Rdx, RSI: r.Rsi, RDI: r.Rdi, RBP: r.Rbp, RSP: r.Rsp,
		R8: r.R8, R9: r.R9, R10: r.R10, R11: r.R11, R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15, RIP: r.Rip, Exact: true}
}
