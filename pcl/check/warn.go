package check

import (
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// Warnings tells what is sound but most likely not meant: counters and lists that nothing uses, flags that are never reset,
// timers that are never stopped, code that no constraint has an effect on. Nothing was left out because of it. They come in
// the order of loading, a bounded number of them; all have SeverityWarning. kept says which names the kernel knows.
func Warnings(l *pcl.Library, kept Kept) []Problem {
	w := &warner{lib: l, kept: kept, used: map[string]bool{}, hypotheses: map[string]*pcl.Hypothesis{}}
	for _, h := range l.Hypotheses() {
		w.hypotheses[h.Name] = h
	}
	for _, d := range l.Trees() {
		w.uses(d)
	}
	for _, d := range l.Trees() {
		w.definition(d)
	}
	return w.found.all()
}

// A warner looks at the definitions that are in force as they are written.
type warner struct {
	lib        *pcl.Library
	kept       Kept
	used       map[string]bool // names in code, and constraints that metrics name
	hypotheses map[string]*pcl.Hypothesis
	found      problemList
}

func (w *warner) warn(pos syntax.Pos, format string, args ...any) {
	p := problemAt(pos, format, args...)
	p.Severity = SeverityWarning
	w.found.add(p)
}

// uses notes what a definition names.
func (w *warner) uses(d *syntax.Def) {
	if d.Base != nil {
		w.walk(d.Base.Body.Walk)
	}
	for _, it := range d.Items {
		w.walk(it.Expr.Walk)
		for _, e := range it.Exprs {
			w.walk(e.Walk)
		}
		if it.Base != nil {
			w.walk(it.Base.Body.Walk)
		}
		if it.Def != nil {
			w.used["constraint "+it.Def.Name] = w.used["constraint "+it.Def.Name] || it.Def.Path == nil
			w.uses(it.Def)
		}
	}
}

func (w *warner) walk(walk func(func(*syntax.Expr) bool)) {
	walk(func(e *syntax.Expr) bool {
		if e.Kind == syntax.Ident {
			w.used[e.Text] = true
		}
		return true
	})
}

func (w *warner) definition(d *syntax.Def) {
	w.hashes(d)
	switch d.Keyword {
	case "resourceList":
		w.flavors(d)
		if !w.used[d.Name] && d.Name != kindsList && d.Name != pcl.OwnLocks {
			w.warn(d.Pos, "resourceList %s: found a list that nothing uses, expected foreach f in %s in some metric; remove it or use it", d.Name, d.Name)
		}
	case "constraint":
		if !w.used["constraint "+d.Name] {
			w.warn(d.Pos, "constraint %s: found a constraint that no metric has, expected the item constraint %s; in some metric", d.Name, d.Name)
		}
		w.constraint(d)
	case "metric":
		w.metric(d)
	case "hypothesis":
		w.hypothesis(d)
	case "expect":
		w.expect(d)
	case "trace":
		w.warn(d.Pos, "trace %s: found a trace, expected what this version can run: it needs %s; nothing will be recorded", d.Name, traceNeeds)
	}
}
