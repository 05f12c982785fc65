package refine

import (
	"slices"
	"sort"

	"culprit/grid"
)

// Bounds of one question; what lies beyond is never tested.
const (
	maxFoci      = 4096 // foci taken from the axis at once
	maxLooks     = 256  // steps asked of the axis by Deep Start
	mostFound    = 128  // foci that Deep Start adds
	maxThrough   = 2000 // foci looked at to find a hot callee of cool callers
	throughDepth = 6    // calls below the children
	coolDepth    = 3    // calls through functions on few stacks before Deep Start gives up
)

// HotShare is the part of the threshold that stack samples must promise for a place to be hot.
const HotShare = 0.6

// A Question is what is refined, and what is known of it.
type Question struct {
	Axis             grid.Axis
	Focus            grid.Focus
	Kind             string // of the stack samples that speak for it, as grid.Axis has them
	Value, Threshold float64
	Additive         bool // a part has a part of the value
	Sampled          bool // shares of stack samples estimate the value at a part
	Suppress         []string
	Defined          []string // of the hierarchies that texts define, those along which is refined
}

// A Found is a focus that was reached, with those that it was reached from.
type Found struct {
	Focus    grid.Focus
	Weight   float64
	Callers  []*Found // none: the focus that was asked about
	Hot      bool     // stack samples promise that it holds (Deep Start)
	Unlikely bool     // stack samples speak against it
	Pass     bool     // only on the way to others
	Bound    float64  // at most this value, by what its callers have
	cool     int
}

// step asks the axis for one step. A process or machine that is the only one is the same as all of them: the step goes
// through it.
func (q *Question) step(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	list := q.Axis.Refinements(f, h)
	if h == grid.Process || h == grid.Machine {
		for depth := 0; len(list) == 1 && depth < 4; depth++ {
			list = q.Axis.Refinements(list[0], h)
		}
	}
	if len(list) > maxFoci {
		list = list[:maxFoci]
	}
	seen := map[grid.Focus]bool{f: true}
	out := make([]grid.Focus, 0, len(list))
	for _, g := range list {
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}

// wanted leaves of the items that the axis offers those of the hierarchies that are asked about.
func (q *Question) wanted(h grid.Hierarchy, list []grid.Focus) []grid.Focus {
	if h != grid.Defined {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(f grid.Focus) bool {
		name, _, ok := f.Item()
		return !ok || !slices.Contains(q.Defined, name)
	})
}

// Children are the foci one step along a hierarchy, heaviest first.
func (q *Question) Children(h grid.Hierarchy) []*Found {
	var list []*Found
	for _, f := range q.wanted(h, q.step(q.Focus, h)) {
		list = append(list, &Found{Focus: f, Weight: q.Axis.Weight(f, q.Kind)})
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].Weight > list[b].Weight })
	if q.Sampled {
		q.promises(h, list)
	}
	return list
}

// promises marks what stack samples speak for and against. Of threads and processes, which are many, samples must promise that they hold: each of several that
// are alike is near its threshold, and none says where the cause is.
func (q *Question) promises(h grid.Hierarchy, list []*Found) {
	least := HotShare
	if h == grid.Process || h == grid.Machine {
		least = 1
	}
	base := q.Axis.Weight(q.Focus, q.Kind)
	for _, c := range list {
		if base > 0 {
			c.Hot = q.isHot(c.Weight, base)
			c.Unlikely = q.Additive && q.promise(c.Weight, base) < least*q.Threshold // of a ratio a small part may have a large value
		}
	}
}

// isHot tells whether stack samples promise that a part holds.
func (q *Question) isHot(weight, base float64) bool {
	return q.promise(weight, base) >= HotShare*q.Threshold
}

// Below are children along Code, and what Deep Start finds below them.
func (q *Question) Below(list []*Found) []*Found {
	if !q.Sampled {
		return list
	}
	return append(list, q.deepStart(list)...)
}

// Order puts the hierarchy that led here first, then those that name an object, then code, then the rest.
func Order(hs []grid.Hierarchy, via grid.Hierarchy) []grid.Hierarchy {
	rank := func(h grid.Hierarchy) int {
		switch h {
		case via:
			return 0
		case grid.SyncObject, grid.IO, grid.Memory:
			return 1
		case grid.Code:
			return 2
		}
		return 3
	}
	out := slices.Clone(hs)
	sort.SliceStable(out, func(i, j int) bool { return rank(out[i]) < rank(out[j]) })
	return out
}
