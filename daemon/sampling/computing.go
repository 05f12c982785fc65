package sampling

import (
	"slices"

	"culprit/daemon/stack"
	"culprit/pcl"
)

// Which threads compute in a function.

// A funcThread is a thread in a function.
type funcThread struct {
	f   pcl.FuncID
	tid int
}

const (
	deepFrames   = 6       // of each stack are counted by thread: what is found to compute is deep
	maxComputing = 1 << 13 // functions with threads; others are not counted until these fade
)

// noteComputing counts a sample of a thread that runs for the functions at the top of its stack. c.mu is held.
func (c *Counts) noteComputing(tid int, frames []stack.Frame) {
	var ids []pcl.FuncID
	for _, fr := range frames[:min(len(frames), deepFrames)] {
		if fr.Func != nil && !slices.Contains(ids, fr.Func.ID) {
			ids = append(ids, fr.Func.ID)
		}
	}
	c.computes(tid, ids)
}

// computes counts a sample of a thread for some functions. c.mu is held.
func (c *Counts) computes(tid int, ids []pcl.FuncID) {
	for _, id := range ids {
		at := funcThread{id, tid}
		if _, known := c.computing[at]; known || len(c.computing) < maxComputing {
			c.computing[at]++
		}
	}
}

// fewComputing is how many samples of a function are too few to say which threads compute there.
const fewComputing = 10

// Computing is how many samples saw each thread compute in a function lately; nil if there were few.
func (c *Counts) Computing(module, function string) map[int]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	by, all := map[int]float64{}, 0.0
	for _, id := range c.t.Function(module, function) {
		for at, n := range c.computing {
			if at.f == id {
				by[at.tid] += n
				all += n
			}
		}
	}
	if all < fewComputing {
		return nil
	}
	return by
}
