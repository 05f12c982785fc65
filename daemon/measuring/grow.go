package measuring

import (
	"slices"

	"culprit/daemon/batch"
	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/pcl"
)

// mayGrow reports whether the target has come to have something of the part's item, if it has one, or of the code that the part has lost.
func (p *Part) mayGrow(it *pcl.GroupingItem) bool {
	more := p.lost && p.Process.Loads() > p.loads
	p.loads = p.Process.Loads()
	if it != nil {
		lacking := p.Process.Lacking(it)
		more = more || lacking < p.Lacking
		p.Lacking = lacking
	}
	return more
}

// loses forgets the requests of a part in code that is gone.
func (p *Part) loses(o *program.Object) {
	isIn := func(r pcl.Request) bool { return o.Holds(uint64(r.Func)) }
	p.Plan.Requests = slices.DeleteFunc(slices.Clone(p.Plan.Requests), isIn)
	p.Code.ForgetGone()
	p.lost, p.loads = true, p.Process.Loads()
	p.noteUnloaded(o)
}

// noteUnloaded counts that an object went and took probes of the part with it.
func (p *Part) noteUnloaded(o *program.Object) {
	if p.Unloaded == nil {
		p.Unloaded = map[string]int{}
	}
	p.Unloaded[o.Name]++
	if p.Probes != nil && !p.Plan.Kind.Holds() {
		p.Probes.Halt()
	}
}

// Lost is how often each object took probes of the part with it, as far as can be seen now.
func (p *Part) Lost() map[string]int {
	if p.Probes != nil {
		p.Process.Text.LookForFallen(p.Sites())
	}
	return p.Unloaded
}

// Grow adds to a part what its target has only now, and reports whether sites have to be patched. before gets where the trampolines of
// these sites are until then.
func (p *Part) Grow(b *batch.Batch, it *pcl.GroupingItem, before map[*patch.Site]uint64) bool {
	if !p.mayGrow(it) && !p.Unfinished {
		return false
	}
	plan, err := p.Process.planOf(p.Plan.Pair)
	if err != nil || !slices.Equal(plan.Vars, p.Plan.Vars) {
		return false
	}
	if p.Meter.Adopt(plan) {
		return false
	}
	touched := p.Unfinished
	for _, r := range plan.Beyond(p.Plan) {
		p.Plan.Requests = append(p.Plan.Requests, r)
		sites, err := p.later(&r)
		if err != nil {
			p.noteRefusal(&r, err)
			continue
		}
		for _, s := range sites {
			before[s], touched = s.TrampolineAt(), true
		}
	}
	if touched {
		b.Renew(p)
	}
	return touched
}

// later puts the code of one more request of a part at its sites.
func (p *Part) later(r *pcl.Request) ([]*patch.Site, error) {
	if err := p.Process.Sites.Prepare(r); err != nil {
		return nil, err
	}
	return p.Code.Add(r)
}
