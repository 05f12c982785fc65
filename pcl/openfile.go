package pcl

import (
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A constraint of /IO compares a descriptor with what was chosen. Descriptors come and go: the same one stands for one file now and
// for another later, and one file may have several. So what is compared is the file behind the descriptor, and the functions that
// close or copy descriptors get code that keeps up with it.

// asFiles makes the side that is compared with $constraint[i], where that is something of /IO, the file of a descriptor.
func (c *compiler) asFiles(e *syntax.Expr, x, y *Expr) (*Expr, *Expr) {
	switch left, right := c.isOpenFile(e.X), c.isOpenFile(e.Y); {
	case left && !right:
		return x, &Expr{Op: ExFile, L: y}
	case right && !left:
		return &Expr{Op: ExFile, L: x}, y
	}
	return x, y
}

// isOpenFile tells whether an expression is $constraint[i] where that stands for a file, a socket or a pipe.
func (c *compiler) isOpenFile(e *syntax.Expr) bool {
	if c.cons == nil || c.cons.hierarchy != grid.IO || e.Kind != syntax.Index || e.X.Text != "$constraint" {
		return false
	}
	i, ok := wholeNumber(e.Y)
	types := constraintTypes(c.cons)
	return ok && i >= 0 && int(i) < len(types) && types[i] == tInt
}

// FollowsFiles reports whether the code only keeps up with what descriptors stand for: nothing is counted by it.
func (in Instr) FollowsFiles() bool {
	return in.Op == OpCall && in.Expr != nil && in.Expr.Op == ExRenew
}

// UsesFiles reports whether the plan asks what descriptors stand for.
func (p *Plan) UsesFiles() bool {
	return slices.ContainsFunc(p.Requests, func(r Request) bool {
		return slices.ContainsFunc(r.Code, func(in Instr) bool { return in.Expr.usesFiles() || in.Cond.usesFiles() })
	})
}

func (e *Expr) usesFiles() bool {
	return e != nil && (e.Op == ExFile || e.L.usesFiles() || e.R.usesFiles() || slices.ContainsFunc(e.Args, (*Expr).usesFiles))
}

// descriptorEnds are the functions after whose entry a descriptor is no longer what it was: closed, or, where from is one of their
// arguments, another name for what that one stands for.
var descriptorEnds = []struct {
	name string
	fd   int64
	from int64 // -1: none
}{{"close", 0, -1}, {"__close", 0, -1}, {"__close_nocancel", 0, -1}, {"dup2", 1, 0}, {"dup3", 1, 0}}

// followFiles adds code to a plan that asks what descriptors stand for. What it does not see (descriptors that are closed by a system
// call of the program's own, or many at once) is seen by whoever keeps the table, later.
func (c *compiler) followFiles() {
	if !c.plan.UsesFiles() {
		return
	}
	seen := map[FuncID]bool{}
	for _, end := range descriptorEnds {
		renew := &Expr{Op: ExRenew, L: &Expr{Op: ExArg, Value: end.fd}}
		if end.from >= 0 {
			renew.R = &Expr{Op: ExFile, L: &Expr{Op: ExArg, Value: end.from}}
		}
		for _, f := range unique(c.env.Named(end.name)) {
			if !seen[f] {
				seen[f] = true
				c.plan.Requests = append(c.plan.Requests, Request{Func: f, Where: Entry, Code: []Instr{{Op: OpCall, Expr: renew}}})
			}
		}
	}
}

// renew writes "renew(x, y)".
func (p planWriter) renew(e *Expr) string {
	if e.R == nil {
		return "renew(" + p.expr(e.L) + ")"
	}
	return "renew(" + p.expr(e.L) + ", " + p.expr(e.R) + ")"
}
