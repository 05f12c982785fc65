package probe

import (
	"testing"

	"culprit/pcl"
)

// TestConditionsOfTheWaiting: of a call that waits for a descriptor a condition on its first argument is known, of all others none but constants.
func TestConditionsOfTheWaiting(t *testing.T) {
	file := func(fd int) (uint64, bool) { return uint64(100 + fd), fd < 5 }
	waits, other := &Activation{Waits: &Descriptor{FD: 3, File: file}}, &Activation{}
	leaf := func(op pcl.ExprOp, v int64) *pcl.Expr { return &pcl.Expr{Op: op, Value: v} }
	of := func(op pcl.ExprOp, l, r *pcl.Expr) *pcl.Expr { return &pcl.Expr{Op: op, L: l, R: r} }
	is := func(fd *pcl.Expr, n int64) *pcl.Expr {
		return of(pcl.ExEq, of(pcl.ExFile, fd, nil), leaf(pcl.ExConst, n))
	}
	for name, c := range map[string]struct {
		a     *Activation
		e     *pcl.Expr
		v     int64
		known bool
	}{
		"its file":                        {waits, is(leaf(pcl.ExArg, 0), 103), 1, true},
		"another file":                    {waits, is(leaf(pcl.ExArg, 0), 104), 0, true},
		"not another file":                {waits, of(pcl.ExNe, of(pcl.ExFile, leaf(pcl.ExArg, 0), nil), leaf(pcl.ExConst, 104)), 1, true},
		"a part of its number":            {waits, of(pcl.ExDiv, leaf(pcl.ExArg, 0), leaf(pcl.ExConst, 2)), 1, true},
		"divided by nothing":              {waits, of(pcl.ExDiv, leaf(pcl.ExArg, 0), leaf(pcl.ExConst, 0)), 0, true},
		"a file that is not known":        {waits, is(leaf(pcl.ExConst, 7), 107), 0, false},
		"the second argument":             {waits, leaf(pcl.ExArg, 1), 0, false},
		"a sum":                           {waits, of(pcl.ExAdd, leaf(pcl.ExArg, 0), leaf(pcl.ExConst, 1)), 0, false},
		"the argument of one that is not": {other, is(leaf(pcl.ExArg, 0), 103), 0, false},
		"a file there, by a constant":     {other, is(leaf(pcl.ExConst, 3), 103), 0, false},
	} {
		if v, known := c.a.value(c.e); v != c.v && known || known != c.known {
			t.Errorf("%s: %d, %v, want %d, %v", name, v, known, c.v, c.known)
		}
	}
}
