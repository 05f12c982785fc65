package check

import (
	"slices"

	"culprit/pcl/syntax"
)

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
