package daemon

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// A function that has code of its own may be inlined in others besides. Calls from there do not come by its entry, so they are not counted:
// a number that looks complete would not be.

// maxInlinedAsked bounds the functions of a pair that are looked at: metrics of more are about the program, not about functions that
// somebody has named.
const maxInlinedAsked = 16

// InlinedToo says which functions of a pair that is measured are inlined as well, and in how many places; "" if none is known to be. It
// reads the DWARF of the files that have them when it is first asked, which may take a second.
func (d *Daemon) InlinedToo(key grid.PairKey) string {
	var lines []string
	for _, f := range d.namedBy(key) {
		places := f.obj.InlinedToo(f.fn)
		if places == 0 {
			continue
		}
		line := fmt.Sprintf("%s is inlined at %d places: those calls are not counted", safetext.CleanMax(f.fn.Name, 100), places)
		if places == 1 {
			line = strings.Replace(line, "1 places: those", "1 place: those", 1)
		}
		if !slices.Contains(lines, line) { // several processes run one program
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// namedBy are the functions at whose entries and exits a pair counts, but for those of lists of libraries.
func (d *Daemon) namedBy(key grid.PairKey) (all []*function) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pairs[key]
	if p == nil {
		return nil
	}
	parts := p.parts
	if p.keyed != nil {
		parts = p.keyed.of.parts
	}
	for _, pt := range parts {
		if pt.estimate != nil {
			continue
		}
		for _, r := range pt.plan.Requests {
			f := pt.t.funcs[r.Func]
			if f == nil || r.Listed || r.Follows || r.Where != pcl.Entry && r.Where != pcl.Return || !f.obj.HasDwarf() || slices.Contains(all, f) {
				continue
			}
			if all = append(all, f); len(all) > maxInlinedAsked {
				return nil
			}
		}
	}
	return all
}
