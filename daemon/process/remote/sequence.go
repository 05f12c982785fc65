package remote

import "culprit/daemon/process/raw"

// A Sequence is a restartable sequence (rseq(2)): code of Length bytes at Start. A thread that is preempted there goes on at Abort.
type Sequence struct{ Start, Length, Abort uint64 }

// Sequences are the restartable sequences that threads are in, or were in last: the kernel forgets one only when the thread is preempted
// behind it. So each stop shows some of those that the program uses, wherever it keeps their descriptors.
func (w *Caller) Sequences() (seen []Sequence) {
	if w.over {
		return nil
	}
	pieces := w.descriptorWords()
	w.mem.ReadPieces(pieces)
	for _, p := range pieces {
		if at := raw.Uint64(p.Buf); p.Read && at != 0 {
			if s, ok := w.sequenceAt(raw.Addr(at)); ok && s.Length > 0 {
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
	at raw.Addr
}

// descriptorWords are the words in which the threads say where the descriptor of their sequence is.
func (w *Caller) descriptorWords() (words []raw.Piece) {
	known := make(map[int]rseqArea, len(w.threads))
	all := make([]byte, 8*len(w.threads))
	for _, t := range w.threads {
		tr := w.tracees[t.TID]
		if tr == nil || tr.Phase != raw.AtStop || tr.Adrift {
			continue
		}
		area, ok := w.known.areas[t.TID]
		if !ok || area.fs != tr.Regs.Fs_base {
			area = rseqArea{tr.Regs.Fs_base, raw.RseqArea(tr.TID)}
		}
		if area.at == 0 {
			continue // it may tell a place later
		}
		known[t.TID] = area
		words = append(words, raw.Piece{Addr: area.at + 8, Buf: all[:8:8]})
		all = all[8:]
	}
	w.known.areas = known
	return words
}

// inRseq: a restartable sequence would forget that it was interrupted once the thread has been elsewhere.
func (w *Caller) InRseq(tr *raw.Tracee) bool {
	s, ok := w.sequence(tr)
	return !ok || tr.Regs.Rip-s.Start < s.Length
}

// sequence is the one that a thread has entered last, of no length if it is in none; ok is false where that cannot be read.
func (w *Caller) sequence(tr *raw.Tracee) (s Sequence, ok bool) {
	area := raw.RseqArea(tr.TID)
	if area == 0 {
		return s, true
	}
	var b [8]byte
	if w.mem.Read(area+8, b[:]) != nil {
		return s, false
	}
	if raw.Uint64(b[:]) == 0 {
		return s, true
	}
	return w.sequenceAt(raw.Addr(raw.Uint64(b[:])))
}

// sequenceAt reads a descriptor.
func (w *Caller) sequenceAt(at raw.Addr) (s Sequence, ok bool) {
	var cs [32]byte // version, flags, start, length, abort
	if w.mem.Read(at, cs[:]) != nil {
		return s, false
	}
	return Sequence{raw.Uint64(cs[8:]), raw.Uint64(cs[16:]), raw.Uint64(cs[24:])}, true
}
