package stack

import (
	"encoding/binary"
	"errors"

	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// Scan is how much of a stack is searched for addresses inside code that is about to change or to be freed, where the
// stack cannot be walked to its end.
const Scan = 64 << 10

// stackTop is how much of a stack is read at once for a walk that does not end in what was read with the others: most stacks are shallow.
const stackTop = 4 << 10

// A Walk is what the tables say of the stack of a stopped thread. It is the same as long as the registers, the part of the stack that was
// looked at, and the objects of the program are.
type Walk struct {
	From   unwind.Regs // the registers of the thread
	Looked []byte      // the part of the stack, from the stack pointer on; nil if more than that counted

	Kept    []uint64   // PCs that signal frames keep
	Frames  []RawFrame // innermost first
	Guesses bool       // the tables do not tell all of these
	End     uint64     // stack pointer of the last frame that tables told
	Whole   bool       // that is at the end of the stack; else the tables did not go on there
}

// A RawFrame is an activation of a function that nobody has looked for yet: At is the address to find it by, for the others see Frame.
type RawFrame struct{ At, PC, CFA uint64 }

// A Source is a process whose memory is read: one that is stopped, or one that runs.
type Source interface {
	ReadMem(at process.Addr, buf []byte) error
	ReadSome(at process.Addr, buf []byte) int
}

// A Memory reads the stack of a thread, more of it at a time the further the walk comes.
type Memory struct {
	from Source
	at   uint64 // of the first word
	top  []byte
	all  bool // there is no more of it
	used int  // bytes of top that were looked at
	far  bool // something else was read
}

// NewMemory reads the stack of a thread. top is what was read of it before, from the stack pointer on, if anything was.
func NewMemory(from Source, th *process.Stopped, top []byte) *Memory {
	return &Memory{from: from, at: arch.SP(&th.Regs) &^ 7, top: top}
}

func (m *Memory) read(addr uint64) (uint64, error) {
	off := addr - m.at
	if addr >= m.at && off+8 <= Scan && off+8 > uint64(len(m.top)) && !m.all {
		m.grow(int(off) + 8)
	}
	if addr >= m.at && off+8 <= uint64(len(m.top)) {
		m.used = max(m.used, int(off)+8)
		return binary.LittleEndian.Uint64(m.top[off:]), nil
	}
	m.far = true
	return readerOf(m.from)(addr)
}

// grow reads at least so many bytes, if there are as many.
func (m *Memory) grow(n int) {
	size := max(stackTop, len(m.top))
	for size < n {
		size *= 4
	}
	buf := make([]byte, min(size, Scan))
	got := m.from.ReadSome(process.Addr(m.at), buf)
	m.all = got < len(buf)
	if got > len(m.top) {
		m.top = buf[:got]
	}
}

// looked is a copy of what was looked at, nil if that is not all on the stack.
func (m *Memory) looked() []byte {
	if m.far {
		return nil
	}
	return append(make([]byte, 0, m.used), m.top[:m.used]...)
}

// Stopped walks the stack of a thread that is stopped, or sleeps.
func (s *Walker) Stopped(from unwind.Regs, m *Memory) *Walk {
	k := &Walk{From: from}
	ours, guesses := s.byTables(k, m.read)
	k.Guesses = guesses
	if !ours { // else it depends on what is patched
		k.Looked = m.looked()
	}
	return k
}

// GuessRest adds what the tables do not tell: callers that are guessed. Nobody may wait for functions to be looked for, or decoded.
func (s *Walker) GuessRest(k *Walk, m *Memory) {
	k.Frames, k.Guesses = nil, false
	known := func(uint64) *program.Function { return nil }
	s.follow(k.From, m.read, false, known, m.code, func(fr Frame, r unwind.Regs) bool {
		k.Frames = append(k.Frames, RawFrame{r.LookupPC(), fr.PC, fr.CFA})
		return true
	})
	k.Looked = nil // more than that was looked at
}

// code reads what lies before an address, from the memory of the process where the file was not read: calls are never changed.
func (m *Memory) code(o *program.Object, ret uint64) []byte {
	if b := o.CodeRead(ret-o.Bias-arch.LongestCall, ret-o.Bias); b != nil {
		return b
	}
	b := make([]byte, arch.LongestCall)
	if m.from.ReadMem(process.Addr(ret-arch.LongestCall), b) != nil {
		return nil
	}
	return b
}

// byTables walks as far as the tables tell. ours says that the way led through memory of ours, guesses that there are more activations.
func (s *Walker) byTables(k *Walk, mem Reader) (ours, guesses bool) {
	r := k.From
	r.Exact = true
	following := true // the frames are the activations
	if s.Detours.Holds(r.RIP) {
		ours, following = true, s.Detours.Leave(&r)
	}
	for range maxFrames {
		if s.Detours.LeaveCall(&r, mem) {
			k.Kept, ours = append(k.Kept, r.RIP), true
			following = s.Detours.Leave(&r) && following
		}
		k.End = r.RSP
		o, bias := s.Code.TablesAt(r.LookupPC())
		if o == nil {
			return ours, false
		}
		caller, cfa, err := o.Unwind(r.LookupPC()-bias, r, bias, mem)
		ended := errors.Is(err, unwind.ErrStackEnd) || err == nil && caller.RIP == 0
		if err != nil && !ended {
			return ours, following
		}
		if following {
			k.Frames = append(k.Frames, RawFrame{r.LookupPC(), r.RIP, cfa})
		}
		if k.Whole = ended; ended {
			return ours, false
		}
		following = following && (caller.RSP > r.RSP || caller.Exact)
		if caller.Exact {
			k.Kept = append(k.Kept, caller.RIP)
			if s.Detours.Holds(caller.RIP) {
				ours = true
				following = !s.Detours.Leave(&caller) && following
			}
		}
		ours = ours || s.Detours.Holds(caller.RIP)
		r = caller
	}
	k.End = r.RSP
	return ours, false
}

// readerOf reads words of a process.
func readerOf(from Source) Reader {
	return func(addr uint64) (uint64, error) {
		var b [8]byte
		err := from.ReadMem(process.Addr(addr), b[:])
		return binary.LittleEndian.Uint64(b[:]), err
	}
}
