package daemon

import (
	"culprit/daemon/batch"
	"culprit/daemon/patch"
	"culprit/daemon/placement"
	"culprit/daemon/probe"
)

// What a batch asks of a part and of a target.

// Apply implements batch.Target.
func (t *measured) Apply(sites []*patch.Site, begin []batch.Part) (busy map[*patch.Site]error, err error) {
	fresh := make([]*probe.Meter, len(begin))
	for i, p := range begin {
		fresh[i] = p.(*part).probes
	}
	return t.Text.Apply(sites, placement.Begin(t.Target, t.blocks, fresh))
}

// repair patches again what the target has loaded again.
func (t *measured) repair() error {
	sites := t.Text.Fallen()
	if len(sites) == 0 {
		return nil
	}
	_, err := t.Apply(sites, nil)
	return err
}

// In implements batch.Part.
func (p *part) In() batch.Target { return p.t }

// Sites implements batch.Part.
func (p *part) Sites() []*patch.Site { return p.code.Sites }

// Forget implements batch.Part.
func (p *part) Forget(out func(*patch.Site) bool) { p.code.Forget(out) }

// IsScarce implements batch.Part: a process has few distributions and tables.
func (p *part) IsScarce() bool { return p.probes != nil && p.probes.IsScarce() }

// SwitchOff implements batch.Part. The part reads nothing any more.
func (p *part) SwitchOff() {
	p.jumpOver()
	p.gone = true
	p.doesNotNeedRows()
}

// jumpOver turns the part's mini-trampolines off by a store each. What they have counted can still be read.
func (p *part) jumpOver() {
	p.on = false
	p.code.SwitchOff(func(o patch.Owner) bool { return o.(*part).on })
}

// Release implements batch.Part.
func (p *part) Release() {
	p.doesNotNeedRows()
	p.meter.Close()
}
