package pcl

import (
	"os"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
)

// checkPlan: a plan may hold nothing that whoever instruments could trip over.
func checkPlan(t *testing.T, p *Plan) {
	t.Helper()
	var check func(e *Expr, where Where)
	check = func(e *Expr, where Where) {
		if e == nil {
			return
		}
		bad := e.Op > ExCall && e.Op != ExFile && e.Op != ExRenew || e.Op >= ExFile && e.L == nil || e.Op == ExArg && (where != Entry || e.Value < 0 || e.Value > 5) || e.Op == ExReturn && where != Return || e.Op == ExCallee && where != Call ||
			e.Op == ExVar && (e.Value < 0 || e.Value >= int64(len(p.Vars)) || p.Vars[e.Value].Kind != Counter && !p.Vars[e.Value].Kind.Holds()) ||
			e.Op >= ExAdd && e.Op <= ExDiv && e.L == nil || e.Op >= ExAdd && e.Op <= ExDiv && e.Op != ExNeg && e.R == nil ||
			e.Op == ExAddr && (e.Value < 0 || e.Value >= int64(len(p.Vars)) || p.Vars[e.Value].Kind.Holds()) || e.Op == ExCall && (e.Value == 0 || len(e.Args) > maxCallArgs)
		if bad {
			t.Fatalf("bad expression in\n%v", p)
		}
		check(e.L, where)
		check(e.R, where)
		for _, a := range e.Args {
			check(a, where)
		}
	}
	for _, r := range p.Requests {
		if r.Func == 0 || r.Where > Insn || r.Post && r.Where == Return || len(r.Code) == 0 {
			t.Fatalf("bad request in\n%v", p)
		}
		for _, g := range r.Guards {
			if g < 0 || g >= len(p.Vars) {
				t.Fatalf("bad guard in\n%v", p)
			}
		}
		for _, in := range r.Code {
			timer, value := in.Op >= OpTimerEnter && in.Op <= OpTimerStop, in.Op <= OpSet || in.Op == OpCall
			known := in.Op == OpCall || in.Var >= 0 && in.Var < len(p.Vars) && timer == (p.Vars[in.Var].Kind != Counter && !p.Vars[in.Var].Kind.Holds())
			if !known || value != (in.Expr != nil) {
				t.Fatalf("bad primitive in\n%v", p)
			}
			check(in.Cond, r.Where)
			check(in.Expr, r.Where)
		}
	}
}

// FuzzCompile: whatever loads compiles to a sound plan or to an error, the same on every run.
func FuzzCompile(f *testing.F) {
	foci := []string{"/", "/Code/work.c", "/Code/work.c/work", "/Code/work.c/work/loop", "/SyncObject/Mutex", "/SyncObject/Mutex/cache_lock",
		"/Code/main.c/main,/SyncObject/Mutex/cache_lock", "/IO/File//tmp/x", "/Process/a{1}/thr_1", "/Machine/node1", "/SyncObject/Message/world/7", "/Memory/x/y"}
	for _, c := range compileCases {
		f.Add(c.pcl, uint8(0), uint8(3))
	}
	for _, name := range []string{"lib/code.pcl", "lib/sync.pcl", "lib/io.pcl", "lib/memory.pcl", "lib/why.pcl", "testdata/conformance.pcl", "testdata/additions.pcl"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i := range foci {
			f.Add(string(text), uint8(i), uint8(255))
		}
	}
	f.Add(twinText, uint8(2), uint8(7))
	for _, c := range gaugeCases {
		f.Add(`metric m { name "m"; `+c.items+` }`, uint8(0), uint8(255))
	}
	for _, c := range slices.Concat(problemCases(), warnCases()) {
		f.Add(c.pcl, uint8(1), uint8(255))
	}
	f.Fuzz(func(t *testing.T, src string, focusIndex, shape uint8) {
		lib, problems, err := Load(Options{NoDefault: true, Texts: []string{prelude, src}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			_ = p.Detail()
		}
		for _, p := range lib.Warnings() {
			if p.Severity != SeverityWarning || p.Pos.Line == 0 || !strings.HasSuffix(p.Detail(), "^") {
				t.Fatalf("a warning without its place: %s", p.Detail())
			}
		}
		_ = lib.Doc()
		env := shapedTarget(shape)
		focus, err := grid.ParseFocus(foci[int(focusIndex)%len(foci)])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lib.Metrics() {
			plan, err := lib.Compile(m.Name, focus, env)
			if err != nil {
				if err.Error() == "" {
					t.Error("an error without text")
				}
				continue
			}
			checkPlan(t, plan)
			again, err := lib.Compile(m.Name, focus, env)
			if err != nil || again.String() != plan.String() {
				t.Fatalf("compiling again gives %v\n%v\n%v", err, plan, again)
			}
		}
		for _, h := range lib.Hypotheses() {
			h.Holds(func(string) float64 { return 0 })
		}
	})
}

// prelude lets small inputs name something.
const prelude = `resourceList locks is procedure { items { "pthread_mutex_lock", glob "*wait" } }
constraint inside /Code/* is counter { append preInsn $constraint[0].entry (* inside = 1; *) append preInsn $constraint[0].return (* inside = 0; *) }
metric calls { name "calls"; units x; aggregateOperator sum; style EventCounter; constraint inside; base is counter { foreach f in locks append preInsn f.entry constrained (* calls++; *) } }
`

// shapedTarget leaves parts of the target away, as bits say.
func shapedTarget(shape uint8) *fakeEnv {
	env := newTarget()
	if shape&1 == 0 {
		env.flavors = nil
	}
	if shape&2 == 0 {
		env.objects = nil
	}
	if shape&4 == 0 {
		env.funcs = env.funcs[:3]
	}
	if shape&8 == 0 {
		env.modules = nil
	}
	if shape&16 == 0 {
		for i := range env.funcs {
			env.funcs[i].calls = nil
		}
	}
	if shape&32 == 0 {
		env.funcs = append(env.funcs, fakeFunc{0, "work.c", []string{"zero", strings.Repeat("x", 50)}, nil})
	}
	return env
}
