// Package items tells which functions of a process belong to the items of hierarchies that texts of PCL define, those of an item's loops
// included. What is measured at an item is the business of the compiler of PCL.
//
// It knows a process only by what the compiler may ask about it. An Index does not change: any goroutine may read it.
package items

import (
	"slices"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/compile"
)

// An Index tells which items the functions of one process belong to. A nil one knows of none.
type Index struct {
	of      map[pcl.FuncID][]int
	numbers map[grid.Focus]int // by the focus of the item; the same every time
	present map[int]bool
}

// New is the index of a process as it is now; nil if no text defines a hierarchy.
func New(lib *pcl.Library, env pcl.Env) *Index {
	defined := lib.Defined()
	if len(defined) == 0 {
		return nil
	}
	x := &Index{of: map[pcl.FuncID][]int{}, numbers: map[grid.Focus]int{}, present: map[int]bool{}}
	for _, h := range defined {
		for _, it := range lib.Items(h) {
			x.add(it, append(compile.Functions(lib, it, env), loopFunctions(it, env)...))
		}
	}
	return x
}

func (x *Index) add(it *pcl.GroupingItem, ids []pcl.FuncID) {
	n := len(x.numbers)
	x.numbers[it.Focus()] = n
	for _, id := range ids {
		if !slices.Contains(x.of[id], n) {
			x.of[id] = append(x.of[id], n)
		}
	}
	x.present[n] = len(ids) > 0
}

// loopFunctions are the functions of the loops that an item names.
func loopFunctions(it *pcl.GroupingItem, env pcl.Env) (ids []pcl.FuncID) {
	for _, p := range it.Paths() {
		if it.Base == grid.Code && len(p) == 3 {
			ids = append(ids, env.Function(p[0], p[1])...)
		}
	}
	return ids
}

// Of are the numbers of the items that a function belongs to.
func (x *Index) Of(id pcl.FuncID) []int {
	if x == nil {
		return nil
	}
	return x.of[id]
}

// Number is that of an item. It is the same in all processes.
func (x *Index) Number(it *pcl.GroupingItem) int { return x.numbers[it.Focus()] }

// Has reports whether some function of the process belongs to an item.
func (x *Index) Has(it *pcl.GroupingItem) bool { return x != nil && x.present[x.Number(it)] }
