package daemon

import (
	"encoding/binary"
	"errors"

	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// A stackWalk is what the tables say of the stack of a stopped thread. It is the same as long as the registers, the part of the stack that was
// looked at, and the objects of the target are.
type stackWalk struct {
	from   unwind.Regs
	looked []byte // the part of the stack, from the stack pointer on; nil if more than that counted

	kept    []uint64   // PCs that signal frames keep
	frames  []rawFrame // innermost first
	guesses bool       // the tables do not tell all of these
	end     uint64     // stack pointer of the last frame that tables told
	whole   bool       // that is at the end of the stack; else the tables did not go on there
}

// A rawFrame is an activation of a function that nobody has looked for yet: at is the address to find it by, for the others see frame.
type rawFrame struct{ at, pc, cfa uint64 }

// A stackMem reads the stack of a stopped thread, more of it at a time the further the walk comes.
type stackMem struct {
	w    *process.World
	at   uint64 // of the first word
	top  []byte
	all  bool // there is no more of it
	used int  // bytes of top that were looked at
	far  bool // something else was read
}

func (m *stackMem) read(addr uint64) (uint64, error) {
	off := addr - m.at
	if addr >= m.at && off+8 <= stackScan && off+8 > uint64(len(m.top)) && !m.all {
		m.grow(int(off) + 8)
	}
	if addr >= m.at && off+8 <= uint64(len(m.top)) {
		m.used = max(m.used, int(off)+8)
		return binary.LittleEndian.Uint64(m.top[off:]), nil
	}
	m.far = true
	return worldReader(m.w)(addr)
}

// grow reads at least so many bytes, if there are as many.
func (m *stackMem) grow(n int) {
	size := max(stackTop, len(m.top))
	for size < n {
		size *= 4
	}
	buf := make([]byte, min(size, stackScan))
	got := m.w.ReadSome(process.Addr(m.at), buf)
	m.all = got < len(buf)
	if got > len(m.top) {
		m.top = buf[:got]
	}
}

// looked is a copy of what was looked at, nil if that is not all on the stack.
func (m *stackMem) looked() []byte {
	if m.far {
		return nil
	}
	return append(make([]byte, 0, m.used), m.top[:m.used]...)
}

// walkStopped walks the stack of a stopped thread.
func (t *target) walkStopped(from unwind.Regs, m *stackMem) *stackWalk {
	k := &stackWalk{from: from}
	ours, guesses := t.byTables(k, m.read)
	k.guesses = guesses
	if !ours { // else it depends on what is patched
		k.looked = m.looked()
	}
	return k
}

// guessRest adds what the tables do not tell: callers that are guessed. Nobody may wait for functions to be looked for, or decoded.
func (t *target) guessRest(k *stackWalk, m *stackMem) {
	k.frames, k.guesses = nil, false
	known := func(uint64) *program.Function { return nil }
	t.follow(k.from, m.read, known, m.code, func(fr frame, r unwind.Regs) bool {
		k.frames = append(k.frames, rawFrame{r.LookupPC(), fr.pc, fr.cfa})
		return true
	})
	k.looked = nil // more than that was looked at
}

// code reads what lies before an address, from the memory of the target where the file was not read: calls are never changed.
func (m *stackMem) code(o *program.Object, ret uint64) []byte {
	if b := o.CodeRead(ret-o.Bias-arch.LongestCall, ret-o.Bias); b != nil {
		return b
	}
	b := make([]byte, arch.LongestCall)
	if m.w.ReadMem(process.Addr(ret-arch.LongestCall), b) != nil {
		return nil
	}
	return b
}

// byTables walks as far as the tables tell. ours says that the way led through memory of ours, guesses that there are more activations.
func (t *target) byTables(k *stackWalk, mem memReader) (ours, guesses bool) {
	r := k.from
	r.Exact = true
	following := true // the frames are the activations
	if t.seg != nil && t.seg.Contains(r.RIP) {
		ours, following = true, t.outOfTrampoline(&r)
	}
	for range maxFrames {
		if t.outOfCall(&r, mem) {
			k.kept, ours = append(k.kept, r.RIP), true
			following = t.outOfTrampoline(&r) && following
		}
		k.end = r.RSP
		o, bias := t.TablesAt(r.LookupPC())
		if o == nil {
			return ours, false
		}
		caller, cfa, err := o.Unwind(r.LookupPC()-bias, r, bias, mem)
		ended := errors.Is(err, unwind.ErrStackEnd) || err == nil && caller.RIP == 0
		if err != nil && !ended {
			return ours, following
		}
		if following {
			k.frames = append(k.frames, rawFrame{r.LookupPC(), r.RIP, cfa})
		}
		if k.whole = ended; ended {
			return ours, false
		}
		following = following && (caller.RSP > r.RSP || caller.Exact)
		if caller.Exact {
			k.kept = append(k.kept, caller.RIP)
			if t.seg != nil && t.seg.Contains(caller.RIP) {
				ours = true
				following = !t.outOfTrampoline(&caller) && following
			}
		}
		ours = ours || t.seg != nil && t.seg.Contains(caller.RIP)
		r = caller
	}
	k.end = r.RSP
	return ours, false
}
