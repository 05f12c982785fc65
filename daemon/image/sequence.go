package image

import (
	"debug/elf"
	"slices"

	"culprit/daemon/image/elffile"
)

// Restartable sequences (rseq(2)) are code that the kernel knows by its address: a thread that is preempted in one goes on at its abort
// handler, so that what it has read is not written after somebody else has changed it. Instructions that have moved out of one are
// outside of it, and lose what they write. A descriptor says where a sequence is:
//
//	u32 version, flags; u64 start, length, abort
//
// Descriptors lie in sections of their own by convention (librseq, tcmalloc). Others are found by what lies before the abort handler.

const (
	descriptorSize = 32
	signatureSize  = 4          // of what lies before an abort handler; the kernel compares it with what the thread has registered
	usualSignature = 0x53053053 // what glibc registers
	beforeHandler  = 16         // bytes before an abort handler that need be no code: a signature, and what makes an instruction of it
)

// longestSequence is how long in bytes a sequence is at most that is found by its looks. Real ones have some dozen instructions.
const longestSequence = 1 << 16

// sequences are where an object has restartable sequences.
type sequences struct {
	bound  []Range  // bytes that stay what and where they are, sorted and apart
	aborts []uint64 // abort handlers, sorted
	named  []uint64 // the code that descriptors name, sorted
}

// InSequence reports whether any byte of [lo, hi) must stay what and where it is for a restartable sequence: it is part of one, of the
// signature before its abort handler, or ends the instruction before one. That writes where the descriptor is, and a thread that is
// preempted between it and the sequence is in none.
func (o *Object) InSequence(lo, hi uint64) bool {
	b := o.sequences().bound
	i, _ := slices.BinarySearchFunc(b, lo, func(r Range, a uint64) int {
		if r.Hi <= a {
			return -1
		}
		return 1
	})
	return i < len(b) && b[i].Lo < hi
}

// SequencesRead reports whether InSequence answers at once.
func (o *Object) SequencesRead() bool { return o.seqs.Done() }

func (o *Object) sequences() *sequences {
	q, _ := o.seqs.Get(o.elf.Name(), func() (*sequences, error) {
		q := &sequences{}
		for _, s := range o.elf.Sections() {
			switch {
			case !s.Alloc() || s.Exec() || s.TLS():
			case s.Name == "__rseq_cs":
				for at := s.Addr; at+descriptorSize <= s.Addr+s.FileSize; at += 8 {
					o.addSequence(q, at, false)
				}
			case s.Name == "__rseq_cs_ptr_array":
				for at := s.Addr; at+8 <= s.Addr+s.FileSize; at += 8 {
					if v, ok := o.loadedWord(at); ok {
						o.addSequence(q, v, false)
					}
				}
			case o.elf.Kind() == elffile.KindExec:
				o.scanForSequences(q, s)
			}
		}
		words := o.relocations().words
		for at := range words { // of an object without an address of its own: where a start is relocated, and an abort handler
			if _, abort := words[at+16]; abort && words[at+8] == 0 {
				o.addSequence(q, at-8, true)
			}
		}
		q.sort()
		return q, nil
	})
	if q == nil {
		return &sequences{}
	}
	return q
}

// scanForSequences finds descriptors among the words of data that the loader does not change.
func (o *Object) scanForSequences(q *sequences, s *elffile.Section) {
	if s.Type != elf.SHT_PROGBITS {
		return
	}
	b := s.Bytes()
	for off := -s.Addr & 7; off+descriptorSize <= uint64(len(b)); off += 8 {
		if d := b[off:]; elffile.U32(d) == 0 && elffile.U64(d[16:])-1 < longestSequence && elffile.U64(d[8:]) != 0 {
			o.addSequence(q, s.Addr+off, true)
		}
	}
}

// addSequence adds what the descriptor at addr says, if it can be one. signed says that only the usual signature makes it one.
func (o *Object) addSequence(q *sequences, addr uint64, signed bool) {
	head, _ := o.loadedWord(addr)
	start, _ := o.loadedWord(addr + 8)
	length, _ := o.loadedWord(addr + 16)
	abort, ok := o.loadedWord(addr + 24)
	code, handler := o.elf.ExecAt(start), o.elf.ExecAt(abort)
	if !ok || start == 0 || code == nil || handler == nil || length == 0 || length > code.End()-start || abort-start < length || uint32(head) != 0 {
		return
	}
	if signed {
		if b := handler.Slice(abort-signatureSize, signatureSize); b == nil || elffile.U32(b) != usualSignature || length > longestSequence {
			return
		}
	}
	q.bound = append(q.bound, Range{start - 1, start + length}, Range{abort - signatureSize, abort})
	q.aborts = append(q.aborts, abort)
	q.named = append(q.named, start, abort)
}

// loadedWord gives 8 bytes of data as the loader leaves them, at the addresses of the file.
func (o *Object) loadedWord(addr uint64) (uint64, bool) {
	r := o.relocations()
	if v, ok := r.words[addr]; ok {
		return v, true
	}
	if s, ok := r.slots[addr]; ok && s.target != 0 {
		return s.target, true
	}
	return o.elf.WordAt(addr)
}

// sort puts what was found in order, and joins what overlaps.
func (q *sequences) sort() {
	for _, l := range []*[]uint64{&q.aborts, &q.named} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	q.bound = disjoint(q.bound)
}

// notAsked takes what descriptors of sequences name from the tables that a handler of faults may know code by.
func (o *Object) notAsked(x *xref) {
	described := func(v uint64) bool { return has(o.sequences().named, v) }
	x.named.tabled = slices.DeleteFunc(x.named.tabled, described)
	x.named.own = slices.DeleteFunc(x.named.own, described)
}

// cutAtHandlers cuts code where abort handlers begin: what lies before one need be no instruction that ends there.
func (o *Object) cutAtHandlers(r Range) (pieces []Range) {
	for _, a := range within(o.sequences().aborts, Range{r.Lo + 1, r.Hi}) {
		pieces = append(pieces, Range{r.Lo, a})
		r.Lo = a
	}
	return append(pieces, r)
}
