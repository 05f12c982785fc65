package pcl

import "testing"

func TestWithoutReturn(t *testing.T) {
	result, one := &Expr{Op: ExReturn}, &Expr{Op: ExConst, Value: 1}
	inside := &Expr{Op: ExAdd, L: one, R: &Expr{Op: ExCall, Args: []*Expr{one, result}}}
	r := &Request{Where: Return, Code: []Instr{{Op: OpAdd, Expr: result}, {Op: OpAdd, Expr: one}, {Op: OpSet, Expr: one, Cond: inside}, {Op: OpTimerLeave}}}
	rest := r.WithoutReturn()
	if !r.ReadsReturn() || rest.ReadsReturn() || len(rest.Code) != 2 || rest.Where != Return || len(r.Code) != 4 {
		t.Errorf("of %+v is left %+v", r, rest)
	}
	if again := rest.WithoutReturn(); again != rest {
		t.Error("a request that reads no $return is another one without it")
	}
}
