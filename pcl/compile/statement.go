package compile

import (
	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

func (c *compiler) compileBody(b *pcl.Body) error {
	c.in = b
	if b.Block == nil {
		return nil
	}
	return c.stmt(b.Block)
}

func (c *compiler) step(pos syntax.Pos, n int) error {
	c.steps += n
	if c.steps > maxSteps {
		return syntax.ErrorAt(pos, "metric %s at %v: found more than %d steps to compile, expected less; loop over fewer functions", c.m.Name, c.focus, maxSteps)
	}
	return nil
}

func (c *compiler) stmt(s *syntax.Stmt) error {
	if err := c.step(s.Pos, 1); err != nil {
		return err
	}
	switch s.Kind {
	case syntax.Block:
		for _, inner := range s.Stmts {
			if err := c.stmt(inner); err != nil {
				return err
			}
		}
		return nil
	case syntax.Foreach:
		return c.foreach(s)
	case syntax.If:
		cond, err := c.eval(s.Expr)
		if err != nil || cond.n == 0 {
			return err
		}
		return c.stmt(s.Body)
	}
	return c.insertion(s)
}

func (c *compiler) foreach(s *syntax.Stmt) error {
	all, err := c.eval(s.Expr)
	if err != nil {
		return err
	}
	old, was := c.vars[s.Var]
	for _, v := range all.each() {
		c.vars[s.Var] = v
		if err := c.stmt(s.Body); err != nil {
			return err
		}
	}
	delete(c.vars, s.Var)
	if was {
		c.vars[s.Var] = old
	}
	return nil
}

func (c *compiler) insertion(s *syntax.Stmt) error {
	at, err := c.eval(s.Expr)
	if err != nil {
		return err
	}
	if err := c.step(s.Pos, len(at.points)); err != nil {
		return err
	}
	for _, group := range byFunction(s.Code, at.points) {
		code, err := c.code(s.Code, group)
		if err != nil {
			return err
		}
		c.request(s, group, code)
	}
	return nil
}

// byFunction groups points for which the code is the same: all of them, or where it asks for types those of one function.
func byFunction(code []*syntax.Code, all []point) (groups [][]point) {
	if !asksTypes(code) {
		return [][]point{all}
	}
	if len(all) == 0 {
		return nil
	}
	from := 0
	for i := range all {
		if all[i].fn != all[from].fn || all[i].where != all[from].where {
			groups, from = append(groups, all[from:i]), i
		}
	}
	return append(groups, all[from:])
}

// code compiles the pieces between (* and *) for points that are alike; wrong code is an error also where there are none.
func (c *compiler) code(pieces []*syntax.Code, at []point) (code []pcl.Instr, err error) {
	c.site = point{}
	if len(at) > 0 {
		c.site = at[0]
	}
	for _, piece := range pieces {
		in, keep, err := c.primitive(piece)
		if err != nil {
			return nil, err
		}
		if keep {
			code = append(code, in)
		}
	}
	return code, nil
}

// request asks for code at points.
func (c *compiler) request(s *syntax.Stmt, points []point, code []pcl.Instr) {
	if len(code) == 0 {
		return
	}
	var guards []int
	if s.Constrained {
		guards = c.guards
	}
	for _, p := range points {
		c.plan.Requests = append(c.plan.Requests, pcl.Request{Func: p.fn, Where: p.where, Site: p.site, Post: s.Post, Prepend: s.Prepend,
			Guards: guards, Code: code, Listed: c.fromLibrary[p.fn]})
	}
}

// asksTypes reports whether code must be compiled for each function by itself.
func asksTypes(code []*syntax.Code) (asks bool) {
	look := func(e *syntax.Expr) bool {
		_, ok := types.ArgPath(e)
		asks = asks || ok || e.Kind == syntax.Literal || e.Kind == syntax.Ident && e.Text == "$return"
		return !ok
	}
	for _, c := range code {
		c.Cond.Walk(look)
		c.Expr.Walk(look)
	}
	return asks
}
