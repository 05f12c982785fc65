package program

import (
	"strings"

	"culprit/daemon/image"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// What a terminal cannot show of a name is printed escaped, such as \x1b. People copy what is printed, so it is a name as well, where nothing is called so.

// printed reports whether a name may be the printed form of another one.
func printed(name string) bool {
	return strings.Contains(name, `\`)
}

// spelt is the module that is printed so, or the name itself.
func (p *Program) spelt(module string) string {
	if !printed(module) {
		return module
	}
	found := module
	for _, o := range p.list {
		for _, m := range o.Modules() {
			switch {
			case m == module:
				return module
			case safetext.Clean(m) == module:
				found = m
			}
		}
	}
	return found
}

// shownAs makes the functions known whose names are printed so.
func (p *Program) shownAs(n Name) (ids []pcl.FuncID) {
	for _, o := range p.list {
		fns := o.Functions()
		if n.Module != "" {
			fns = o.ModuleFunctions(n.Module)
		}
		for _, fn := range fns {
			if safetext.Clean(fn.Name) == n.Function {
				ids = append(ids, p.Know(o, []*image.Function{fn})...)
			}
		}
	}
	return ids
}
