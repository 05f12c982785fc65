package check

import (
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// Code that is too expensive where it would run everywhere. What a probe costs exactly is known only with a target, and how much that is
// per second only when the calls are counted. But some code costs so much that no budget pays for it at every function of a program.

// Prices of one execution in ns, of the order that is measured (bench/): of memory behind a pointer, which is a system call, and of
// a function of the target, for which all registers are saved.
const (
	readNS = 490
	callNS = 115
)

// usualBudget is the fraction of the target's time that probes may take if nobody says otherwise.
const usualBudget = 0.02

// expensive looks for code that is too expensive to run at every function.
func (w *warner) expensive(of string, s *syntax.Stmt) {
	w.expensiveIn(of, s, map[string]bool{"$procedures": true, "$modules": true})
}

// expensiveIn knows by which names every function is meant: what the loops around the statement run over.
func (w *warner) expensiveIn(of string, s *syntax.Stmt, all map[string]bool) {
	switch {
	case s == nil:
	case s.Kind == syntax.Foreach && over(s.Expr, all):
		inner := map[string]bool{s.Var: true}
		for name := range all {
			inner[name] = true
		}
		w.expensiveIn(of, s.Body, inner)
	case s.Kind == syntax.If && holdsName(s.Expr, all):
		// some of them only: nobody knows how many
	case s.Kind == syntax.Instr && over(s.Expr, all):
		for _, c := range s.Code {
			w.expensiveCode(of, c)
		}
	default:
		w.expensiveIn(of, s.Body, all)
		for _, x := range s.Stmts {
			w.expensiveIn(of, x, all)
		}
	}
}

func (w *warner) expensiveCode(of string, c *syntax.Code) {
	if ns := priceOf(c.Cond) + priceOf(c.Expr); ns > 0 {
		w.warn(c.Pos, "%s: found code of about %d ns a pass at every function, expected some ns there: it is beyond the usual budget from %d passes a second on; name the functions that matter",
			of, ns, int(usualBudget*1e9)/ns)
	}
}

// over reports whether the expression is a name of all functions, or something of it: f, f.entry, m.funcs.
func over(e *syntax.Expr, all map[string]bool) bool {
	for e != nil && e.Kind == syntax.Field {
		e = e.X
	}
	return e != nil && e.Kind == syntax.Ident && all[e.Text]
}

// holdsName reports whether the expression holds one of the names.
func holdsName(e *syntax.Expr, all map[string]bool) (found bool) {
	e.Walk(func(x *syntax.Expr) bool {
		found = found || x.Kind == syntax.Ident && all[x.Text]
		return !found
	})
	return found
}

// priceOf is what of an expression is expensive, in ns.
func priceOf(e *syntax.Expr) (ns int) {
	e.Walk(func(x *syntax.Expr) bool {
		p, isArg := types.ArgPath(x)
		switch {
		case isArg:
			for _, f := range p.Fields {
				if f.Deref {
					ns += readNS
				}
			}
			return false
		case x.Kind == syntax.Binary && comparesText(x):
			ns += readNS
		case x.Kind == syntax.Call && callsTarget(x):
			ns += callNS
		}
		return true
	})
	return ns
}

// comparesText reports whether an argument is held against a string: other strings are known when the metric is compiled.
func comparesText(e *syntax.Expr) bool {
	_, x := types.ArgPath(e.X)
	_, y := types.ArgPath(e.Y)
	return x && e.Y.Kind == syntax.Literal || y && e.X.Kind == syntax.Literal
}

func callsTarget(e *syntax.Expr) bool {
	_, timer := types.Timers[e.Text]
	return !timer && e.Text != "$function" && e.Text != "$line"
}
