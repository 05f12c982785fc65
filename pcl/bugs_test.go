package pcl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// compilerBugs do to a plan what the compiler would have done with a bug of this kind. They report whether there was something to do it to.
var compilerBugs = map[string]func(p *Plan) bool{
	"guards are lost": eachRequest(func(r *Request) bool { had := len(r.Guards) > 0; r.Guards = nil; return had }),
	"only the first guard is tested": eachRequest(func(r *Request) bool {
		had := len(r.Guards) > 1
		r.Guards = r.Guards[:min(len(r.Guards), 1)]
		return had
	}),
	"what is prepended is appended": eachRequest(func(r *Request) bool { had := r.Prepend; r.Prepend = false; return had }),
	"behind a call is before it":    eachRequest(func(r *Request) bool { had := r.Post; r.Post = false; return had }),
	"returns are entries":           eachRequest(func(r *Request) bool { return swap(&r.Where, Return, Entry) }),
	"all call sites are the first": eachRequest(func(r *Request) bool {
		had := r.Where == Call && r.Site > 0
		if had {
			r.Site = 0
		}
		return had
	}),
	"the last statement is lost": eachRequest(func(r *Request) bool {
		had := len(r.Code) > 1
		if had {
			r.Code = r.Code[:len(r.Code)-1]
		}
		return had
	}),
	"the last function is left out": func(p *Plan) bool {
		had := len(p.Requests) > 1
		if had {
			p.Requests = p.Requests[:len(p.Requests)-1]
		}
		return had
	},
	"conditions are lost":           eachInstr(func(in *Instr) bool { had := in.Cond != nil; in.Cond = nil; return had }),
	"= is +=":                       eachInstr(func(in *Instr) bool { return swap(&in.Op, OpSet, OpAdd) }),
	"a timer is not stopped":        eachInstr(func(in *Instr) bool { return swap(&in.Op, OpTimerStop, OpTimerStart) }),
	"a flag of an activation stays": eachInstr(func(in *Instr) bool { return swap(&in.Op, OpFlagLeave, OpFlagEnter) }),
	"a narrow value has no sign":    eachExpr(func(e *Expr) bool { had := e.Op == ExNarrow && e.Signed; e.Signed = e.Signed && !had; return had }),
	"a narrow value is too wide": eachExpr(func(e *Expr) bool {
		had := e.Op == ExNarrow && e.Size < 4
		if had {
			e.Size *= 2
		}
		return had
	}),
	"< is <=":                eachExpr(func(e *Expr) bool { return swap(&e.Op, ExLt, ExLe) }),
	"&& is ||":               eachExpr(func(e *Expr) bool { return swap(&e.Op, ExAnd, ExOr) }),
	"a - b is b - a":         eachExpr(func(e *Expr) bool { had := e.Op == ExSub; exchange(had, e); return had }),
	"arguments count from 1": eachExpr(func(e *Expr) bool { had := e.Op == ExArg && e.Value < 5; e.Value += one(had); return had }),
}

// swap replaces a by b.
func swap[T comparable](at *T, a, b T) bool {
	had := *at == a
	if had {
		*at = b
	}
	return had
}

func exchange(had bool, e *Expr) {
	if had {
		e.L, e.R = e.R, e.L
	}
}

func one(had bool) int64 {
	if had {
		return 1
	}
	return 0
}

func eachRequest(do func(*Request) bool) func(*Plan) bool {
	return func(p *Plan) (any bool) {
		for i := range p.Requests {
			any = do(&p.Requests[i]) || any
		}
		return any
	}
}

func eachInstr(do func(*Instr) bool) func(*Plan) bool {
	return eachRequest(func(r *Request) (any bool) {
		for i := range r.Code {
			any = do(&r.Code[i]) || any
		}
		return any
	})
}

func eachExpr(do func(*Expr) bool) func(*Plan) bool {
	var walk func(e *Expr) bool
	walk = func(e *Expr) (any bool) {
		if e == nil {
			return false
		}
		any = do(e)
		for _, x := range append([]*Expr{e.L, e.R}, e.Args...) {
			any = walk(x) || any
		}
		return any
	}
	return eachInstr(func(in *Instr) bool {
		cond, expr := walk(in.Cond), walk(in.Expr)
		return cond || expr
	})
}

// copied is a plan that shares nothing with p that a bug changes.
func copied(p *Plan) *Plan {
	var expr func(e *Expr) *Expr
	expr = func(e *Expr) *Expr {
		if e == nil {
			return nil
		}
		c := *e
		c.L, c.R, c.Args = expr(e.L), expr(e.R), nil
		for _, a := range e.Args {
			c.Args = append(c.Args, expr(a))
		}
		return &c
	}
	c := *p
	c.Requests = slices.Clone(p.Requests)
	for i := range c.Requests {
		r := &c.Requests[i]
		r.Guards, r.Code = slices.Clone(r.Guards), slices.Clone(r.Code)
		for k := range r.Code {
			r.Code[k].Cond, r.Code[k].Expr = expr(r.Code[k].Cond), expr(r.Code[k].Expr)
		}
	}
	return &c
}

// TestProgramsNotice: each of these bugs would be found by metrics made by chance, among the first thousands of the 100,000.
func TestProgramsNotice(t *testing.T) {
	const most = 4000
	env, left, compared := newTarget(), map[string]int{}, 0
	for name := range compilerBugs {
		left[name] = 0
	}
	for seed := uint64(0); len(left) > 0 && compared < most; seed++ {
		w := &writer{rng: rand.New(rand.NewPCG(seed, 11))}
		w.add(`resourceList some is procedure { items { glob "*lock", "write", regex "^lea" } }` + "\n")
		for i := range 50 {
			w.metric(fmt.Sprintf("m%d", i))
		}
		lib := load(t, w.sb.String())
		for i := range 50 {
			plan, err := lib.Compile(fmt.Sprintf("m%d", i), mustFocus(t, programFoci[(int(seed)+i)%len(programFoci)]), env)
			if err != nil {
				continue
			}
			compared++
			events := walk(env, rand.New(rand.NewPCG(seed, uint64(i))))
			right, values := runPlan(plan, events)
			for name := range left {
				wrong := copied(plan)
				if !compilerBugs[name](wrong) {
					continue
				}
				left[name]++
				if got, gotten := runPlan(wrong, events); got != right || !slices.Equal(gotten, values) {
					t.Logf("%-32s found by program %d, the %d. that could", name, compared, left[name])
					delete(left, name)
				}
			}
		}
	}
	for name, could := range left {
		t.Errorf("%s: not found by %d programs, of which %d could", name, compared, could)
	}
}
