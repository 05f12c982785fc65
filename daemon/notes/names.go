package notes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl/compile"
)

// What names mean, and what they do not.

// maxName bounds how much of a name is shown, in characters.
const maxName = 100

func clean(name string) string { return safetext.CleanMax(name, maxName) }

// sharedNames says which names mean functions of several modules, whose calls are counted together.
func sharedNames(all []named) (lines []string) {
	modules := map[string][]string{} // by function
	for _, f := range all {
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
			clean(name), safetext.CleanMax(strings.Join(of, ", "), 300), clean(of[0])))
	}
	return lines
}

// ownToo says which functions of libraries are counted though the program has one of its own that is called so in some scope.
func ownToo(all []named) (lines []string) {
	for _, f := range all {
		if f.Obj == f.main {
			continue
		}
		var own []string
		for _, m := range f.main.Meant(f.Fn.Name) {
			if slices.ContainsFunc(all, func(n named) bool { return n.Fn == m.Fn }) {
				continue // it is counted, too
			}
			own = addLine(own, clean(m.Fn.Name))
		}
		if len(own) > 0 {
			lines = addLine(lines, fmt.Sprintf("%s is that of %s; the program's %s is not counted", clean(f.Fn.Name), clean(f.Fn.Module), target.Few(own)))
		}
	}
	return lines
}

// missingParts says what of the item of a hierarchy no target has. Parts that may come later, as locks and files do, are not named.
func missingParts(p *Pair) (lines []string) {
	if p.Item == nil || p.Item.Base != grid.Code || len(p.Have) == 0 {
		return nil
	}
	missing := p.Item.Paths()
	for _, t := range p.Have {
		missing = slices.DeleteFunc(missing, func(path []string) bool { return t.HasPart(p.Item, path) })
	}
	last := p.Have[len(p.Have)-1]
	for _, path := range missing[:min(len(missing), target.MostNamed)] {
		lines = addLine(lines, compile.Missing(path, last).Error())
	}
	if n := len(missing) - target.MostNamed; n > 0 {
		lines = append(lines, fmt.Sprintf("%d more parts of %v are missing", n, p.Item.Focus()))
	}
	return lines
}

// absent says which names of a pair's own lists mean nothing in any of the targets.
func absent(plans []Plan) (lines []string) {
	missing := map[string]int{}
	for _, p := range plans {
		for _, none := range p.Absent {
			missing[none.Error()]++
		}
	}
	for _, line := range slices.Sorted(maps.Keys(missing)) {
		if missing[line] == len(plans) {
			lines = append(lines, line)
		}
	}
	if n := len(lines) - target.MostNamed; n > 0 {
		lines = append(lines[:target.MostNamed], fmt.Sprintf("%d more names of its lists mean nothing", n))
	}
	return lines
}

// untyped says which numbers are taken for 64 bits since nobody says of which type they are. The first is named.
func untyped(plans []Plan) []string {
	var all []string
	for _, p := range plans {
		for _, what := range p.Untyped {
			all = addLine(all, what)
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
		clean(all[0]), more)}
}
