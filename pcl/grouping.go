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

// Groupings are the hierarchies that texts define, in order of loading.
type Groupings []Grouping

// Defined lists the names of the hierarchies that texts define; grid.ParseFocus and grid.ParsePair take them.
func (l *Library) Defined() []string { return l.defs.Groupings.Names() }

// Item returns the item that the focus selects, nil if it selects none. The error is *UnknownItem.
func (l *Library) Item(focus grid.Focus) (*GroupingItem, error) { return l.defs.Groupings.Item(focus) }

// Items lists the items of a defined hierarchy in order, nil if no text defines it. They must not be changed.
func (l *Library) Items(hierarchy string) []*GroupingItem {
	var out []*GroupingItem
	if g := l.defs.Groupings.Named(hierarchy); g != nil {
		for i := range g.Items {
			out = append(out, &g.Items[i])
		}
	}
	return out
}

// Names lists the names of the hierarchies.
func (gs Groupings) Names() []string {
	var out []string
	for _, g := range gs {
		out = append(out, g.Name)
	}
	return out
}

// Item returns the item that the focus selects, nil if it selects none. The error is *UnknownItem.
func (gs Groupings) Item(focus grid.Focus) (*GroupingItem, error) {
	hierarchy, name, ok := focus.Item()
	if !ok {
		return nil, nil
	}
	if g := gs.Named(hierarchy); g != nil {
		if it := g.Find(name); it != nil {
			return it, nil
		}
		return nil, &UnknownItem{Focus: focus, Nearest: syntax.Closest(name, g.itemNames())}
	}
	return nil, &UnknownItem{Focus: focus}
}

// Named is the hierarchy of a name, nil if there is none.
func (gs Groupings) Named(name string) *Grouping {
	i := slices.IndexFunc(gs, func(g Grouping) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return &gs[i]
}

// Add puts an item behind the others.
func (g *Grouping) Add(it GroupingItem) {
	if g.index == nil {
		g.index = map[string]int{}
	}
	g.index[it.Name] = len(g.Items)
	g.Items = append(g.Items, it)
}

// Find is the item of a name, nil if there is none.
func (g *Grouping) Find(name string) *GroupingItem {
	if i, ok := g.index[name]; ok {
		return &g.Items[i]
	}
	return nil
}

func (g *Grouping) itemNames() []string {
	var out []string
	for _, it := range g.Items {
		out = append(out, it.Name)
	}
	return out
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
