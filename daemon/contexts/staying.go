package contexts

import (
	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// Memory that stays. Of a segment to which contexts may come back only the head with the ledger is unmapped: whatever is left of a segment
// without a head is there to stay. (Otherwise the head goes last.)

// Leaves reports whether it can be known who may still be inside a trampoline: not where contexts may be parked in one.
func (c *Contexts) Leaves() bool { return c.why == "" }

// NoteStays says in the head of the segment that it stays, if it does, for whoever comes after us.
func (c *Contexts) NoteStays() {
	if c.seg != nil && c.why != "" {
		c.seg.SetStays(true)
	}
}

// Stayed reports whether these mappings of ours are there to stay, and takes the word of who left them.
func (c *Contexts) Stayed(ours []process.Mapping) bool {
	if !segment.Staying(ours) {
		return false
	}
	c.stayed = true
	c.Schedules("an earlier culprit found so")
	return true
}

// Going picks what is to be unmapped, in order. A culprit that was killed may not have found out yet what the stacks say now.
func (c *Contexts) Going(w *process.World, ours []process.Mapping) (going []process.Mapping) {
	if len(ours) == 0 || segment.Staying(ours) {
		return nil
	}
	h, _, err := segment.HeaderIn(c.cfg.Proc, ours)
	stays := err == nil && h.Stays || c.seg == nil && c.catches() != 0 && c.onForeignStack(w) != 0
	for _, m := range ours {
		if !stays && !segment.IsHead(m) {
			going = append(going, m)
		}
	}
	for _, m := range ours {
		if segment.IsHead(m) {
			going = append(going, m)
		}
	}
	return going
}

// LeavesNothing says in the head, at the end, that nothing need stay, where nothing was ever patched.
func (c *Contexts) LeavesNothing(everPatched bool) {
	if c.seg.Stays && !everPatched && !c.stayed {
		c.seg.SetStays(false)
	}
}
