package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/pcl/compile"
)

// What a value does not tell of, so that a number that looks right and is not comes with a word.

// maxInlinedAsked bounds the functions of a pair that are looked at: metrics of more are about the program, not about functions that
// somebody has named.
const maxInlinedAsked = 16

// Notes say what the value of a pair does not tell of, "" if nothing is known: that one name means functions of several modules, calls of
// functions that are inlined as well, numbers that are added although nobody says of which type they are, and so on. It reads the DWARF of the files that have
// the functions when it is first asked, which may take a second.
func (d *Daemon) Notes(key grid.PairKey) string {
	lines := slices.Concat(d.sharedNames(key), d.ownToo(key), d.missingParts(key), d.inlinedToo(key), d.jumpsAway(key), d.unloaded(key), d.untyped(key), d.leftOut(key), d.absent(key), d.unseenHandlers(key), d.lateJoins(key), d.unseenChildren(key), d.sharedBlocks(key), d.overwritten(key), d.neverReturns(key))
	if why := d.Unseen(key.Metric); why != "" {
		lines = append(lines, why)
	}
	return strings.Join(lines, "; ")
}

// sharedNames says which of a pair's names mean functions of several modules, whose calls are counted together.
func (d *Daemon) sharedNames(key grid.PairKey) (lines []string) {
	modules := map[string][]string{} // by function
	for _, f := range d.namedBy(key) {
		if of := modules[f.Fn.Name]; !slices.Contains(of, f.Fn.Module) {
			modules[f.Fn.Name] = append(of, f.Fn.Module)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		of := modules[name]
		if len(of) < 2 {
			continue
		}
		slices.Sort(of)
		lines = append(lines, fmt.Sprintf("%s is in %s: their calls are counted together; /Code/%s/%[1]s is one of them",
			safetext.CleanMax(name, 100), safetext.CleanMax(strings.Join(of, ", "), 300), safetext.CleanMax(of[0], 100)))
	}
	return lines
}

// ownToo says which functions of libraries a pair counts though the program has one of its own that is called so in some scope.
func (d *Daemon) ownToo(key grid.PairKey) (lines []string) {
	named := d.namedBy(key)
	for _, f := range named {
		main := f.in.Main()
		if f.Obj == main {
			continue
		}
		var own []string
		for _, m := range main.Meant(f.Fn.Name) {
			if slices.ContainsFunc(named, func(n namedFunction) bool { return n.Fn == m.Fn }) {
				continue // it is counted, too
			}
			own = addLine(own, safetext.CleanMax(m.Fn.Name, 100))
		}
		if len(own) > 0 {
			lines = addLine(lines, fmt.Sprintf("%s is that of %s; the program's %s is not counted", safetext.CleanMax(f.Fn.Name, 100), safetext.CleanMax(f.Fn.Module, 100), few(own)))
		}
	}
	return lines
}

// few names some of many things.
func few(names []string) string {
	if n := len(names) - mostNamed; n > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// missingParts says what of the item of a hierarchy no target has. Parts that may come later, as locks and files do, are not named.
func (d *Daemon) missingParts(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	it := d.itemOf(key.Focus)
	if it == nil || it.Base != grid.Code {
		return nil
	}
	missing := it.Paths()
	var without *measured
	for _, t := range d.targets {
		if !t.Covers(key.Focus) || !t.hasItem(it) {
			continue
		}
		without = t
		missing = slices.DeleteFunc(missing, func(p []string) bool { return t.HasPart(it, p) })
	}
	if without == nil {
		return nil
	}
	for _, p := range missing[:min(len(missing), mostNamed)] {
		lines = addLine(lines, compile.Missing(p, without).Error())
	}
	if n := len(missing) - mostNamed; n > 0 {
		lines = append(lines, fmt.Sprintf("%d more parts of %v are missing", n, it.Focus()))
	}
	return lines
}

// inlinedToo says which functions of a pair are inlined as well, and in how many places. Calls from there do not come by the function's
// entry, so they are not counted.
func (d *Daemon) inlinedToo(key grid.PairKey) (lines []string) {
	for _, f := range d.namedBy(key) {
		places := f.Obj.InlinedToo(f.Fn)
		if places == 0 {
			continue
		}
		line := fmt.Sprintf("%s is inlined at %d places: those calls are not counted", safetext.CleanMax(f.Fn.Name, 100), places)
		if places == 1 {
			line = strings.Replace(line, "1 places: those", "1 place: those", 1)
		}
		lines = addLine(lines, line)
	}
	return lines
}

// addLine adds a line once: several processes run one program.
func addLine(lines []string, line string) []string {
	if slices.Contains(lines, line) {
		return lines
	}
	return append(lines, line)
}

// jumpsAway says at which exits of the functions of a pair its timers and flags end too early.
func (d *Daemon) jumpsAway(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := map[*program.Function]bool{}
	for _, c := range d.plansOf(key) {
		for _, r := range c.plan.Requests {
			f := c.t.Func(r.Func)
			if f == nil || seen[f] || r.Listed || r.Follows || !r.EndsActivations() {
				continue
			}
			if seen[f] = true; len(seen) > maxInlinedAsked {
				return nil
			}
			if line := c.t.jumpsAway(f); line != "" {
				lines = addLine(lines, line)
			}
		}
	}
	return lines
}

// unloaded says which libraries went while a pair had probes in them. When one comes again it runs without probes until that is seen.
func (d *Daemon) unloaded(key grid.PairKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	times := map[string]int{}
	for _, pt := range d.partsOf(key) {
		for name, n := range pt.unloaded {
			times[name] += n
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(times)) {
		lines = append(lines, fmt.Sprintf("%s was unloaded (seen %d times): its calls are not counted from when it is loaded again until probes are in it",
			safetext.CleanMax(name, 100), times[name]))
	}
	return lines
}

// leftOut says which functions of a pair that is measured take no probes.
func (d *Daemon) leftOut(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, pt := range d.partsOf(key) {
		for _, line := range pt.leftOut {
			lines = addLine(lines, line)
		}
	}
	return lines
}

// overwritten says which functions of a pair call themselves while a counter holds something from their entry for their return: the inner call sets
// it anew.
func (d *Daemon) overwritten(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.plansOf(key) {
		kept := keptInside(c.plan)
		if len(kept) > maxInlinedAsked {
			return nil
		}
		for id, v := range kept {
			if f := c.t.Func(id); f != nil && c.t.callsItself(id) {
				lines = addLine(lines, fmt.Sprintf("%[1]s calls itself, which sets %[2]s anew: at its return %[2]s is of the innermost call", safetext.CleanMax(f.Fn.Name, 100), c.plan.Vars[v].Name))
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
func (t *measured) callsItself(id pcl.FuncID) bool {
	return slices.ContainsFunc(t.CallSites(id), func(s pcl.CallSite) bool { return s.Callee == id })
}

// neverReturns says which code of a pair at returns never runs, since the function never returns by itself.
func (d *Daemon) neverReturns(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.plansOf(key) {
		for _, r := range c.plan.Requests {
			if !r.Listed && !r.Follows && !r.EndsActivations() && c.t.neverComesBack(&r) {
				if lines = addLine(lines, fmt.Sprintf("%s never returns by itself: the code at its return never runs", safetext.CleanMax(c.t.Func(r.Func).Fn.Name, 100))); len(lines) > mostNamed {
					return lines
				}
			}
		}
	}
	return lines
}

// absent says which names of a pair's own lists mean nothing in any of the targets.
func (d *Daemon) absent(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	missing := map[string]int{}
	plans := d.plansOf(key)
	for _, c := range plans {
		for _, none := range c.plan.Absent {
			missing[none.Error()]++
		}
	}
	for _, line := range slices.Sorted(maps.Keys(missing)) {
		if missing[line] == len(plans) {
			lines = append(lines, line)
		}
	}
	if n := len(lines) - mostNamed; n > 0 {
		lines = append(lines[:mostNamed], fmt.Sprintf("%d more names of its lists mean nothing", n))
	}
	return lines
}

// unseenHandlers says which files of a target handle exceptions where no probe sees it, if a pair has calls that an exception may leave.
func (d *Daemon) unseenHandlers(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.plansOf(key) {
		mayBeLeft := func(r pcl.Request) bool {
			f := c.t.Func(r.Func)
			return !r.Listed && len(r.Ends().Code) > 0 && f != nil && f.CallsOthers()
		}
		if !slices.ContainsFunc(c.plan.Requests, mayBeLeft) {
			continue
		}
		for _, name := range c.t.hiddenHandlers() {
			line := safetext.CleanMax(name, 100) + " handles exceptions where no probe can see it (its C++ run-time library is linked in, without names): a call that one leaves has no end here, and what is called later may count as its own"
			lines = addLine(lines, line)
		}
	}
	return lines
}

// untyped says which numbers of a pair are taken for 64 bits since nobody says of which type they are. The first is named.
func (d *Daemon) untyped(key grid.PairKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, c := range d.plansOf(key) {
		for _, what := range c.plan.Untyped {
			if !slices.Contains(all, what) {
				all = append(all, what)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return []string{fmt.Sprintf("the type of %s%s is not known: all 64 bits of the register count, in which an int of -1 is 4294967295 or has anything above its 32 bits; a cast such as (int), or (bool) of one byte, says what it is",
		safetext.CleanMax(all[0], 100), more)}
}

// Unseen says what of a metric cannot be seen in one of the targets wherever it is measured, "" if nothing: its values are too small by that.
func (d *Daemon) Unseen(metric string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name := d.missed[metric]; name != "" {
		return fmt.Sprintf("%s takes no probe: what happens in it is not seen", safetext.CleanMax(name, 100))
	}
	if !d.session.Library.Waits(metric) {
		return ""
	}
	for _, t := range d.targets {
		if len(t.Objects()) > 0 && t.Main().IsGo() {
			return fmt.Sprintf("%s is a Go program: a goroutine that waits has no thread, so that its wait is not seen", t.Name)
		}
	}
	return ""
}

// A namedFunction is a function of a pair, with the target that has it.
type namedFunction struct {
	*program.Function
	in *measured
}

// namedBy are the functions at whose entries and exits a pair counts, but for those of lists of libraries.
func (d *Daemon) namedBy(key grid.PairKey) (all []namedFunction) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.plansOf(key) {
		for _, r := range c.plan.Requests {
			f := c.t.Func(r.Func)
			if f == nil || r.Listed || r.Follows || r.Where != pcl.Entry && r.Where != pcl.Return || slices.ContainsFunc(all, func(n namedFunction) bool { return n.Function == f }) {
				continue
			}
			if all = append(all, namedFunction{f, c.t}); len(all) > maxInlinedAsked {
				return nil
			}
		}
	}
	return all
}

// plansOf are the plans of a pair that is measured, or was and could be again, in the targets that are patched. d.mu is held.
func (d *Daemon) plansOf(key grid.PairKey) (all []costed) {
	p := d.pairs[key]
	if p == nil {
		for _, t := range d.targets {
			if t.onlyLooked() || !t.Covers(key.Focus) { // one that has ended is still known
				continue
			}
			if plan, err := t.Compile(key); err == nil {
				all = append(all, costed{t, plan})
			}
		}
		return all
	}
	for _, pt := range d.partsOf(key) {
		if pt.meter.Tier() != grid.TierSample {
			all = append(all, costed{pt.t, pt.plan})
		}
	}
	return all
}

// partsOf are the parts that a pair is measured by, none if it is not measured. d.mu is held.
func (d *Daemon) partsOf(key grid.PairKey) []*part {
	switch p := d.pairs[key]; {
	case p == nil:
		return nil
	case p.keyed != nil:
		return p.keyed.of.parts
	default:
		return p.parts
	}
}
