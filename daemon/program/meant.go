package program

import (
	"fmt"
	"slices"
	"strings"

	"culprit/daemon/image"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// Bounds of what an error says: functions that a name may mean, and similar names; and for how many names it is looked why they mean nothing, which
// takes milliseconds for each.
const (
	maxMay     = 8
	maxNearest = 5
	maxAsked   = 16
)

// A meaning is what a name means in a program.
type meaning struct {
	ids []pcl.FuncID
	err error
}

// A dictionary remembers what names mean, as a finder does.
type dictionary struct {
	changes int
	of      map[string]meaning
	asked   int // names that meant nothing
}

// Meant implements pcl.Env.
func (p *Program) Meant(name string) ([]pcl.FuncID, error) {
	d := &p.meant
	if d.of == nil || d.changes != p.changes || len(d.of) >= maxFound {
		*d = dictionary{changes: p.changes, of: map[string]meaning{}}
	}
	m, ok := d.of[name]
	if !ok {
		m.ids, m.err = p.mean(name)
		d.of[name] = m
	}
	return slices.Clone(m.ids), m.err
}

// mean looks a name up: as it is, then as what people leave out of names, then as a glob. A function of the program whose parameters alone were
// left out comes before one of a library that is called so. One that only programs of old can call, such as the C library's step@GLIBC_2.2.5,
// comes last: hardly anybody knows that it is there.
func (p *Program) mean(name string) ([]pcl.FuncID, error) {
	ids := p.Named(name)
	if now := slices.DeleteFunc(slices.Clone(ids), func(id pcl.FuncID) bool { return p.funcs[id].Fn.OldVersion() }); len(now) > 0 {
		ids = now
	} else {
		if own, err := p.loosely(name); len(own) > 0 || err != nil {
			return own, err
		}
	}
	if len(ids) > 0 {
		if own := p.ofProgram(name); len(own) > 0 && !slices.ContainsFunc(ids, func(id pcl.FuncID) bool { return p.Main().Holds(uint64(id)) }) {
			return own, nil
		}
		return ids, nil
	}
	if strings.ContainsAny(name, "*?") {
		if ids := p.glob(name); len(ids) > 0 {
			return ids, nil
		}
	}
	return nil, p.noSuch(name)
}

// A candidate is a function that a name may mean, with the object that has it.
type candidate struct {
	image.Meant
	o *Object
}

// loosely finds the functions that a name fits best. Those of different scopes are not the same function: then it is an error.
func (p *Program) loosely(name string) (ids []pcl.FuncID, err error) {
	var best []candidate
	for _, o := range p.list {
		for _, m := range o.Meant(name) {
			if m.Fn.OldVersion() {
				continue // it is called by its whole name, or not at all
			}
			if len(best) > 0 && m.Fit < best[0].Fit {
				best = best[:0]
			}
			if len(best) == 0 || m.Fit == best[0].Fit {
				best = append(best, candidate{m, o})
			}
		}
	}
	if len(best) == 0 {
		return nil, nil
	}
	if may := scopes(best); len(may) > 1 {
		return nil, &pcl.NoFunction{Name: name, May: may}
	}
	for _, c := range best {
		ids = append(ids, p.Know(c.o, []*image.Function{c.Fn})...)
	}
	return Distinct(ids), nil
}

// ofProgram are the functions of the program of whose names nothing but parameters was left out.
func (p *Program) ofProgram(name string) (ids []pcl.FuncID) {
	own := p.Main()
	for _, m := range own.Meant(name) {
		if m.Fit == image.FitWhole {
			ids = append(ids, p.Know(own, []*image.Function{m.Fn})...)
		}
	}
	return Distinct(ids)
}

// scopes are the names of functions of different scopes, a few of each; one or none if all are of one scope.
func scopes(all []candidate) (names []string) {
	seen := map[string]bool{}
	for _, c := range all {
		if !seen[c.Scoped] {
			seen[c.Scoped] = true
			names = append(names, safetext.CleanMax(c.Fn.Name, 100))
		}
	}
	slices.Sort(names)
	if len(names) > maxMay {
		names = append(names[:maxMay], fmt.Sprintf("%d more", len(names)-maxMay))
	}
	return names
}

// glob finds the functions whose name, with or without parameters, or linkage name matches a pattern.
func (p *Program) glob(pattern string) (ids []pcl.FuncID) {
	match := pcl.Matcher(pattern, false)
	for _, o := range p.list {
		for _, fn := range o.Functions() {
			if fn.Named && (match(fn.Name) || fn.Linkage != "" && match(fn.Linkage) || fn.Linkage != fn.Name && match(image.Path(fn.Linkage))) {
				ids = append(ids, p.Know(o, []*image.Function{fn})...)
			}
		}
	}
	return Distinct(ids)
}

// noSuch says that a name means nothing, and of the first such names why that may be: DWARF knows what was inlined, symbols know what is called
// similarly.
func (p *Program) noSuch(name string) error {
	none := &pcl.NoFunction{Name: name}
	if p.meant.asked++; p.meant.asked > maxAsked {
		return none
	}
	places, inlined := 0, false
	for _, o := range p.list {
		if !o.CarriesDebug() {
			continue // the debug file of a C library takes a second to be gone through, and who asks for a name wants one of the program
		}
		if n, ok := o.Inlined(name); ok {
			places, inlined = places+n, true
		}
	}
	switch {
	case inlined && places == 0:
		none.Why = "nothing calls it, so the compiler has left it out"
	case inlined:
		none.Why = fmt.Sprintf("it is inlined everywhere (in %d places), so it has no entry and no return; build with -fno-inline, or with __attribute__((noinline)) on it", places)
	default:
		none.Nearest = p.similar(name)
	}
	return none
}

// similar lists functions with similar names: of the program itself and its own libraries first, where names were mistyped or have changed.
func (p *Program) similar(name string) []string {
	own := p.Main()
	objects := append([]*Object{own}, slices.DeleteFunc(slices.Clone(p.list), func(o *Object) bool { return o == own })...)
	last := lastPart(name)
	var found []string
	for _, o := range objects {
		shown := map[string]string{}
		var short, whole []string
		for _, fn := range o.Functions() {
			if !fn.Named {
				continue
			}
			path := fn.Scoped()
			own := lastPart(path)
			for _, n := range []string{path, own} {
				if shown[n] == "" {
					shown[n] = safetext.CleanMax(fn.Name, 100)
				}
			}
			short, whole = append(short, own), append(whole, path)
		}
		for _, s := range append(syntax.Similar(name, whole, maxNearest), syntax.Similar(last, short, maxNearest)...) {
			if !slices.Contains(found, shown[s]) {
				found = append(found, shown[s])
			}
		}
		if len(found) > 0 && o == own || len(found) >= maxNearest {
			break
		}
	}
	return found[:min(len(found), maxNearest)]
}

// lastPart is a name without its scopes and parameters.
func lastPart(name string) string {
	path, _, _ := strings.Cut(name, "(")
	if i := strings.LastIndex(path, "::"); i >= 0 {
		return path[i+2:]
	}
	return path
}
