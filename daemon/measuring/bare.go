package measuring

import (
	"culprit/daemon/callees"
	"culprit/daemon/probe"
	"culprit/pcl"
)

// NoteCallees reads the last callees of all threads.
func (p *Part) NoteCallees(w *callees.Watch) {
	if p.Process.Seg == nil || p.Gone {
		return
	}
	for _, slot := range append(p.Process.Seg.Used(nil), p.Process.Seg.Slots) {
		for _, r := range p.Plan.Requests {
			w.Note(&r, p.Process.Seg.Load(slot, p.Probes.Cells[r.Code[0].Var].Off))
		}
	}
}

// Discard takes back a part that was only made to be looked at.
func (p *Part) Discard() {
	p.Code.Drop()
	p.Release()
}

// NewBare is a part of a plan that belongs to no pair; its words are reserved.
func NewBare(t *Process, plan *pcl.Plan, owner uint64) (*Part, error) {
	p := NewProbes(t, plan, owner, probe.Options{}, false)
	if err := p.Probes.Reserve(); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}
