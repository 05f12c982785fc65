package daemon

import (
	"sort"

	"culprit/trampoline"
	"culprit/trampoline/planner"
)

// A short jump reaches 127 bytes; a long jump takes 5. The first 4 bytes of any padding are left to the instruction before
// it, whose own jump may need them.
const (
	shortReach = 127
	padJump    = 5
	padSpared  = 4
)

// padsNear lists places in the padding between functions that a short jump at addr reaches and nobody uses, and reserves
// them: a plan, once made, holds for good.
func (c *codePlan) padsNear(addr uint64) (pads []planner.Pad) {
	c.padMu.Lock()
	defer c.padMu.Unlock()
	o := c.obj
	fns := o.Functions()
	at := addr - o.Bias
	i := sort.Search(len(fns), func(i int) bool { return fns[i].Addr+fns[i].Size > at-min(at, shortReach+padJump) })
	for ; i < len(fns) && fns[i].Addr < at+shortReach; i++ {
		end := fns[i].Addr + fns[i].Size
		pad := o.PadEnd(end)
		if pad < end+padSpared+padJump {
			continue
		}
		d := int64(pad-padJump) - int64(at+2)
		if d < -128 || d > shortReach || c.padsTaken[pad] || (pad-padJump)/trampoline.PageSize != (pad-1)/trampoline.PageSize {
			continue
		}
		c.takePad(pad)
		return []planner.Pad{{Addr: pad - padJump + o.Bias, Len: padJump}}
	}
	return nil
}

// takePad reserves the padding that ends somewhere. c.padMu is held.
func (c *codePlan) takePad(end uint64) {
	if c.padsTaken == nil {
		c.padsTaken = map[uint64]bool{}
	}
	c.padsTaken[end] = true
}

// takePads reserves the padding that the sites of a plan use; false if another function of this target has some of it.
func (c *codePlan) takePads(plan *planner.Plan) bool {
	c.padMu.Lock()
	defer c.padMu.Unlock()
	var ends []uint64
	for _, s := range plan.Sites {
		if s.Tactic != planner.Short {
			continue
		}
		end := s.Pad.Addr + uint64(s.Pad.Len) - c.obj.Bias
		if c.padsTaken[end] {
			return false
		}
		ends = append(ends, end)
	}
	for _, end := range ends {
		c.takePad(end)
	}
	return true
}
