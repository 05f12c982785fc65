// Package victims says which findings are explained by others: a thread that waits for another one which works is no bottleneck of its own. The reader of a
// pipe that is slow is one, and those who wait to write into the pipe are not; nor is one that waits for such a thread.
//
// It is pure.
package victims

import (
	"cmp"
	"slices"

	"culprit/grid"
)

// workedFor is the part of the waits that must be ended by those who do what another finding tells.
const workedFor = 0.8

// A Finding is what of a finding says who waits for whom. Explain sets By.
type Finding struct {
	Node     int
	Phase    string  // in which it was found: only findings of the same one explain it
	Function string  // where it is, as module/function; "" where it has none
	Own      string  // the same; of a function of a language's library the one of the program that calls it
	Computes bool    // its threads run
	Starves  bool    // the whole program waits for CPUs
	Ended    bool    // processes that ended soon have the time
	Note     bool    // it is no bottleneck
	Stands   bool    // nobody explains it, whoever is waited for
	Stake    float64 // share of the program's active time that would be gained at most; of one that explains others with theirs
	Holders  []grid.Holder
	By       int // the node of the finding that its threads wait for, 0 if there is none
}

// Explain marks the findings whose threads wait for what others tell: at first for those who work, which a finding of computing tells, or who have no CPU
// to work, which one of the whole program tells; then for those who wait themselves and are explained. Who computes has their stakes: without it nobody
// would wait.
func Explain(list []Finding) {
	for changed := true; changed; {
		changed = false
		for i := range list {
			f := &list[i]
			if f.Computes || f.By != 0 || f.Stands {
				continue
			}
			if share, by := explanation(list, i); share >= workedFor {
				f.By, changed = by, true
			}
		}
	}
	for i := range list {
		if f := list[i]; f.By != 0 {
			if by := root(list, f.By); by != nil && by.Computes {
				by.Stake = min(1, by.Stake+f.Stake)
			}
		}
	}
}

// root is the finding that explains a node and that nobody explains; nil if there is none.
func root(list []Finding, node int) *Finding {
	for range list {
		i := slices.IndexFunc(list, func(f Finding) bool { return f.Node == node })
		switch {
		case i < 0:
			return nil
		case list[i].By == 0:
			return &list[i]
		}
		node = list[i].By
	}
	return nil
}

// explanation is which part of the waits of a finding others explain, and the node of the first that does.
func explanation(list []Finding, of int) (share float64, by int) {
	for _, h := range list[of].Holders {
		if !h.Wakes {
			continue
		}
		for j, o := range list {
			if j == of || o.Phase != list[of].Phase {
				continue
			}
			if part := o.tells(h); part > 0 {
				share, by = share+part, cmp.Or(by, o.Node)
				break
			}
		}
	}
	return share, by
}

// tells is which part of the waits that a thread ends a finding explains.
func (o Finding) tells(h grid.Holder) (part float64) {
	here := o.Function != "" && o.Function == h.Function
	switch {
	case here && o.Computes && !o.Note:
		return h.Works + h.Delayed // it would compute there if it had a CPU
	case o.Computes && !o.Note && (o.isOf(h.Thread) || o.Own != "" && o.Own == h.Function):
		return h.Wholly
	case o.Ended && !o.Note && h.Thread == grid.EndedProcesses:
		return h.Share
	case here && o.By != 0 && h.Works < h.Share/2: // it waits most of the time
		return h.Share
	case o.Starves && !o.Note && h.Delayed > h.Works:
		return h.Works + h.Delayed
	}
	return 0
}

// isOf reports whether a thread was seen to compute what a finding tells.
func (o Finding) isOf(thread string) bool {
	return slices.ContainsFunc(o.Holders, func(h grid.Holder) bool { return h.Computes && h.Thread == thread })
}
