package trampoline

import (
	"fmt"

	"culprit/trampoline/planner"
)

// On is a switch that does nothing: a nop of two bytes.
var On = [2]byte{0x66, 0x90}

// Off returns the bytes that switch off what the switch at off is for, On those that switch it on.
func (b *Base) Off(off int) [2]byte { return b.switched(off, false) }

// On returns the bytes that switch on what the switch at off is for.
func (b *Base) On(off int) [2]byte { return b.switched(off, true) }

func (b *Base) switched(off int, on bool) [2]byte {
	for _, s := range b.Skip {
		switch {
		case s.At != off:
		case s.WhenOn == on:
			return [2]byte{0xEB, s.Over}
		default:
			return On
		}
	}
	panic("BUG: no switch there")
}

// A Skip is a switch: a short jump over what follows it, or a nop. That of a mini-trampoline jumps when it is off, over its code; that
// of the whole trampoline when it is on, over the displaced instructions alone.
type Skip struct {
	At     int // its offset
	Over   byte
	WhenOn bool
}

// mainSwitch emits the switch of the whole trampoline, and behind it the displaced instructions alone, which is where control goes
// while it is off: it falls through to them, so that a probe that is off costs two jumps, as many as there must be. While it is on, a
// short jump leads over them.
func (g *generator) mainSwitch() error {
	if g.site.Tactic != planner.Retarget {
		g.at(g.site.Addr)
	}
	g.even()
	at := g.Len()
	g.out.Entry, g.out.Switch = at, at
	g.Raw(On[:]...)
	if err := g.bypass(); err != nil {
		return err
	}
	over := g.Len() - at - 2
	if over > maxSkip {
		return fmt.Errorf("site at %#x displaces too many instructions", g.site.Addr)
	}
	g.out.Skip = append(g.out.Skip, Skip{At: at, Over: byte(over), WhenOn: true})
	g.Patch(at, 0xEB, byte(over))
	return nil
}

// even makes the next switch lie within one aligned word: its two bytes then change in one access.
func (g *generator) even() {
	if (g.addr+uint64(g.Len()))%2 != 0 {
		g.Nop(1)
	}
}

// maxSkip is how far the short jump of a switch reaches.
const maxSkip = 127

// group emits the minis of one owner behind one switch. A short jump that does not reach over them goes to a long one, which lies
// before them and is jumped over while the switch is on.
func (g *generator) group(gr *Group) error {
	far, err := g.measure(gr.Minis)
	if err != nil {
		return err
	}
	g.even()
	at := g.Len()
	g.Raw(On[:]...)
	over, skip := g.NewLabel(), 0
	if far {
		g.Raw(0xEB, planner.JumpLen)
		skip = g.Len() - at - 2
		g.JmpNear(over)
	}
	for i := range gr.Minis {
		g.far = g.lengths[i] > maxSkip // jumps inside it are longer then
		if err := g.mini(&gr.Minis[i]); err != nil {
			return err
		}
		g.far = false
	}
	g.Bind(over)
	if !far {
		skip = g.Len() - at - 2
	}
	if skip > maxSkip {
		panic("BUG: the switch of a group does not reach over it")
	}
	g.out.Toggles[gr.Owner] = append(g.out.Toggles[gr.Owner], at)
	g.out.Skip = append(g.out.Skip, Skip{At: at, Over: byte(skip)})
	if gr.Off {
		g.Patch(at, 0xEB, byte(skip))
	}
	return nil
}

// measure works out how long the minis of a group are and reports whether they are longer than a short jump reaches. Most are short by
// far, and their bounds tell; the others are made on trial.
func (g *generator) measure(minis []Mini) (far bool, err error) {
	g.lengths = g.lengths[:0]
	sum := 0
	for i := range minis {
		g.lengths = append(g.lengths, minis[i].bound())
		sum += g.lengths[i]
	}
	if sum <= maxSkip {
		return false, nil
	}
	sum = 0
	for i := range minis {
		if g.lengths[i], err = g.lengthOf(&minis[i]); err != nil {
			return false, err
		}
		sum += g.lengths[i]
	}
	return sum > maxSkip, nil
}

// lengthOf makes a mini on trial, with long jumps.
func (g *generator) lengthOf(m *Mini) (int, error) {
	t := g.trial
	if t == nil {
		t = &generator{}
		g.trial = t
	}
	*t = generator{Asm: t.Asm, env: g.env, site: g.site, addr: g.addr, saved: g.saved, callee: g.callee, mark0: g.mark0, pushed: g.pushed, base: g.base, called: g.called,
		far: true, late: t.late[:0]} // minis alone need no more
	t.Reset(g.addr)
	err := t.mini(m)
	return t.Len(), err
}

// bound is a number of bytes that a mini is certainly no longer than, large for one that is not simple.
func (m *Mini) bound() int {
	const (
		aGuard, anAssignment, aTimer, aBucket, aTable = 17, 12, 60, 50, 70
		aRowTimer                                     = aTimer + 20
		aRunTimer                                     = 2*aRowTimer + 20
	)
	more := aGuard * len(m.Guards)
	if m.distributes() {
		more += aBucket
	}
	if m.tabled() {
		more += aTable
	}
	switch {
	case m.Cond != nil || m.Op.CPU() || m.Op.gauge() || m.Expr != nil && (m.Expr.Op != ExConst || m.Expr.Value != int64(int32(m.Expr.Value))):
		return 1 << 10
	case m.Op.Run():
		return aRunTimer + more
	case m.Op.row():
		return aRowTimer + more
	case m.Op.timer():
		return aTimer + more
	}
	return 2*anAssignment + more
}
