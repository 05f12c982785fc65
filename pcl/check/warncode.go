package check

import (
	"slices"
	"strings"

	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// body looks for timers that run forever or never, and for loops that do not use their variable.
func (w *warner) body(of string, base *syntax.Base) {
	var start, stop *syntax.Expr
	for _, c := range allCode(base.Body) {
		if t, ok := types.Timers[c.Expr.Text]; ok && c.Expr.Kind == syntax.Call {
			if t.Start && start == nil {
				start = c.Expr
			} else if !t.Start && stop == nil {
				stop = c.Expr
			}
		}
	}
	if base.Kind == "kernel" && !slices.Contains(w.kept.Quantities, base.Arg) {
		w.warn(base.Pos, "%s: found kernel(%q), expected what the kernel keeps, such as cpu_time or off_cpu%s; it will be refused when it is asked for", of, base.Arg,
			syntax.DidYouMean(base.Arg, w.kept.Quantities))
	}
	if base.Kind == "hwCounter" && !hasCode(base) && !w.kept.isEvent(base.Arg) {
		w.warn(base.Pos, "%s: found hwCounter(%q), expected what perf list shows, such as instructions or LLC-load-misses, or a number such as r01c2%s; it will be refused when it is asked for", of, base.Arg,
			syntax.DidYouMean(base.Arg, w.kept.Events))
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
	w.expensive(of, base.Body)
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
		n, ok := types.WholeNumber(e.Y)
		return !ok || n != 0, !ok || n == 0
	}
	return false, false
}
