package daemon

import (
	"context"
	"slices"

	"culprit/daemon/patch"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/target"
	"culprit/trampoline"
)

// What package patch asks of a target, and what a target does along with a batch.

// A textHost is a target as its text sees it.
type textHost struct{ *measured }

// Stop implements patch.Host.
func (h textHost) Stop(f func(*process.World) error) error { return h.stop(f) }

// Standing implements patch.Host.
func (h textHost) Standing(w *process.World, spans []patch.Span) (map[int]int, error) {
	return h.standing(w, spans)
}

// StopOnce implements patch.Host: nothing is told of the stop, and not tried by and by.
func (h textHost) StopOnce(f func(*process.World) error) error {
	return h.seeing(func() error {
		_, err := h.Proc.Stop(context.Background(), process.StopOptions{Deadline: stopDeadline}, h.seen(f))
		return err
	})
}

// Missing implements patch.Host.
func (h textHost) Missing() error { return h.view.missing() }

// Going implements patch.Host.
func (h textHost) Going(w *process.World, ours []process.Mapping) []process.Mapping {
	return h.mustGo(w, ours)
}

// ModuleAt implements patch.Host.
func (h textHost) ModuleAt(addr uint64) patch.Module {
	if o := h.ObjectAt(addr); o != nil {
		return module{o}
	}
	return nil
}

// Mapped implements patch.Host.
func (h textHost) Mapped(maps []process.Mapping, modules []patch.Module) bool {
	code := target.CodeMaps(maps)
	return !slices.ContainsFunc(modules, func(m patch.Module) bool { return !m.(module).MappedIn(code) })
}

// A module is an object as package patch sees it.
type module struct{ *program.Object }

// FileBytes implements patch.Host.
func (h textHost) FileBytes(addr uint64, n int) []byte { return h.fileBytes(addr, n) }

// Refresh implements patch.Host.
func (h textHost) Refresh() error {
	_, err := h.refreshCode()
	return err
}

// Refuse implements patch.Host.
func (h textHost) Refuse(sites []*patch.Site) error {
	if len(sites) > 0 {
		if err := h.checkAgain(); err != nil {
			return err
		}
	}
	if err := h.checkSequences(sites); err != nil {
		return err
	}
	return h.checkWindows(sites)
}

// Leaves implements patch.Host: where contexts may be parked in a trampoline nobody knows who may still be inside.
func (h textHost) Leaves() bool { return h.contexts.why == "" }

// Unloaded implements patch.Host.
func (h textHost) Unloaded(owner patch.Owner, m patch.Module) {
	owner.(*part).noteUnloaded(m.(module).Object)
}

// newText makes the text of a target whose name is known.
func (t *measured) newText() *patch.Text {
	return patch.New(patch.Config{Proc: t.Proc, Host: textHost{t}, Name: t.Name, Log: func(text string) { t.Logf("%s", text) },
		Scale: func() int32 { return trampoline.ScaleOf(t.Clock.Hz()) }, Count: &t.d.patches})
}

// apply brings sites to what is wanted at them, and has fresh parts begin in the same stop as the last of them.
func (t *measured) apply(sites []*patch.Site, fresh []*part) (busy map[*patch.Site]error, err error) {
	return t.Text.Apply(sites, &beginning{t: t, parts: fresh})
}

// A beginning is of parts whose code begins to run with a batch. It implements patch.Along.
type beginning struct {
	t      *measured
	parts  []*part
	inside []activation
}

// of are the parts that begin with a part of the batch.
func (b *beginning) of(last bool) []*part {
	if last {
		return b.parts
	}
	return nil
}

func (b *beginning) Grows() bool { return len(b.parts) > 0 }

func (b *beginning) Cost(last bool) uint64 { return b.t.countersOf(b.of(last)) }

func (b *beginning) Ready(last bool) { b.t.readyFor(b.of(last)) }

func (b *beginning) Before(w *process.World, last bool) (err error) {
	b.inside, err = b.t.inside(w, b.of(last))
	return err
}

func (b *beginning) After(last bool) {
	b.t.zero(b.of(last)...)
	b.t.Stats.Link()
	catchUp(b.inside)
}

// countersOf is what the counters of parts take, in the blocks of all threads that have come to a probe.
func (t *measured) countersOf(fresh []*part) (bytes uint64) {
	if t.Seg == nil || len(fresh) == 0 {
		return 0
	}
	for _, p := range fresh {
		for _, c := range p.Words() {
			bytes += uint64(c.Size)
		}
	}
	return bytes * uint64(len(t.Seg.Used(nil))+1)
}

// giveCells gives cells back as soon as no trampoline that was retired so far has a thread inside: an old one may still write to them.
func (t *measured) giveCells(cells []probe.Cell) {
	t.Text.WhenLeft(func() {
		for _, c := range cells {
			t.Cells.Release(c.Off, c.Size)
		}
	})
}

// repair patches again what the target has loaded again.
func (t *measured) repair() error {
	sites := t.Text.Fallen()
	if len(sites) == 0 {
		return nil
	}
	_, err := t.apply(sites, nil)
	return err
}
