package stops

import (
	"bytes"
	"errors"

	"culprit/daemon/arch"
	"culprit/daemon/image/lazy"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stack"
)

// What is seen of a process in one stop. All of its threads wait meanwhile, so it is found with what was made before: the tables of files, and
// walks of earlier stops. Each stack is read and walked once for all who ask.

// A View is valid in one stop, on the goroutine that holds it.
type View struct {
	s     *Stopper
	w     *process.World
	still *lazy.Still
	walks []*stack.Walk // by number of the thread in w.Threads()
	tops  [][]byte      // what was read of their stacks
	later []func()
}

// firstRead is how much of a stack is read together with those of all other threads: who waits has seldom come further.
const firstRead = 1 << 10

// seen prepares f for a stop, and has the view be valid in it. Nothing is built, decoded or read from a file meanwhile: what f would
// need of that makes it fail with *lazy.NotReady.
func (s *Stopper) seen(f func(*process.World) error) func(*process.World) error {
	for _, o := range s.cfg.Code.Objects() {
		o.Prepare()
	}
	if v := program.Vdso(); v != nil {
		v.Prepare()
	}
	s.walkSleepers()
	return func(w *process.World) error {
		v := &View{s: s, w: w, still: lazy.HoldStill()}
		s.view = v
		defer func() {
			v.still.End()
			s.view = nil
			s.last = v
		}()
		return f(w)
	}
}

// walkSleepers walks the stacks of the threads that sleep, while all others run. In a stop that finds them so it is only compared whether
// their stacks are as they were.
func (s *Stopper) walkSleepers() {
	list := s.cfg.Proc.Sleepers()
	if len(list) == 0 {
		return
	}
	version := s.cfg.Code.Version()
	walks, last := make(map[int]*stack.Walk, len(list)), s.walked.of(version)
	for _, th := range list {
		k, from := last[th.TID], stack.RegsOf(th)
		if k == nil || k.From != from {
			k = s.cfg.Walker.Stopped(from, stack.NewMemory(s.cfg.Proc, th, nil))
		}
		if k.Looked != nil {
			walks[th.TID] = k
		}
	}
	s.walked = walkLog{version, walks}
}

// MostTries is how often a stop is made that lacks something which then is made: a table may show that another one is needed.
const MostTries = 8

// A toMake is why a stop had to end without change: something is missing that Make makes while the process runs.
type toMake interface {
	error
	Make()
}

// seeing makes a stop, and makes it again where something was missing in it that can only be made outside.
func (s *Stopper) seeing(stop func() error) error {
	for try := 1; ; try++ {
		err := stop()
		s.learn()
		var missing toMake
		if !errors.As(err, &missing) || try == MostTries {
			return err
		}
		missing.Make()
	}
}

// Missing is an error if something was asked for in the stop that is under way that is not there: what was found out since is not to be believed.
func (s *Stopper) Missing() error { return s.view.Missing() }

// Missing is an error if something was asked for in this stop that is not there: what was found out since is not to be believed.
func (v *View) Missing() error { return v.still.Missing() }

// Later has f run when all threads run again.
func (v *View) Later(f func()) { v.later = append(v.later, f) }

// Walk is the walk through the stack of a thread, by its number in World.Threads.
func (v *View) Walk(i int) *stack.Walk {
	if v.walks == nil {
		v.readAll()
	}
	if v.walks[i] == nil {
		v.walks[i] = v.s.cfg.Walker.Stopped(stack.RegsOf(v.w.Threads()[i]), v.stack(i))
	}
	return v.walks[i]
}

// Frames are the activations of a thread, by its number, innermost first.
func (v *View) Frames(i int) []stack.RawFrame {
	k := v.Walk(i)
	if k.Guesses {
		v.s.cfg.Walker.GuessRest(k, v.stack(i))
	}
	return k.Frames
}

// stack is the stack of a thread, by its number.
func (v *View) stack(i int) *stack.Memory {
	return stack.NewMemory(v.w, v.w.Threads()[i], v.tops[i])
}

// readAll reads the stacks of all threads. Who stands as at the last stop, and has on the stack what was then looked at, has the same walk.
func (v *View) readAll() {
	threads, last := v.w.Threads(), v.s.walked.of(v.s.cfg.Code.Version())
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
	version int // of the program, then
	walks   map[int]*stack.Walk
}

// of gives the walks by thread, none if they are of other objects.
func (l *walkLog) of(version int) map[int]*stack.Walk {
	if l.version != version {
		return nil
	}
	return l.walks
}

// learn takes over what the last stop has shown, when all run again: walks for the next stop, and what others wanted to do then.
func (s *Stopper) learn() {
	v := s.last
	s.last = nil
	if v == nil {
		return
	}
	if v.walks != nil {
		s.keepWalks(v)
	}
	for _, f := range v.later {
		f()
	}
}

func (s *Stopper) keepWalks(v *View) {
	s.walked = walkLog{s.cfg.Code.Version(), make(map[int]*stack.Walk, len(v.walks))}
	for i, th := range v.w.Threads() {
		if k := v.walks[i]; k != nil && k.Looked != nil {
			s.walked.walks[th.TID] = k
		}
	}
}
