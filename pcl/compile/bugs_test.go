package compile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"culprit/pcl"
	"culprit/pcl/internal/cases"
)

// compilerBugs do to a plan what the compiler would have done with a bug of this kind. They report whether there was something to do it to.
var compilerBugs = map[string]func(p *pcl.Plan) bool{
	"guards are lost": eachRequest(func(r *pcl.Request) bool { had := len(r.Guards) > 0; r.Guards = nil; return had }),
	"only the first guard is tested": eachRequest(func(r *pcl.Request) bool {
		had := len(r.Guards) > 1
		r.Guards = r.Guards[:min(len(r.Guards), 1)]
		return had
	}),
	"what is prepended is appended": eachRequest(func(r *pcl.Request) bool { had := r.Prepend; r.Prepend = false; return had }),
	"behind a call is before it":    eachRequest(func(r *pcl.Request) bool { had := r.Post; r.Post = false; return had }),
	"returns are entries":           eachRequest(func(r *pcl.Request) bool { return swap(&r.Where, pcl.Return, pcl.Entry) }),
	"all call sites are the first": eachRequest(func(r *pcl.Request) bool {
		had := r.Where == pcl.Call && r.Site > 0
		if had {
			r.Site = 0
		}
		return had
	}),
	"the last statement is lost": eachRequest(func(r *pcl.Request) bool {
		had := len(r.Code) > 1
		if had {
			r.Code = r.Code[:len(r.Code)-1]
		}
		return had
	}),
	"the last function is left out": func(p *pcl.Plan) bool {
		had := len(p.Requests) > 1
		if had {
			p.Requests = p.Requests[:len(p.Requests)-1]
		}
		return had
	},
	"conditions are lost":           eachInstr(func(in *pcl.Instr) bool { had := in.Cond != nil; in.Cond = nil; return had }),
	"= is +=":                       eachInstr(func(in *pcl.Instr) bool { return swap(&in.Op, pcl.OpSet, pcl.OpAdd) }),
	"a timer is not stopped":        eachInstr(func(in *pcl.Instr) bool { return swap(&in.Op, pcl.OpTimerStop, pcl.OpTimerStart) }),
	"a flag of an activation stays": eachInstr(func(in *pcl.Instr) bool { return swap(&in.Op, pcl.OpFlagLeave, pcl.OpFlagEnter) }),
	"a narrow value has no sign": eachExpr(func(e *pcl.Expr) bool {
		had := e.Op == pcl.ExNarrow && e.Signed
		e.Signed = e.Signed && !had
		return had
	}),
	"a narrow value is too wide": eachExpr(func(e *pcl.Expr) bool {
		had := e.Op == pcl.ExNarrow && e.Size < 4
		if had {
			e.Size *= 2
		}
		return had
	}),
	"< is <=":                eachExpr(func(e *pcl.Expr) bool { return swap(&e.Op, pcl.ExLt, pcl.ExLe) }),
	"&& is ||":               eachExpr(func(e *pcl.Expr) bool { return swap(&e.Op, pcl.ExAnd, pcl.ExOr) }),
	"a - b is b - a":         eachExpr(func(e *pcl.Expr) bool { had := e.Op == pcl.ExSub; exchange(had, e); return had }),
	"arguments count from 1": eachExpr(func(e *pcl.Expr) bool { had := e.Op == pcl.ExArg && e.Value < 5; e.Value += one(had); return had }),
}

// swap replaces a by b.
func swap[T comparable](at *T, a, b T) bool {
	had := *at == a
	if had {
		*at = b
	}
	return had
}

func exchange(had bool, e *pcl.Expr) {
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

func eachRequest(do func(*pcl.Request) bool) func(*pcl.Plan) bool {
	return func(p *pcl.Plan) (any bool) {
		for i := range p.Requests {
			any = do(&p.Requests[i]) || any
		}
		return any
	}
}

func eachInstr(do func(*pcl.Instr) bool) func(*pcl.Plan) bool {
	return eachRequest(func(r *pcl.Request) (any bool) {
		for i := range r.Code {
			any = do(&r.Code[i]) || any
		}
		return any
	})
}

func eachExpr(do func(*pcl.Expr) bool) func(*pcl.Plan) bool {
	var walk func(e *pcl.Expr) bool
	walk = func(e *pcl.Expr) (any bool) {
		if e == nil {
			return false
		}
		any = do(e)
		for _, x := range append([]*pcl.Expr{e.L, e.R}, e.Args...) {
			any = walk(x) || any
		}
		return any
	}
	return eachInstr(func(in *pcl.Instr) bool {
		cond, expr := walk(in.Cond), walk(in.Expr)
		return cond || expr
	})
}

// copied is a plan that shares nothing with p that a bug changes.
func copied(p *pcl.Plan) *pcl.Plan {
	var expr func(e *pcl.Expr) *pcl.Expr
	expr = func(e *pcl.Expr) *pcl.Expr {
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
	env, left, compared := cases.NewTarget(), map[string]int{}, 0
	for name := range compilerBugs {
		left[name] = 0
	}
	for seed := uint64(0); len(left) > 0 && compared < most; seed++ {
		w := &writer{rng: rand.New(rand.NewPCG(seed, 11))}
		w.add(`resourceList some is procedure { items { glob "*lock", "write", regex "^lea" } }` + "\n")
		for i := range 50 {
			w.metric(fmt.Sprintf("m%d", i))
		}
		lib := cases.Load(t, w.sb.String())
		for i := range 50 {
			plan, err := Plan(lib, fmt.Sprintf("m%d", i), mustFocus(t, programFoci[(int(seed)+i)%len(programFoci)]), env)
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
