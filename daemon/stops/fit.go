package stops

import (
	"encoding/binary"
	"fmt"

	"culprit/daemon/arch"
	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// What a program must be like for trampolines to be right in it: asked of the stopped process before they are put in.

// CheckThreadPointers makes sure that trampolines can tell threads apart by the word at %fs:0, which the x86-64 ABI makes
// the thread pointer itself.
func CheckThreadPointers(w *process.World) error {
	words := make([]process.Piece, len(w.Threads()))
	for i, th := range w.Threads() {
		words[i] = process.Piece{Addr: process.Addr(arch.ThreadPointer(&th.Regs)), Buf: make([]byte, 8)}
	}
	if err := w.ReadPieces(words); err != nil {
		return err
	}
	for i, th := range w.Threads() {
		if fs := arch.ThreadPointer(&th.Regs); fs == 0 || !words[i].Read || binary.LittleEndian.Uint64(words[i].Buf) != fs {
			return &process.Unsupported{What: fmt.Sprintf("a program whose thread %d keeps no thread pointer at %%fs:0 (a pure Go program, or one without a C library)", th.TID),
				Needs: "a C library's thread control blocks"}
		}
	}
	return nil
}

// CheckPeers refuses a program whose memory other processes run on. They would run what is in the text, under the thread pointers of those
// that made them: their work would count as that of others, and two of them would write to one block at a time.
func CheckPeers(w *process.World) error {
	if n := w.Peers(); n > 0 {
		return &process.Unsupported{What: fmt.Sprintf("a program that shares its memory with %d other processes (clone with CLONE_VM)", n), Needs: "threads, or memory of its own"}
	}
	return nil
}

// CheckCancels refuses a program that cancels threads at any instruction and does something then, such as to unlock a mutex. A thread that is
// cancelled in a trampoline has no frame there that an unwinder knows: destructors and cleanup handlers would not run.
func CheckCancels(code *program.Program) error {
	for _, o := range code.Objects() {
		if CancelsAnywhere(o.Object) {
			return &process.Unsupported{What: fmt.Sprintf("a program that cancels threads wherever they are (%s in %s) and has destructors or cleanup handlers", libc.SetCancelType, o.Name),
				Needs: "threads that are cancelled at cancellation points only"}
		}
	}
	return nil
}

// CancelsAnywhere reports whether a file cancels threads at any instruction and does something then.
func CancelsAnywhere(o *image.Object) bool {
	return o.MayImport(libc.SetCancelType) && o.Imports(libc.SetCancelType) && o.HasLandingPads()
}

// A Fit says whether a program with trampolines is still as it must be.
type Fit struct {
	name   string
	log    func(string)
	peered bool  // processes were seen that run on its memory
	unfit  error // why no thread may come to a trampoline any more; nil if nothing was seen
}

// NewFit is that of a process that is called so. log is told what makes values wrong.
func NewFit(name string, log func(string)) *Fit { return &Fit{name: name, log: log} }

// Look is a Check for a process that has trampolines.
func (f *Fit) Look(w *process.World) error {
	f.noteKeyless(w)
	_, forbids := w.Forbids()
	f.Note(forbids)
	f.notePeers(w)
	return nil
}

// Note notes why no thread may come to a trampoline any more; nil is nothing new.
func (f *Fit) Note(unfit error) {
	if f.unfit == nil {
		f.unfit = unfit
	}
}

// noteKeyless notes a thread that has set its thread pointer to 0: the next trampoline that it comes to would read %fs:0 there.
func (f *Fit) noteKeyless(w *process.World) {
	for _, th := range w.Threads() {
		if arch.ThreadPointer(&th.Regs) == 0 {
			f.Note(process.Keyless(fmt.Sprintf("thread %d", th.TID)))
			return
		}
	}
}

// notePeers says once that processes have come that run on its memory.
func (f *Fit) notePeers(w *process.World) {
	if n := w.Peers(); n > 0 && !f.peered {
		f.peered = true
		f.log(fmt.Sprintf("%s: %d processes run on its memory now (clone with CLONE_VM): what they do counts as that of its threads, and times may be wrong", f.name, n))
	}
}

// Refuse refuses to put in more where the program has changed since it was attached to, and says why. Taking out is always right.
func (f *Fit) Refuse() error { return f.unfit }
