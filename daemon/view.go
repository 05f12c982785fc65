package daemon

import (
	"bytes"
	"errors"

	"culprit/daemon/arch"
	"culprit/daemon/image/lazy"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stack"
)

// What is seen of a target in one stop. All of its threads wait meanwhile, so it is found with what was made before: the tables of files, and
// walks of earlier stops. Each stack is read and walked once for all who ask.

// A view is valid in one stop, on the goroutine that holds it.
type view struct {
	t     *measured
	w     *process.World
	still *lazy.Still
	walks []*stack.Walk // by number of the thread in w.Threads()
	tops  [][]byte      // what was read of their stacks
	roots []rootless
}

// A rootless is a thread of which it is not known yet what it was started with.
type rootless struct {
	tid    int
	fs     uint64
	frames []stack.RawFrame
}

// firstRead is how much of a stack is read together with those of all other threads: who waits has seldom come further.
const firstRead = 1 << 10

// seen prepares f for a stop, and has the target's view be valid in it. Nothing is built, decoded or read from a file meanwhile: what f would
// need of that makes it fail with *lazy.NotReady.
func (t *measured) seen(f func(*process.World) error) func(*process.World) error {
	for _, o := range t.Objects() {
		o.Prepare()
	}
	if v := program.Vdso(); v != nil {
		v.Prepare()
	}
	return func(w *process.World) error {
		v := &view{t: t, w: w, still: lazy.HoldStill()}
		t.view = v
		defer func() {
			v.still.End()
			t.view = nil
			t.seenLast = v
		}()
		return f(w)
	}
}

// triesToSee is how often a stop is made that lacks something which then is made: a table may show that another one is needed.
const triesToSee = 8

// A toMake is why a stop had to end without change: something is missing that Make makes while the target runs.
type toMake interface {
	error
	Make()
}

// seeing makes a stop, and makes it again where something was missing in it that can only be made outside.
func (t *measured) seeing(stop func() error) error {
	for try := 1; ; try++ {
		err := stop()
		t.learnFrom(t.seenLast)
		t.seenLast = nil
		var missing toMake
		if !errors.As(err, &missing) || try == triesToSee {
			return err
		}
		missing.Make()
	}
}

// missing is an error if something was asked for in this stop that is not there: what was found out since is not to be believed.
func (v *view) missing() error { return v.still.Missing() }

// walk is the walk through the stack of a thread, by its number in w.Threads().
func (v *view) walk(i int) *stack.Walk {
	if v.walks == nil {
		v.readAll()
	}
	if v.walks[i] == nil {
		v.walks[i] = v.t.walker().Stopped(stack.RegsOf(v.w.Threads()[i]), v.stack(i))
	}
	return v.walks[i]
}

// frames are the activations of a thread, by its number, innermost first.
func (v *view) frames(i int) []stack.RawFrame {
	k := v.walk(i)
	if k.Guesses {
		v.t.walker().GuessRest(k, v.stack(i))
	}
	return k.Frames
}

// stack is the stack of a thread, by its number.
func (v *view) stack(i int) *stack.Memory {
	return stack.NewMemory(v.w, v.w.Threads()[i], v.tops[i])
}

// readAll reads the stacks of all threads. Who stands as at the last stop, and has on the stack what was then looked at, has the same walk.
func (v *view) readAll() {
	threads, last := v.w.Threads(), v.t.walked.of(v.t.Version())
	v.walks, v.tops = make([]*stack.Walk, len(threads)), make([][]byte, len(threads))
	old, pieces := make([]*stack.Walk, len(threads)), make([]process.Piece, len(threads))
	length := make([]int, len(threads))
	sum := 0
	for i, th := range threads {
		length[i] = firstRead
		if k := last[th.TID]; k != nil && k.From == stack.RegsOf(th) {
			old[i], length[i] = k, len(k.Looked)
		} else if left := arch.ThreadPointer(&th.Regs) - arch.SP(&th.Regs)&^7; left < firstRead { // behind it something else may be mapped, or nothing
			length[i] = int(left) &^ 7
		}
		sum += length[i]
	}
	all := make([]byte, sum)
	for i, th := range threads {
		pieces[i] = process.Piece{Addr: process.Addr(arch.SP(&th.Regs) &^ 7), Buf: all[:length[i]:length[i]]}
		all = all[length[i]:]
	}
	if v.w.ReadPieces(pieces) != nil {
		return
	}
	for i, p := range pieces {
		switch {
		case !p.Read:
		case old[i] != nil && bytes.Equal(p.Buf, old[i].Looked):
			v.walks[i] = old[i]
		default:
			v.tops[i] = p.Buf
		}
	}
}

// A walkLog keeps the walks of the last stop.
type walkLog struct {
	changes int // of the objects of the target, then
	walks   map[int]*stack.Walk
}

// of gives the walks by thread, none if they are of other objects.
func (l *walkLog) of(changes int) map[int]*stack.Walk {
	if l.changes != changes {
		return nil
	}
	return l.walks
}

// learnFrom takes over what a stop has shown, when all run again: walks for the next stop, and what threads were started with.
func (t *measured) learnFrom(v *view) {
	if v == nil || v.walks == nil {
		return
	}
	t.walked = walkLog{t.Version(), make(map[int]*stack.Walk, len(v.walks))}
	for i, th := range v.w.Threads() {
		if k := v.walks[i]; k != nil && k.Looked != nil {
			t.walked.walks[th.TID] = k
		}
	}
	for _, r := range v.roots {
		frames := make([]stack.Frame, len(r.frames))
		for i, fr := range r.frames {
			frames[i] = stack.Frame{Func: t.FunctionAt(fr.At), PC: fr.PC, CFA: fr.CFA}
		}
		t.NoteStack(r.tid, r.fs, frames)
	}
}
