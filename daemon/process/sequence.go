package process

// A Sequence is a restartable sequence (rseq(2)): code of Length bytes at Start. A thread that is preempted there goes on at Abort.
type Sequence struct{ Start, Length, Abort uint64 }

// Sequences are the restartable sequences that threads are in, or were in last: the kernel forgets one only when the thread is preempted
// behind it. So each stop shows some of those that the program uses, wherever it keeps their descriptors.
func (w *World) Sequences() (seen []Sequence) {
	if w.over {
		return nil
	}
	pieces := w.descriptorWords()
	if w.ReadPieces(pieces) != nil {
		return nil
	}
	for _, p := range pieces {
		if at := le64(p.Buf); p.Read && at != 0 {
			if s, ok := w.sequenceAt(Addr(at)); ok && s.Length > 0 {
				seen = append(seen, s)
			}
		}
	}
	return seen
}

// An rseqArea is where a thread has told the kernel that it says in which sequence it is. It cannot tell another place without taking that
// back, which C libraries never do.
type rseqArea struct {
	fs uint64
	at Addr
}

// descriptorWords are the words in which the threads say where the descriptor of their sequence is.
func (w *World) descriptorWords() (words []Piece) {
	known := make(map[int]rseqArea, len(w.threads))
	all := make([]byte, 8*len(w.threads))
	for _, t := range w.threads {
		tr := w.s.threads[t.TID]
		if tr == nil || tr.phase != stopped || tr.adrift {
			continue
		}
		area, ok := w.s.p.areas[t.TID]
		if !ok || area.fs != tr.regs.Fs_base {
			area = rseqArea{tr.regs.Fs_base, ptraceRseq(tr.tid)}
		}
		if area.at == 0 {
			continue // it may tell a place later
		}
		known[t.TID] = area
		words = append(words, Piece{Addr: area.at + 8, Buf: all[:8:8]})
		all = all[8:]
	}
	w.s.p.areas = known
	return words
}

// inRseq: a restartable sequence would forget that it was interrupted once the thread has been elsewhere.
func (w *World) inRseq(tr *tracee) bool {
	s, ok := w.sequence(tr)
	return !ok || tr.regs.Rip-s.Start < s.Length
}

// sequence is the one that a thread has entered last, of no length if it is in none; ok is false where that cannot be read.
func (w *World) sequence(tr *tracee) (s Sequence, ok bool) {
	area := ptraceRseq(tr.tid)
	if area == 0 {
		return s, true
	}
	var b [8]byte
	if w.s.p.readText(area+8, b[:]) != nil {
		return s, false
	}
	if le64(b[:]) == 0 {
		return s, true
	}
	return w.sequenceAt(Addr(le64(b[:])))
}

// sequenceAt reads a descriptor.
func (w *World) sequenceAt(at Addr) (s Sequence, ok bool) {
	var cs [32]byte // version, flags, start, length, abort
	if w.s.p.readText(at, cs[:]) != nil {
		return s, false
	}
	return Sequence{le64(cs[8:]), le64(cs[16:]), le64(cs[24:])}, true
}
