package check

import (
	"regexp"
	"slices"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
)

// aggregated tells of an aggregateOperator that does less than it seems to.
func (w *warner) aggregated(d *syntax.Def) {
	style, by, probed := "", (*syntax.Item)(nil), false
	for _, it := range d.Items {
		switch {
		case it.Key == "style":
			style = first(it)
		case it.Key == "aggregateOperator":
			by = it
		case it.Base != nil:
			probed = it.Base.Body != nil
		}
	}
	if by != nil && first(by) != "sum" && style == "EventCounter" && probed {
		w.warn(by.Values[0].Pos, "metric %s: found aggregateOperator %s, expected sum: what the threads of a process have counted or timed is always added up; only the values of several processes are joined by %s",
			d.Name, first(by), first(by))
	}
}

func (w *warner) metric(d *syntax.Def) {
	u := usage{reads: map[string]bool{}, writes: map[string]bool{}}
	for _, it := range d.Items {
		if it.Base != nil {
			u.stmt(it.Base.Body)
			u.reads[it.Base.By] = true
		}
		if it.Def != nil && it.Def.Base != nil {
			u.stmt(it.Def.Base.Body)
		}
	}
	for _, it := range d.Items {
		name := first(it)
		switch {
		case it.Base != nil:
			w.body("metric "+d.Name, it.Base)
		case it.Def != nil:
			w.constraint(it.Def)
		case it.Key != "counter" || u.reads[name]:
		case u.writes[name]:
			w.warn(it.Pos, "metric %s: found the counter %s, which is set but never read, expected code that reads it; remove it", d.Name, name)
		default:
			w.warn(it.Pos, "metric %s: found the counter %s, which nothing uses, expected code that does; remove it", d.Name, name)
		}
	}
	w.aggregated(d)
	w.unconstrained(d)
	w.unsupported(d)
	w.flavors(d)
}

// unsupported tells what can be written and not be measured yet.
func (w *warner) unsupported(d *syntax.Def) {
	m := w.lib.Definition(d.Name)
	if m == nil || m.Def != d {
		return
	}
	bodies := []*pcl.Body{m.Base}
	for _, c := range m.Constraints {
		bodies = append(bodies, c.Body)
	}
	for _, b := range bodies {
		if b != nil && b.Unsupported != nil {
			w.warn(b.Unsupported.Pos, "metric %s: found %s, expected what this version can measure: it needs %s; the metric will be refused when it is asked for",
				d.Name, b.Unsupported.What, b.Unsupported.Needs)
		}
	}
}

// unconstrained: flags that no code waits for restrict nothing, so the metric would show the whole program at every focus.
func (w *warner) unconstrained(d *syntax.Def) {
	m := w.lib.Definition(d.Name)
	if m == nil || m.Def != d || m.Base.Block == nil || m.Base.Constrained {
		return
	}
	for _, c := range m.Constraints {
		if c.Body != nil && !c.Replace && m.Base.Inserts {
			w.warn(m.Base.Pos, "metric %s: found the constraint %s but no code in the base that is constrained, expected append preInsn ... constrained (* ... *); "+
				"without it the metric is refused at every focus but the whole program", d.Name, c.Ident)
			return
		}
	}
}

// A usage notes which variables code reads and which it changes.
type usage struct{ reads, writes map[string]bool }

func (u usage) stmt(s *syntax.Stmt) {
	for _, c := range allCode(s) {
		u.expr(c.Cond)
		switch e := c.Expr; e.Kind {
		case syntax.Assign:
			u.writes[e.X.Text] = true
			u.expr(e.Y)
		case syntax.PostInc:
			u.writes[e.X.Text] = true
		default:
			u.expr(e)
		}
	}
}

func (u usage) expr(e *syntax.Expr) {
	e.Walk(func(e *syntax.Expr) bool {
		if e.Kind == syntax.Ident {
			u.reads[e.Text] = true
		}
		return true
	})
}

// flavors tells of names that are those of no target: what is for them only is refused everywhere, or empty.
func (w *warner) flavors(d *syntax.Def) {
	for _, it := range d.Items {
		if it.Key != "flavor" {
			continue
		}
		for _, v := range it.Values {
			if !slices.Contains(flavors, v.Text) {
				w.warn(v.Pos, "%s %s: found the flavor %s, expected one of %s%s; no target is of this one", d.Keyword, d.Name, v.Text, strings.Join(flavors, ", "),
					syntax.DidYouMean(v.Text, flavors))
			}
		}
	}
}

// rustHash is what the compiler of Rust puts behind a name; it changes with each build.
var rustHash = regexp.MustCompile(`::h[0-9a-f]{16}$`)

// hashes tells of names of functions that hold for one build only: functions are known by their names without the hash.
func (w *warner) hashes(d *syntax.Def) {
	tell := func(pos syntax.Pos, name string) {
		if at := rustHash.FindStringIndex(name); at != nil {
			w.warn(pos, "%s %s: found the name %q with the hash of one build, expected it without: %q", d.Keyword, d.Name, name, name[:at[0]])
		}
	}
	look := func(e *syntax.Expr) bool {
		if e.Kind == syntax.Literal {
			tell(e.Pos, e.Text)
		}
		return true
	}
	if d.Base != nil {
		d.Base.Body.Walk(look)
	}
	for _, it := range d.Items {
		if it.Base != nil {
			it.Base.Body.Walk(look)
		}
		if it.Def != nil {
			w.hashes(it.Def)
		}
		if it.Key == "items" {
			for _, v := range it.Values {
				tell(v.Pos, v.Text)
			}
		}
	}
}
