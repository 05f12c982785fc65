package plans

import (
	"sort"

	"culprit/trampoline"
	"culprit/trampoline/planner"
)

// A short jump reaches 127 bytes. The first 4 bytes of any padding are left to the instruction before it, whose own jump may need them.
const (
	shortReach = 127
	padSpared  = 4
)

// padsNear lists places in the padding between functions that a short jump at addr reaches and nobody uses, and reserves
// them: a plan, once made, holds for good.
func (o *object) padsNear(addr uint64) (pads []planner.Pad) {
	o.padMu.Lock()
	defer o.padMu.Unlock()
	fns := o.Functions()
	at := addr - o.Bias
	i := sort.Search(len(fns), func(i int) bool { return fns[i].Addr+fns[i].Size > at-min(at, shortReach+planner.JumpLen) })
	for ; i < len(fns) && fns[i].Addr < at+shortReach; i++ {
		end := fns[i].Addr + fns[i].Size
		pad := o.PadEnd(end)
		if pad < end+padSpared+planner.JumpLen {
			continue
		}
		d := int64(pad-planner.JumpLen) - int64(at+2)
		if d < -128 || d > shortReach || o.padsTaken[pad] || (pad-planner.JumpLen)/trampoline.PageSize != (pad-1)/trampoline.PageSize {
			continue
		}
		o.takePad(pad)
		return []planner.Pad{{Addr: pad - planner.JumpLen + o.Bias, Len: planner.JumpLen}}
	}
	return nil
}

// takePad reserves the padding that ends somewhere. o.padMu is held.
func (o *object) takePad(end uint64) {
	if o.padsTaken == nil {
		o.padsTaken = map[uint64]bool{}
	}
	o.padsTaken[end] = true
}

// takePads reserves the padding that the sites of a plan use; false if another function of this target has some of it.
func (o *object) takePads(plan *planner.Plan) bool {
	o.padMu.Lock()
	defer o.padMu.Unlock()
	var ends []uint64
	for _, s := range plan.Sites {
		if s.Tactic != planner.Short {
			continue
		}
		end := s.Pad.Addr + uint64(s.Pad.Len) - o.Bias
		if o.padsTaken[end] {
			return false
		}
		ends = append(ends, end)
	}
	for _, end := range ends {
		o.takePad(end)
	}
	return true
}
