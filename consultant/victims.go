package consultant

import (
	"slices"

	"culprit/grid"
)

// A thread that waits for another one which works is no bottleneck of its own: the reader of a pipe that is slow is one, and those who wait to write
// into the pipe are not. Nor is one that waits for such a thread.

// workedFor is the part of the waits that must be ended by those who do what another finding tells.
const workedFor = 0.8

// functionsOf are the functions of each finding and on the way to it, as module/function.
func (s *Search) functionsOf(list []Bottleneck) [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([][]string, len(list))
	for i, b := range list {
		for _, id := range b.Chain {
			if e := s.graph.nodes[id-1].focus.Elements(grid.Code); len(e) >= 2 {
				all[i] = append(all[i], e[0]+"/"+e[1])
			}
		}
	}
	return all
}

// explainWaits marks the findings whose threads wait for what others tell: at first for those who compute, then for those who wait for these.
func explainWaits(list []Bottleneck, functions [][]string) {
	told := func(i int) bool { return list[i].Kind == "cpu" && !list[i].Note || list[i].Explained != 0 }
	for changed := true; changed; {
		changed = false
		for i := range list {
			b := &list[i]
			if b.Kind == "cpu" || b.Explained != 0 {
				continue
			}
			share, by := 0.0, 0
			for _, h := range b.Holders {
				for j := range list {
					if j == i || !h.Wakes || !told(j) || !slices.Contains(functions[j], h.Function) {
						continue
					}
					if share += h.Share; by == 0 {
						by = list[j].Node
					}
					break
				}
			}
			if share >= workedFor {
				b.Explained, b.Note, changed = by, true, true
			}
		}
	}
}
