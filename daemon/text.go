package daemon

import (
	"culprit/daemon/patch"
	"culprit/daemon/probe"
	"culprit/daemon/process"
)

// What a target does along with a batch.

// apply brings sites to what is wanted at them, and has fresh parts begin in the same stop as the last of them.
func (t *measured) apply(sites []*patch.Site, fresh []*part) (busy map[*patch.Site]error, err error) {
	return t.Text.Apply(sites, &beginning{t: t, parts: fresh})
}

// A beginning is of parts whose code begins to run with a batch. It implements patch.Along.
type beginning struct {
	t      *measured
	parts  []*part
	inside []probe.Activation
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
	b.t.blocks.Zero(metersOf(b.of(last))...)
	b.t.Stats.Link()
	catchUp(b.inside)
}

// countersOf is what the counters of parts take, in the blocks of all threads that have come to a probe.
func (t *measured) countersOf(fresh []*part) (bytes uint64) {
	if t.Seg == nil || len(fresh) == 0 {
		return 0
	}
	for _, p := range fresh {
		for _, c := range p.probes.Words() {
			bytes += uint64(c.Size)
		}
	}
	return bytes * uint64(len(t.Seg.Used(nil))+1)
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
