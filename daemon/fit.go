package daemon

import (
	"fmt"

	"culprit/daemon/arch"
	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/process"
)

// What a program must be like for trampolines to be right in it: asked of the stopped target before they are put in.

// checkPeers refuses a program whose memory other processes run on. They would run what is in the text, under the thread pointers of those
// that made them: their work would count as that of others, and two of them would write to one block at a time.
func checkPeers(w *process.World) error {
	if n := w.Peers(); n > 0 {
		return &process.Unsupported{What: fmt.Sprintf("a program that shares its memory with %d other processes (clone with CLONE_VM)", n), Needs: "threads, or memory of its own"}
	}
	return nil
}

// checkCancels refuses a program that cancels threads at any instruction and does something then, such as to unlock a mutex. A thread that is
// cancelled in a trampoline has no frame there that an unwinder knows: destructors and cleanup handlers would not run.
func (t *measured) checkCancels() error {
	for _, o := range t.Objects() {
		if cancelsAnywhere(o.Object) {
			return &process.Unsupported{What: fmt.Sprintf("a program that cancels threads wherever they are (%s in %s) and has destructors or cleanup handlers", libc.SetCancelType, o.Name),
				Needs: "threads that are cancelled at cancellation points only"}
		}
	}
	return nil
}

func cancelsAnywhere(o *image.Object) bool {
	return o.MayImport(libc.SetCancelType) && o.Imports(libc.SetCancelType) && o.HasLandingPads()
}

// notePeers says once that such processes have come since.
func (t *measured) notePeers(w *process.World) {
	if n := w.Peers(); n > 0 && t.Seg != nil && !t.peered {
		t.peered = true
		t.Logf("%s: %d processes run on its memory now (clone with CLONE_VM): what they do counts as that of its threads, and times may be wrong", t.Name, n)
	}
}

// checkAgain refuses to put in more where the program has changed since it was attached to. Taking out is always right.
func (t *measured) checkAgain() error {
	if t.keyless == 0 {
		return nil
	}
	return &process.Unsupported{What: fmt.Sprintf("a program whose thread %d has given up its thread pointer", t.keyless), Needs: "a thread control block for each thread"}
}

// noteKeyless notes a thread that has set its thread pointer to 0: the next trampoline that it comes to would read %fs:0 there.
func (t *measured) noteKeyless(w *process.World) {
	for _, th := range w.Threads() {
		if t.Seg != nil && t.keyless == 0 && arch.ThreadPointer(&th.Regs) == 0 {
			t.keyless = th.TID
		}
	}
}
