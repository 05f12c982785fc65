package contexts

import (
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/trampoline/planner"
)

// Wide reports whether more than one instruction of the text makes room for the site, or a long jump in padding leads to it.
func Wide(s *planner.Site) bool {
	return len(s.Insts) > 1 || s.Host != nil && len(s.Host.Insts) > 1 || s.Tactic == planner.Short
}

// TooWide is why a site may not be patched in a program that schedules its own contexts; nil if it may.
func (c *Contexts) TooWide(s *planner.Site) error {
	if c.why == "" || !Wide(s) {
		return nil
	}
	return &process.Refused{Point: patch.At(s.Addr), Reason: WhyOneInstruction}
}

// Refuse refuses to write a window that has become too wide since it was planned.
func (c *Contexts) Refuse(sites []*patch.Site) error {
	for _, s := range sites {
		if s.Patched() {
			continue
		}
		if err := c.TooWide(s.Site); err != nil {
			return &patch.SiteError{Site: s, Err: err}
		}
	}
	return nil
}

// MustLeave reports, once, that wide windows which were written before must be taken out: who was parked in one before it was written finds
// there what he left.
func (c *Contexts) MustLeave() bool {
	must := c.why != "" && !c.left
	c.left = c.left || must
	return must
}
