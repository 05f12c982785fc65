package daemon

import (
	"slices"

	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/pcl"
)

// unreturned adds to the landings what a request of a part ends, and returns their sites: each activation that a thread leaves for good ends
// there, whether or not it is in the focus then. Functions that call nothing are not left but by signals, and those of a library's list return,
// unless their thread is cancelled in them.
func (p *part) unreturned(f *program.Function, r *pcl.Request) ([]*patch.Site, error) {
	ends := r.Ends()
	if len(ends.Code) == 0 || !f.CallsOthers() {
		return nil, nil
	}
	minis, err := p.probes.Code(ends)
	if err != nil {
		return nil, err
	}
	var sites []*patch.Site
	for _, h := range p.t.landingsOf() {
		if r.Listed && !h.thread {
			continue
		}
		entry := p.t.Plans.Made(h.f).Entry() // its plan may have been forgotten since
		if len(entry) == 0 {
			continue
		}
		pt := entry[0]
		s, err := p.t.siteOf(h.f, pt)
		if err != nil {
			continue // it was one when landings were looked for
		}
		code := slices.Clone(minis)
		for i := range code {
			code[i].Ending, code[i].FrameAt = h.ending, h.frameAt
		}
		if !s.Has(pt, p, code) {
			s.Add(pt, p, p.owner, code, true)
		}
		sites = append(sites, s)
	}
	return sites, nil
}
