package consultant

import "culprit/grid"

// A thread that waits for another one which works is no bottleneck of its own: the reader of a pipe that is slow is one, and those who wait to write
// into the pipe are not. Nor is one that waits for such a thread.

// workedFor is the part of the waits that must be ended by those who do what another finding tells.
const workedFor = 0.8

// functionsOf is the function of each finding, as module/function; "" where it has none.
func functionsOf(found []finding) []string {
	all := make([]string, len(found))
	for i := range found {
		if e := found[i].node.focus.Elements(grid.Code); len(e) >= 2 {
			all[i] = e[0] + "/" + e[1]
		}
	}
	return all
}

// explainWaits marks the findings whose threads wait for what others tell: at first for those who work, which a finding of computing tells, then
// for those who wait themselves and are explained.
func explainWaits(list []Bottleneck, functions []string) {
	for changed := true; changed; {
		changed = false
		for i := range list {
			b := &list[i]
			if b.Kind == "cpu" || b.Explained != 0 || b.stands {
				continue
			}
			if share, by := explanation(list, functions, i); share >= workedFor {
				b.Explained, b.Note, changed = by, true, true
			}
		}
	}
}

// explanation is which part of the waits of a finding others explain, and the node of the first that does.
func explanation(list []Bottleneck, functions []string, of int) (share float64, by int) {
	for _, h := range list[of].Holders {
		for j, o := range list {
			if j == of || !h.Wakes || functions[j] == "" || functions[j] != h.Function {
				continue
			}
			part := 0.0
			switch {
			case o.Kind == "cpu" && !o.Note:
				part = h.Works
			case o.Explained != 0 && h.Works < h.Share/2: // it waits most of the time
				part = h.Share
			}
			if share += part; part > 0 && by == 0 {
				by = o.Node
			}
		}
	}
	return share, by
}
