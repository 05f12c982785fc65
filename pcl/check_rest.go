package pcl

import (
	"culprit/grid"
	"culprit/pcl/syntax"
)

// A Record is a daemon, process or visi definition: named values. Numbers and booleans are as written.
type Record struct {
	Name   string
	Values map[string]string
}

func (b *builder) checkRecord(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "command")
	}
	if err != nil {
		return err
	}
	r := Record{Name: d.Name, Values: map[string]string{}}
	for key, it := range have {
		r.Values[key] = it.Values[0].Text
	}
	b.lib.records[d.Keyword] = append(b.lib.records[d.Keyword], r)
	return nil
}

// A Grouping is a hierarchy of a higher level: its items stand for resources of the fixed hierarchies.
type Grouping struct {
	Name  string
	Items []GroupingItem
}

// A GroupingItem is one name of a Grouping with the foci it stands for.
type GroupingItem struct {
	Name string
	Foci []grid.Focus
}

func (b *builder) checkHierarchy(d *syntax.Def) error {
	if _, err := grid.ParseHierarchy(d.Name); err == nil {
		return errorAt(d.Pos, "hierarchy %s: found the name of a fixed hierarchy, expected another one", d.Name)
	}
	g := Grouping{Name: d.Name}
	for _, it := range d.Items {
		item := GroupingItem{Name: it.Values[0].Text}
		for _, v := range it.Values[1:] {
			f, err := grid.ParseFocus(v.Text)
			if err != nil {
				return errorAt(v.Pos, "hierarchy %s: found a bad path: %v", d.Name, err)
			}
			item.Foci = append(item.Foci, f)
		}
		for _, other := range g.Items {
			if other.Name == item.Name {
				return errorAt(it.Pos, "hierarchy %s: found the item %q a second time, expected it once", d.Name, item.Name)
			}
		}
		g.Items = append(g.Items, item)
	}
	b.lib.groupings = append(b.lib.groupings, g)
	return nil
}

// checkTrace checks a trace; nothing can record events yet, which CompileTrace says.
func (b *builder) checkTrace(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "at", "record")
	}
	if err != nil {
		return err
	}
	c := &codeChecker{b: b, own: d.Name, ownType: tVoid, out: &body{}, vars: map[string]typ{}, lists: map[string]bool{}}
	if t := c.expr(have["at"].Expr); c.err == nil && !t.isPoint() {
		c.fail(have["at"].Expr.Pos, "found %v, expected a point such as $function(\"name\").entry", t)
	} else {
		c.point = t
	}
	for _, e := range have["record"].Exprs {
		c.expr(e)
	}
	if c.err != nil {
		return c.err
	}
	b.lib.traces[d.Name] = &Unsupported{Pos: d.Pos, What: "the trace " + d.Name, Needs: "event records in ring buffers of the threads"}
	return nil
}

// CompileTrace would compile a trace; this version answers with an *Unsupported for every trace that is defined.
func (l *Library) CompileTrace(name string) error {
	if u, ok := l.traces[name]; ok {
		return u
	}
	return errorAt(syntax.Pos{}, "no trace of the name %q is defined", name)
}
