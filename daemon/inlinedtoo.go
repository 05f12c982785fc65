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

// InlinedToo says which functions of a pair are inlined as well, and in how many places; "" if none is known to be. It
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
	for _, c := range d.plansOf(key) {
		for _, r := range c.plan.Requests {
			f := c.t.funcs[r.Func]
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

// plansOf are the plans of a pair that is measured, or was and could be again, in the targets that are patched. d.mu is held.
func (d *Daemon) plansOf(key grid.PairKey) (all []costed) {
	p := d.pairs[key]
	if p == nil {
		for _, t := range d.targets {
			if t.onlyLooked() || !t.selected(key.Focus) { // one that has ended is still known
				continue
			}
			if plan, err := t.compile(key); err == nil {
				all = append(all, costed{t, plan})
			}
		}
		return all
	}
	parts := p.parts
	if p.keyed != nil {
		parts = p.keyed.of.parts
	}
	for _, pt := range parts {
		if pt.estimate == nil {
			all = append(all, costed{pt.t, pt.plan})
		}
	}
	return all
}
