package pcl

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A Grouping is a hierarchy of a higher level: its items stand for resources of the fixed hierarchies.
type Grouping struct {
	Name  string
	Items []GroupingItem
	index map[string]int // of Items by name
}

// A GroupingItem is one name of a Grouping with the foci it stands for. A focus on it is the union of them: what several of
// them share, or call each other, counts once.
type GroupingItem struct {
	Grouping string
	Name     string
	Foci     []grid.Focus
	Base     grid.Hierarchy // in which all Foci are refined, and nowhere else
}

// Focus is the focus that selects the item.
func (it *GroupingItem) Focus() grid.Focus { return grid.Whole().WithItem(it.Grouping, it.Name) }

// Paths are the elements of the foci below Base.
func (it *GroupingItem) Paths() [][]string {
	out := make([][]string, len(it.Foci))
	for i, f := range it.Foci {
		out[i] = f.Elements(it.Base)
	}
	return out
}

// UnknownItem says that a focus selects an item that no text defines.
type UnknownItem struct {
	Focus   grid.Focus
	Nearest string // the nearest item that the hierarchy has; ""
}

// Error names the item and the nearest one that exists.
func (u *UnknownItem) Error() string {
	h, item, _ := u.Focus.Item()
	msg := fmt.Sprintf("%v: the hierarchy %s has no item %q, expected one that it has", u.Focus, h, item)
	if u.Nearest != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", u.Nearest)
	}
	return msg
}

// Defined lists the names of the hierarchies that texts define; grid.ParseFocus and grid.ParsePair take them.
func (l *Library) Defined() []string {
	var out []string
	for _, g := range l.groupings {
		out = append(out, g.Name)
	}
	return out
}

// Item returns the item that the focus selects, nil if it selects none. The error is *UnknownItem.
func (l *Library) Item(focus grid.Focus) (*GroupingItem, error) {
	hierarchy, name, ok := focus.Item()
	if !ok {
		return nil, nil
	}
	if g := l.grouping(hierarchy); g != nil {
		if it := g.find(name); it != nil {
			return it, nil
		}
		return nil, &UnknownItem{Focus: focus, Nearest: syntax.Closest(name, g.names())}
	}
	return nil, &UnknownItem{Focus: focus}
}

// Items lists the items of a defined hierarchy in order, nil if no text defines it. They must not be changed.
func (l *Library) Items(hierarchy string) []*GroupingItem {
	var out []*GroupingItem
	if g := l.grouping(hierarchy); g != nil {
		for i := range g.Items {
			out = append(out, &g.Items[i])
		}
	}
	return out
}

func (l *Library) grouping(name string) *Grouping {
	i := slices.IndexFunc(l.groupings, func(g Grouping) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return &l.groupings[i]
}

func (g *Grouping) find(name string) *GroupingItem {
	if i, ok := g.index[name]; ok {
		return &g.Items[i]
	}
	return nil
}

func (g *Grouping) names() []string {
	var out []string
	for _, it := range g.Items {
		out = append(out, it.Name)
	}
	return out
}

// Functions are the functions of a target that an item of code stands for, each once, excluded ones left out: those of its
// modules, and those that it names. The functions of its loops are not among them.
func (l *Library) Functions(it *GroupingItem, env Env) []FuncID {
	if it.Base != grid.Code {
		return nil
	}
	c := &compiler{lib: l, env: env}
	var ids []FuncID
	for _, p := range it.Paths() {
		ids = append(ids, c.functionsAt(p)...)
	}
	return unique(ids)
}

// functionsAt are the functions of a path of /Code that is a module or a function.
func (c *compiler) functionsAt(path []string) []FuncID {
	switch {
	case len(path) == 1 && !c.lib.Excluded(path[0], ""):
		return c.moduleFuncs(path[0])
	case len(path) == 2 && !c.lib.Excluded(path[0], path[1]):
		return c.env.Function(path[0], path[1])
	}
	return nil
}

// Missing says that a target has nothing of a path of /Code, and what it has instead.
func (l *Library) Missing(path []string, env Env) *NoFunction {
	c := &compiler{lib: l, env: env}
	what := "module"
	switch {
	case len(path) == 3 && len(env.Function(path[0], path[1])) > 0:
		what = "loop"
	case len(path) > 1:
		what = "function"
	}
	at := grid.ErrRefused{Point: grid.Whole().Refine(grid.Code, path...).String(), Reason: "the target has no such " + what}
	if what != "loop" {
		at.Reason += c.instead(path)
	}
	return &NoFunction{Name: path[min(len(path), 2)-1], At: &at}
}

// doc writes a row for each item.
func (g Grouping) doc(sb *strings.Builder) {
	for i := range g.Items {
		var of []string
		for _, f := range g.Items[i].Foci {
			of = append(of, "`"+f.String()+"`")
		}
		fmt.Fprintf(sb, "| `%v` | %s |\n", g.Items[i].Focus(), strings.Join(of, ", "))
	}
}

// Beyond lists the requests of the plan that an older plan of the same pair does not have.
func (p *Plan) Beyond(old *Plan) []Request {
	had := map[string]bool{}
	for i := range old.Requests {
		had[old.writer().request(&old.Requests[i])] = true
	}
	var out []Request
	for i := range p.Requests {
		if !had[p.writer().request(&p.Requests[i])] {
			out = append(out, p.Requests[i])
		}
	}
	return out
}
