package notes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"culprit/daemon/program"
	"culprit/daemon/sites"
	"culprit/daemon/target"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// Which calls of a function are not counted, or not to their ends.

// inlinedToo says which functions are inlined as well, and in how many places. Calls from there do not come by the function's entry, so
// they are not counted.
func inlinedToo(all []named) (lines []string) {
	for _, f := range all {
		switch places := f.Obj.InlinedToo(f.Fn); places {
		case 0:
		case 1:
			lines = addLine(lines, fmt.Sprintf("%s is inlined at 1 place: those calls are not counted", clean(f.Fn.Name)))
		default:
			lines = addLine(lines, fmt.Sprintf("%s is inlined at %d places: those calls are not counted", clean(f.Fn.Name), places))
		}
	}
	return lines
}

// jumpsAway says at which exits of the functions of a pair its timers and flags end too early.
func jumpsAway(plans []Plan) (lines []string) {
	seen := map[*program.Function]bool{}
	for _, p := range plans {
		for _, r := range p.Requests {
			f := p.Target.Func(r.Func)
			if f == nil || seen[f] || r.Listed || r.Follows || !r.EndsActivations() {
				continue
			}
			if seen[f] = true; len(seen) > MaxFunctions {
				return nil
			}
			if j := p.Target.Sites.JumpsAway(f); j.Count > 0 {
				lines = addLine(lines, jumpLine(f.Fn.Name, j))
			}
		}
	}
	return lines
}

func jumpLine(function string, j sites.Jumps) string {
	to := "functions that are not known"
	if len(j.To) > 0 {
		names := make([]string, min(len(j.To), target.MostNamed))
		for i := range names {
			names[i] = clean(j.To[i])
		}
		to = strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s leaves by a jump to %s at %d of its %d exits: what it does from there on is not in the value", clean(function), to, j.Count, j.Exits)
}

// neverReturns says which code at returns never runs, since the function never returns by itself.
func neverReturns(plans []Plan) (lines []string) {
	for _, p := range plans {
		for _, r := range p.Requests {
			if !r.Listed && !r.Follows && !r.EndsActivations() && p.Target.Sites.NeverComesBack(&r) {
				if lines = addLine(lines, clean(p.Target.FuncName(r.Func))+" never returns by itself: the code at its return never runs"); len(lines) > target.MostNamed {
					return lines
				}
			}
		}
	}
	return lines
}

// unseenHandlers says which files of a target handle exceptions where no probe sees it, if a pair has calls that an exception may leave.
func unseenHandlers(plans []Plan) (lines []string) {
	for _, p := range plans {
		mayBeLeft := func(r pcl.Request) bool {
			f := p.Target.Func(r.Func)
			return !r.Listed && len(r.Ends().Code) > 0 && f != nil && f.CallsOthers()
		}
		if !slices.ContainsFunc(p.Requests, mayBeLeft) {
			continue
		}
		for _, name := range p.Target.Sites.HiddenHandlers() {
			lines = addLine(lines, clean(name)+" handles exceptions where no probe can see it (its C++ run-time library is linked in, without names): a call that one leaves has no end here, and what is called later may count as its own")
		}
	}
	return lines
}

// overwritten says which functions call themselves while a counter holds something from their entry for their return: the inner call sets
// it anew.
func overwritten(plans []Plan) (lines []string) {
	for _, p := range plans {
		kept := keptInside(p.Plan)
		if len(kept) > MaxFunctions {
			return nil
		}
		for _, id := range slices.Sorted(maps.Keys(kept)) {
			if f := p.Target.Func(id); f != nil && callsItself(p.Target, id) {
				lines = addLine(lines, fmt.Sprintf("%[1]s calls itself, which sets %[2]s anew: at its return %[2]s is of the innermost call", clean(f.Fn.Name), p.Vars[kept[id]].Name))
			}
		}
	}
	return lines
}

// keptInside are the counters that are set at the entry of a function and read at its return, one for each function. Libraries' own lists are of
// functions that do not call themselves.
func keptInside(plan *pcl.Plan) map[pcl.FuncID]int {
	type at struct {
		f pcl.FuncID
		v int
	}
	set, kept := map[at]bool{}, map[pcl.FuncID]int{}
	for _, r := range plan.Requests {
		for _, in := range r.Code {
			if r.Where == pcl.Entry && !r.Listed && in.Op == pcl.OpSet && plan.Vars[in.Var].Kind == pcl.Counter {
				set[at{r.Func, in.Var}] = true
			}
		}
	}
	for _, r := range plan.Requests {
		for v := range plan.Vars {
			if r.Where == pcl.Return && set[at{r.Func, v}] && r.Reads(v) {
				kept[r.Func] = v
			}
		}
	}
	return kept
}

// callsItself reports whether a function has a direct call of itself.
func callsItself(t *target.Target, id pcl.FuncID) bool {
	return slices.ContainsFunc(t.CallSites(id), func(s pcl.CallSite) bool { return s.Callee == id })
}

// leftOut says which functions take no probes.
func leftOut(all []string) (lines []string) {
	for _, line := range all {
		lines = addLine(lines, line)
	}
	return lines
}

// LeftOut says that a function that somebody has named takes no probe.
func LeftOut(function string, why error) string {
	return fmt.Sprintf("%s takes no probe: its calls are not counted (%s)", clean(function), safetext.CleanMax(why.Error(), 300))
}

// unloaded says which libraries went while a pair had probes in them. When one comes again it runs without probes until that is seen.
func unloaded(times map[string]int) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(times)) {
		lines = append(lines, fmt.Sprintf("%s was unloaded, or the program dropped or replaced its code (seen %d times): from then until probes are in the code again its calls are not counted, and times may be wrong", clean(name), times[name]))
	}
	return lines
}
