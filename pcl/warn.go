package pcl

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// Warnings tells what is sound but most likely not meant: counters and lists that nothing uses, flags that are never reset,
// timers that are never stopped, code that no constraint has an effect on. Nothing was left out because of it. They come in
// the order of loading, a bounded number of them; all have SeverityWarning.
func (l *Library) Warnings() []Problem {
	w := &warner{lib: l, used: map[string]bool{}, hypotheses: map[string]*Hypothesis{}}
	for _, h := range l.hypotheses {
		w.hypotheses[h.Name] = h
	}
	for _, d := range l.defs {
		w.uses(d)
	}
	for _, d := range l.defs {
		w.definition(d)
	}
	return w.found.all()
}

// KernelNames are the quantities that a base of kind kernel may name: what the daemon can take from the kernel.
var KernelNames = []string{"cpu_time", "wall_time", "blocked_time", "run_queue_wait", "active_threads", "number_of_cpus", "observed_cost", "pause_time",
	"cpu_user", "cpu_system", "minor_faults", "major_faults", "voluntary_switches", "forced_switches", "active_processes",
	"predicted_cost", "sampling_rate", "probes", "dropped_samples",
	"off_cpu", "blocked_futex", "blocked_file", "blocked_socket", "blocked_pipe", "blocked_poll", "blocked_sleep", "blocked_fault", "blocked_other",
	"preempted", "fault_time", "system_time", "io_block_bytes", "io_block_time", "net_bytes_sent", "net_bytes_received",
	"system_calls", "calls_futex", "calls_io", "calls_memory", "stolen"}

// A warner looks at the definitions that are in force as they are written.
type warner struct {
	lib        *Library
	used       map[string]bool // names in code, and constraints that metrics name
	hypotheses map[string]*Hypothesis
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
		if !w.used[d.Name] {
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
	m := w.lib.byName[d.Name]
	if m == nil || m.def != d {
		return
	}
	bodies := []*body{m.base}
	for _, c := range m.constraints {
		bodies = append(bodies, c.body)
	}
	for _, b := range bodies {
		if b != nil && b.unsupported != nil {
			w.warn(b.unsupported.Pos, "metric %s: found %s, expected what this version can measure: it needs %s; the metric will be refused when it is asked for",
				d.Name, b.unsupported.What, b.unsupported.Needs)
		}
	}
}

// unconstrained: flags that no code waits for restrict nothing, so the metric would show the whole program at every focus.
func (w *warner) unconstrained(d *syntax.Def) {
	m := w.lib.byName[d.Name]
	if m == nil || m.def != d || m.base.block == nil || hasConstrained(m.base.block) {
		return
	}
	for _, c := range m.constraints {
		if c.body != nil && !c.replace && hasInsertions(m.base.block) {
			w.warn(m.base.pos, "metric %s: found the constraint %s but no code in the base that is constrained, expected append preInsn ... constrained (* ... *); "+
				"without it the metric is refused at every focus but the whole program", d.Name, c.ident)
			return
		}
	}
}

// body looks for timers that run forever or never, and for loops that do not use their variable.
func (w *warner) body(of string, base *syntax.Base) {
	var start, stop *syntax.Expr
	for _, c := range allCode(base.Body) {
		if t, ok := timers[c.Expr.Text]; ok && c.Expr.Kind == syntax.Call {
			if t.start && start == nil {
				start = c.Expr
			} else if !t.start && stop == nil {
				stop = c.Expr
			}
		}
	}
	if base.Kind == "kernel" && !slices.Contains(KernelNames, base.Arg) {
		w.warn(base.Pos, "%s: found kernel(%q), expected what the kernel keeps, such as cpu_time or off_cpu%s; it will be refused when it is asked for", of, base.Arg,
			syntax.DidYouMean(base.Arg, KernelNames))
	}
	if base.Kind == "hwCounter" && !hasCode(base) && !isEvent(base.Arg) {
		w.warn(base.Pos, "%s: found hwCounter(%q), expected what perf list shows, such as instructions or LLC-load-misses, or a number such as r01c2%s; it will be refused when it is asked for", of, base.Arg,
			syntax.DidYouMean(base.Arg, EventNames()))
	}
	switch {
	case start != nil && stop == nil:
		w.warn(start.Pos, "%s: found %s but nothing that stops the timer, expected %s; it would run on for as long as the thread lives", of, start,
			strings.Replace(start.String(), "start", "stop", 1))
	case stop != nil && start == nil:
		w.warn(stop.Pos, "%s: found %s but nothing that starts the timer, expected %s; it would never run", of, stop,
			strings.Replace(stop.String(), "stop", "start", 1))
	}
	w.loops(of, base.Body)
	w.dear(of, base.Body)
}

func (w *warner) loops(of string, s *syntax.Stmt) {
	anyStmt(s, func(s *syntax.Stmt) bool {
		if s.Kind == syntax.Foreach && !namesIn(s.Body)[s.Var] {
			w.warn(s.Pos, "%s: found the loop variable %s, which nothing uses, expected a point of it, such as %s.entry; the loop inserts the same code again and again",
				of, s.Var, s.Var)
		}
		return false
	})
}

// constraint looks for flags that stay set, or that are never set.
func (w *warner) constraint(d *syntax.Def) {
	if d.Base == nil {
		return
	}
	w.body("constraint "+d.Name, d.Base)
	if d.Replace {
		return
	}
	var set, reset *syntax.Expr
	for _, c := range allCode(d.Base.Body) {
		on, off := setsOrResets(c.Expr, d.Name)
		if on && set == nil {
			set = c.Expr
		}
		if off && reset == nil {
			reset = c.Expr
		}
	}
	switch {
	case set == nil:
		w.warn(d.Pos, "constraint %s: found no code that sets the flag, expected (* %s = 1; *) where what is chosen begins; a metric would count nothing there", d.Name, d.Name)
	case reset == nil:
		w.warn(set.Pos, "constraint %s: found %s but nothing that sets it to 0, expected (* %s = 0; *) where what is chosen ends; it would stay set", d.Name, set, d.Name)
	}
}

// setsOrResets tells what a piece of code may do to a flag; a value that is not known may do both.
func setsOrResets(e *syntax.Expr, flag string) (on, off bool) {
	if e.X == nil || e.X.Text != flag {
		return false, false
	}
	switch {
	case e.Kind == syntax.PostInc || e.Text == "+=":
		return true, false
	case e.Text == "-=":
		return false, true
	case e.Kind == syntax.Assign:
		n, ok := wholeNumber(e.Y)
		return !ok || n != 0, !ok || n == 0
	}
	return false, false
}

// hypothesis looks for what the search could never do.
func (w *warner) hypothesis(d *syntax.Def) {
	h := w.hypotheses[d.Name]
	if h == nil {
		return // its parent is missing
	}
	for _, it := range d.Items {
		if it.Key != "suppress" {
			continue
		}
		for _, v := range it.Values {
			f, _ := grid.ParseFocus(v.Text)
			for _, part := range hierarchies() {
				if len(f.Elements(part)) > 0 && !slices.Contains(h.Refine, part) {
					w.warn(v.Pos, "hypothesis %s: found suppress %s, but it is not refined along %v, expected refine { %v } or no such suppress; it has no effect",
						d.Name, v, part, part)
				}
			}
		}
	}
	w.refusals(d, h)
}

// refusals: a replacement in one hierarchy cannot be combined with a flag or another replacement in a second one.
func (w *warner) refusals(d *syntax.Def, h *Hypothesis) {
	for _, name := range h.Metrics {
		if slices.Contains(h.Global, name) {
			continue
		}
		m := w.lib.byName[name]
		for _, a := range m.constraints {
			for _, b := range m.constraints {
				if a.replace && b.body != nil && a.hierarchy != b.hierarchy && slices.Contains(h.Refine, a.hierarchy) && slices.Contains(h.Refine, b.hierarchy) {
					w.warn(d.Pos, "hypothesis %s: found refine along %v and %v, expected one of them: metric %s cannot be restricted by %s and %s at once, since %s replaces its base",
						d.Name, a.hierarchy, b.hierarchy, name, a.ident, b.ident, a.ident)
					return
				}
			}
		}
	}
}

// expect looks for hypotheses that are never tested where they are expected not to hold.
func (w *warner) expect(d *syntax.Def) {
	for _, it := range d.Items {
		if it.Expr.Kind != syntax.Ident || len(it.Values) == 0 {
			continue
		}
		h := w.hypotheses[it.Expr.Text]
		f, err := grid.ParseFocus(it.Values[0].Text)
		if h == nil || err != nil {
			continue
		}
		for _, part := range hierarchies() {
			if len(f.Elements(part)) > 0 && !slices.Contains(h.Refine, part) {
				w.warn(it.Values[0].Pos, "expect %s: found %s at a focus in /%v, but it is refined along %v only, expected a focus there; elsewhere it is never tested",
					d.Name, h.Name, part, h.Refine)
			}
		}
	}
}

// hierarchies lists all of them.
func hierarchies() []grid.Hierarchy {
	var out []grid.Hierarchy
	for h := range grid.NumHierarchies {
		out = append(out, h)
	}
	return out
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

// allCode lists the pieces of code below a statement in order.
func allCode(s *syntax.Stmt) []*syntax.Code {
	var out []*syntax.Code
	anyStmt(s, func(s *syntax.Stmt) bool {
		out = append(out, s.Code...)
		return false
	})
	return out
}

// anyStmt reports whether f is true for s or a statement in it; it stops there.
func anyStmt(s *syntax.Stmt, f func(*syntax.Stmt) bool) bool {
	return s != nil && (f(s) || anyStmt(s.Body, f) || slices.ContainsFunc(s.Stmts, func(s *syntax.Stmt) bool { return anyStmt(s, f) }))
}

// namesIn are the names that expressions below a statement hold.
func namesIn(s *syntax.Stmt) map[string]bool {
	w := &warner{used: map[string]bool{}}
	w.walk(s.Walk)
	return w.used
}
