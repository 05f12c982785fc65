package daemon

import (
	"slices"

	"culprit/daemon/batch"
	"culprit/daemon/patch"
)

// What a batch asks of a part and of a target.

// Apply implements batch.Target.
func (t *measured) Apply(sites []*patch.Site, begin []batch.Part) (busy map[*patch.Site]error, err error) {
	fresh := make([]*part, len(begin))
	for i, p := range begin {
		fresh[i] = p.(*part)
	}
	return t.apply(sites, fresh)
}

// In implements batch.Part.
func (p *part) In() batch.Target { return p.t }

// Sites implements batch.Part.
func (p *part) Sites() []*patch.Site { return p.sites }

// Forget implements batch.Part.
func (p *part) Forget(out func(*patch.Site) bool) { p.sites = slices.DeleteFunc(p.sites, out) }

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
	for _, s := range p.sites {
		p.t.Text.SwitchOff(s, p.owner, func(o patch.Owner) bool { return o.(*part).on })
	}
}

// Release implements batch.Part.
func (p *part) Release() {
	p.doesNotNeedRows()
	p.meter.Close()
}
