package compile

import (
	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// primitive compiles one piece of code; keep is false if its condition can never hold.
func (c *compiler) primitive(code *syntax.Code) (in pcl.Instr, keep bool, err error) {
	if code.Cond != nil {
		if in.Cond, err = c.lower(code.Cond); err != nil {
			return in, false, err
		}
		c.truthAsked(in.Cond)
		if in.Cond.Op == pcl.ExConst {
			if in.Cond.Value == 0 {
				return in, false, nil
			}
			in.Cond = nil
		}
	}
	e := code.Expr
	switch e.Kind {
	case syntax.Call:
		err = c.callOrTimer(&in, e)
	case syntax.PostInc:
		in.Op, in.Var, in.Expr = pcl.OpAdd, c.index[e.X.Text], &pcl.Expr{Op: pcl.ExConst, Value: 1}
	default:
		err = c.assign(&in, e)
	}
	return in, true, err
}

// callOrTimer compiles a piece of code that is a call: a primitive for timers, or a function of the target.
func (c *compiler) callOrTimer(in *pcl.Instr, e *syntax.Expr) (err error) {
	if _, ok := types.Timers[e.Text]; ok {
		in.Op, in.Var = c.timerOp(e.Text), c.index[e.Args[0].Text]
		return nil
	}
	in.Op = pcl.OpCall
	in.Expr, err = c.lowerCall(e)
	return err
}

// lowerCall compiles a call of a function of the target.
func (c *compiler) lowerCall(e *syntax.Expr) (*pcl.Expr, error) {
	id, err := c.env.Callable(e.Text)
	if err != nil {
		return nil, syntax.ErrorAt(e.Pos, "metric %s: %v", c.m.Name, err)
	}
	out := &pcl.Expr{Op: pcl.ExCall, Value: int64(id)}
	for _, a := range e.Args {
		x, err := c.lower(a)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, x)
	}
	return out, nil
}

// lowerCalled compiles a call whose value is asked for.
func (c *compiler) lowerCalled(e *syntax.Expr) (*pcl.Expr, error) {
	x, err := c.lowerCall(e)
	if err != nil {
		return nil, err
	}
	return c.result(e, x, pcl.FuncID(x.Value))
}

// timerOp: pairs of an entry and a return belong to activations; anything else is plain.
func (c *compiler) timerOp(name string) pcl.Op {
	switch start := types.Timers[name].Start; {
	case c.in.Plain && start:
		return pcl.OpTimerStart
	case c.in.Plain:
		return pcl.OpTimerStop
	case start:
		return pcl.OpTimerEnter
	}
	return pcl.OpTimerLeave
}

func (c *compiler) assign(in *pcl.Instr, e *syntax.Expr) error {
	in.Var = c.index[e.X.Text]
	y, err := c.lower(e.Y)
	if err != nil {
		return err
	}
	if what, ok := c.raw[y]; ok {
		c.summed(e, what)
		if c.rawVars == nil {
			c.rawVars = map[int]string{}
		}
		c.rawVars[in.Var] = what
	}
	switch {
	case e.Text == "+=":
		in.Op, in.Expr = pcl.OpAdd, y
	case e.Text == "-=":
		in.Op, in.Expr = pcl.OpAdd, negate(y)
	case in.Var == c.flag && !c.in.Plain && y.Value != 0:
		in.Op = pcl.OpFlagEnter
	case in.Var == c.flag && !c.in.Plain:
		in.Op = pcl.OpFlagLeave
	default:
		in.Op, in.Expr = pcl.OpSet, y
	}
	return nil
}

// lower compiles an expression that the probe evaluates; what is known already is folded into constants.
func (c *compiler) lower(e *syntax.Expr) (*pcl.Expr, error) {
	path, isArg := types.ArgPath(e)
	switch {
	case isArg:
		return c.lowerArg(e, path)
	case e.Kind == syntax.Ident && e.Text == "$return":
		return c.lowerReturn(e)
	case e.Kind == syntax.Cast:
		return c.lowerCast(e)
	case e.Kind == syntax.Ident && e.Text == "$callee":
		return &pcl.Expr{Op: pcl.ExCallee}, nil
	case e.Kind == syntax.Negate:
		x, err := c.lower(e.X)
		if err != nil {
			return nil, err
		}
		return c.inherit(negate(x), x), nil
	case e.Kind == syntax.Binary && (c.isFileKind(e.X) || c.isFileKind(e.Y)):
		if of, err := c.asFileKind(e); of != nil || err != nil {
			return of, err
		}
	case e.Kind == syntax.Binary && c.onText(e):
		return c.lowerText(e)
	case e.Kind == syntax.Binary && !c.isString(e.X):
		return c.lowerBinary(e)
	case e.Kind == syntax.Call && e.Text != "$function" && e.Text != "$line":
		return c.lowerCalled(e)
	case e.Kind == syntax.AddrOf:
		return &pcl.Expr{Op: pcl.ExAddr, Value: int64(c.index[e.X.Text])}, nil
	case e.Kind == syntax.Ident:
		if i, ok := c.index[e.Text]; ok {
			return c.variable(i), nil
		}
	}
	v, err := c.eval(e)
	if err != nil {
		return nil, err
	}
	return &pcl.Expr{Op: pcl.ExConst, Value: v.n}, nil
}

// isString tells whether an expression is a string, which is known here: a comparison of two is decided here too. The checker has
// seen to it that both sides are strings, or arguments, if one is a string.
func (c *compiler) isString(x *syntax.Expr) bool {
	if _, isArg := types.ArgPath(x); isArg {
		return false
	}
	switch x.Kind {
	case syntax.Literal, syntax.Field:
		return true
	case syntax.Ident, syntax.Index:
		if _, isVar := c.index[x.Text]; isVar || x.Text == "$return" || x.Text == "$callee" {
			return false
		}
		v, err := c.eval(x)
		return err == nil && v.typ == types.String
	}
	return false
}

func (c *compiler) lowerBinary(e *syntax.Expr) (*pcl.Expr, error) {
	x, err := c.lower(e.X)
	if err != nil {
		return nil, err
	}
	y, err := c.lower(e.Y)
	if err != nil {
		return nil, err
	}
	op := pcl.Operators[e.Text]
	if op == pcl.ExAnd || op == pcl.ExOr {
		c.truthAsked(x)
		c.truthAsked(y)
	}
	if err := c.signAsked(e, op, x, y); err != nil {
		return nil, err
	}
	if op == pcl.ExEq || op == pcl.ExNe {
		x, y = c.asFiles(e, x, y)
	}
	if x.Op == pcl.ExConst && y.Op == pcl.ExConst {
		return &pcl.Expr{Op: pcl.ExConst, Value: fold(op, x.Value, y.Value)}, nil
	}
	out := &pcl.Expr{Op: op, L: x, R: y}
	if op == pcl.ExAdd || op == pcl.ExSub || op == pcl.ExMul || op == pcl.ExDiv {
		c.inherit(out, x, y)
	}
	return out, nil
}

// variable reads a counter.
func (c *compiler) variable(i int) *pcl.Expr {
	x := &pcl.Expr{Op: pcl.ExVar, Value: int64(i)}
	if what, ok := c.rawVars[i]; ok {
		return c.unknown(x, what)
	}
	return x
}

func negate(x *pcl.Expr) *pcl.Expr {
	if x.Op == pcl.ExConst {
		return &pcl.Expr{Op: pcl.ExConst, Value: -x.Value}
	}
	return &pcl.Expr{Op: pcl.ExNeg, L: x}
}

// fold applies an operator as a probe would: 64 bits, wrapping, signed.
func fold(op pcl.ExprOp, x, y int64) int64 {
	switch op {
	case pcl.ExAdd:
		return x + y
	case pcl.ExSub:
		return x - y
	case pcl.ExMul:
		return x * y
	case pcl.ExDiv:
		return quotient(x, y)
	case pcl.ExEq:
		return truth(x == y)
	case pcl.ExNe:
		return truth(x != y)
	case pcl.ExLt:
		return truth(x < y)
	case pcl.ExLe:
		return truth(x <= y)
	case pcl.ExGt:
		return truth(x > y)
	case pcl.ExGe:
		return truth(x >= y)
	case pcl.ExAnd:
		return truth(x != 0 && y != 0)
	case pcl.ExOr:
		return truth(x != 0 || y != 0)
	}
	panic("BUG: not a binary operator")
}

// quotient is that of Go where a processor would stop: the lowest number divided by -1 is itself.
func quotient(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	return x / y
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
