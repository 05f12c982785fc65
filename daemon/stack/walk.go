package stack

import (
	"encoding/binary"
	"errors"

	"culprit/daemon/arch"
	"culprit/daemon/image"
	"culprit/daemon/image/unwind"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// Detours are where threads are led that come to a probe.
type Detours interface {
	// Holds reports whether an address lies in memory that probes run in.
	Holds(pc uint64) bool
	// Leave puts a thread that is inside a trampoline back to the instruction that it was about to do; false if it cannot be told where.
	Leave(r *unwind.Regs) bool
	// LeaveCall leads from a function that a probe has called back into its trampoline; false if the thread does not return from one.
	LeaveCall(r *unwind.Regs, mem Reader) bool
}

// A Walker walks the stacks of one process.
type Walker struct {
	Code    *program.Program
	Detours Detours // of probes in the process
	// Live reads what is in the process now, for what a sample of a running thread does not have; nil if that is not to be looked at.
	Live Reader
}

// A Frame is one activation on a thread's stack.
type Frame struct {
	Func *program.Function // nil where the code is not known
	PC   uint64            // next instruction (of a caller: where the call returns to)
	CFA  uint64            // stack pointer before the call that made the activation; its entry saw cfa-8
}

// maxFrames bounds a stack walk: deeper frames are not looked at.
const maxFrames = 256

// A Reader reads 8 bytes of a stopped or running process.
type Reader func(addr uint64) (uint64, error)

var errUnmapped = errors.New("address is outside of the stack that was read")

// Cached reads words from a copy of the top of a stack and asks further only where that ends.
func Cached(at uint64, mem []byte, more Reader) Reader {
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

// Words reads the memory of a process word by word.
func Words(p *process.Process) Reader {
	return func(addr uint64) (uint64, error) {
		var b [8]byte
		err := p.ReadMem(process.Addr(addr), b[:])
		return binary.LittleEndian.Uint64(b[:]), err
	}
}

// Walk returns the activations of a thread, innermost first. It ends where the frames end or cannot be followed.
func (s *Walker) Walk(r unwind.Regs, mem Reader) (frames []Frame) {
	s.WalkEach(r, mem, func(fr Frame, _ unwind.Regs) bool {
		frames = append(frames, fr)
		return true
	})
	return frames
}

// WalkEach hands each activation to visit, with what is known of its registers, until that says that it was the last one wanted.
func (s *Walker) WalkEach(r unwind.Regs, mem Reader, visit func(Frame, unwind.Regs) bool) {
	s.follow(r, mem, true, s.Code.FunctionAt, fileCode, visit)
}

// follow is WalkEach with what it goes by: known finds functions and may know none, code reads what lies before an address that may be one
// behind a call; sample says that the way may lead through code that the program generates.
func (s *Walker) follow(r unwind.Regs, mem Reader, sample bool, known func(addr uint64) *program.Function, code codeReader, visit func(Frame, unwind.Regs) bool) {
	r.Exact = true
	if s.Detours.Holds(r.RIP) && !s.Detours.Leave(&r) {
		return
	}
	for range maxFrames {
		if s.Detours.LeaveCall(&r, mem) && !s.Detours.Leave(&r) {
			return
		}
		o, bias := s.Code.TablesAt(r.LookupPC())
		fr := Frame{Func: known(r.LookupPC()), PC: r.RIP}
		if o == nil && fr.Func == nil {
			caller, ok := r, false
			if sample {
				caller, ok = s.beyond(r, mem, code)
			}
			if !ok {
				return
			}
			r, mem = caller, s.further(mem)
			continue
		}
		caller, cfa, err := unwindIn(o, r, bias, mem)
		if errors.Is(err, unwind.ErrNoCFI) && sample {
			if further, at, ok := s.generated(r, mem); ok {
				caller, cfa, err = further, at, nil
			}
		}
		if o == nil && err != nil {
			visit(fr, r)
			return
		}
		if err != nil && !errors.Is(err, unwind.ErrStackEnd) && fr.Func != nil && s.findFrame(fr.Func, &r, mem) {
			caller, cfa, err = o.Unwind(r.LookupPC()-bias, r, bias, mem)
		}
		if err != nil && !errors.Is(err, unwind.ErrStackEnd) {
			var ok bool
			if caller, cfa, ok = s.guess(r, fr.Func, mem, code); !ok {
				visit(fr, r)
				return
			}
			err = nil
		}
		fr.CFA = cfa
		if !visit(fr, r) || err != nil || caller.RIP == 0 || caller.RSP <= r.RSP && !caller.Exact {
			return
		}
		r = caller
	}
}

// unwindIn makes a step by the tables of an object, if there is one.
func unwindIn(o *image.Object, r unwind.Regs, bias uint64, mem Reader) (caller unwind.Regs, cfa uint64, err error) {
	if o == nil {
		return caller, 0, unwind.ErrNoCFI
	}
	return o.Unwind(r.LookupPC()-bias, r, bias, mem)
}

// findFrame finds the frame of a function whose frame pointer is not known, by the first return address on the stack that lies
// behind a call of this very function. Below it the frame pointer was pushed.
func (s *Walker) findFrame(f *program.Function, r *unwind.Regs, mem Reader) bool {
	if r.Lost&(1<<arch.RBP) == 0 {
		return false
	}
	for a := r.RSP &^ 7; a < r.RSP+8*guessWords; a += 8 {
		ret, err := mem(a + 8)
		if err != nil {
			return false
		}
		if s.behindCallOf(f, ret, mem) {
			r.RBP, r.Lost = a, r.Lost&^(1<<arch.RBP)
			return true
		}
	}
	return false
}

// behindCallOf reports whether the instruction before an address calls the function: directly, or through a word of the global
// offset table.
func (s *Walker) behindCallOf(f *program.Function, ret uint64, mem Reader) bool {
	o := s.Code.ObjectAt(ret)
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
	if code[0] != arch.Indirect || code[1] != arch.CallThroughTable {
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
func (s *Walker) behindCall(ret uint64, read codeReader) bool {
	return s.behind(ret, read, arch.EndsInCall)
}

// behind reports whether the code before an address may end in such a call.
func (s *Walker) behind(ret uint64, read codeReader, such func(code []byte) bool) bool {
	o := s.Code.ObjectAt(ret)
	if o == nil {
		return false
	}
	code := read(o, ret)
	return code != nil && such(code)
}
