package process

// A Sequence is a restartable sequence (rseq(2)): code of Length bytes at Start. A thread that is preempted there goes on at Abort.
type Sequence struct{ Start, Length, Abort uint64 }

// Sequences are the restartable sequences that threads are in, or were in last: the kernel forgets one only when the thread is preempted
// behind it. So each stop shows some of those that the program uses, wherever it keeps their descriptors.
func (w *World) Sequences() (seen []Sequence) {
	if w.over {
		return nil
	}
	for _, t := range w.threads {
		if tr := w.s.threads[t.TID]; tr != nil && tr.phase == stopped && !tr.adrift {
			if s, ok := w.sequence(tr); ok && s.Length > 0 {
				seen = append(seen, s)
			}
		}
	}
	return seen
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
	var cs [32]byte // version, flags, start, length, abort
	if w.s.p.readText(Addr(le64(b[:])), cs[:]) != nil {
		return s, false
	}
	return Sequence{le64(cs[8:]), le64(cs[16:]), le64(cs[24:])}, true
}
