package sites

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// A function that ends in a jump to another one has no return value there: it is made by the other. What needs the value would
// miss those calls without a word, so it is refused. Lists of libraries name the functions that are jumped to as well: there it is left
// out at such exits, rather than fed with what happens to be in the register.

// mostNamed is how many functions an error names at most.
const mostNamed = 5

// resultLater refuses $return of a function that has such an exit.
func (s *Finder) resultLater(f *program.Function, r *pcl.Request) error {
	w := f.Flow()
	if r.Where != pcl.Return || r.Listed || r.Follows || w == nil || !r.ReadsReturn() {
		return nil
	}
	none := &pcl.NoResult{Function: safetext.CleanMax(f.Fn.Name, 100), Exits: len(w.Exits)}
	for _, e := range w.Exits {
		if e.Kind == image.ExitRet {
			continue
		}
		none.Jumps++
		g := s.Code.Callee(f.Obj, image.CallSite{Target: e.Target, Import: e.Import})
		if g == nil || g == f || len(none.To) == mostNamed {
			continue
		}
		if name := safetext.CleanMax(g.Fn.Name, 100); !slices.Contains(none.To, name) {
			none.To = append(none.To, name)
		}
	}
	if none.Jumps == 0 {
		return nil
	}
	return none
}
