package compile

import (
	"os"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

// checkPlan: a plan may hold nothing that whoever instruments could trip over.
func checkPlan(t *testing.T, p *pcl.Plan) {
	t.Helper()
	var visit func(e *pcl.Expr, where pcl.Where)
	visit = func(e *pcl.Expr, where pcl.Where) {
		if e == nil {
			return
		}
		bad := e.Op > pcl.ExCall && e.Op != pcl.ExFile && e.Op != pcl.ExRenew || e.Op >= pcl.ExFile && e.L == nil || e.Op == pcl.ExArg && (where != pcl.Entry || e.Value < 0 || e.Value > 5) || e.Op == pcl.ExReturn && where != pcl.Return || e.Op == pcl.ExCallee && where != pcl.Call ||
			e.Op == pcl.ExVar && (e.Value < 0 || e.Value >= int64(len(p.Vars)) || p.Vars[e.Value].Kind != pcl.Counter && !p.Vars[e.Value].Kind.Holds()) ||
			e.Op >= pcl.ExAdd && e.Op <= pcl.ExDiv && e.L == nil || e.Op >= pcl.ExAdd && e.Op <= pcl.ExDiv && e.Op != pcl.ExNeg && e.R == nil ||
			e.Op == pcl.ExAddr && (e.Value < 0 || e.Value >= int64(len(p.Vars)) || p.Vars[e.Value].Kind.Holds()) || e.Op == pcl.ExCall && (e.Value == 0 || len(e.Args) > pcl.MaxCallArgs)
		if bad {
			t.Fatalf("bad expression in\n%v", p)
		}
		visit(e.L, where)
		visit(e.R, where)
		for _, a := range e.Args {
			visit(a, where)
		}
	}
	for _, r := range p.Requests {
		if r.Func == 0 || r.Where > pcl.Insn || r.Post && r.Where == pcl.Return || len(r.Code) == 0 {
			t.Fatalf("bad request in\n%v", p)
		}
		for _, g := range r.Guards {
			if g < 0 || g >= len(p.Vars) {
				t.Fatalf("bad guard in\n%v", p)
			}
		}
		for _, in := range r.Code {
			timer, value := in.Op >= pcl.OpTimerEnter && in.Op <= pcl.OpTimerStop, in.Op <= pcl.OpSet || in.Op == pcl.OpCall
			known := in.Op == pcl.OpCall || in.Var >= 0 && in.Var < len(p.Vars) && timer == (p.Vars[in.Var].Kind != pcl.Counter && !p.Vars[in.Var].Kind.Holds())
			if !known || value != (in.Expr != nil) {
				t.Fatalf("bad primitive in\n%v", p)
			}
			visit(in.Cond, r.Where)
			visit(in.Expr, r.Where)
		}
	}
}

// FuzzCompile: whatever loads compiles to a sound plan or to an error, the same on every run.
func FuzzCompile(f *testing.F) {
	foci := []string{"/", "/Code/work.c", "/Code/work.c/work", "/Code/work.c/work/loop", "/SyncObject/Mutex", "/SyncObject/Mutex/cache_lock",
		"/Code/main.c/main,/SyncObject/Mutex/cache_lock", "/IO/File//tmp/x", "/Process/a{1}/thr_1", "/Machine/node1", "/SyncObject/Message/world/7", "/Memory/x/y"}
	for _, c := range cases.Plans {
		f.Add(c.Text, uint8(0), uint8(3))
	}
	for _, name := range []string{"../lib/code.pcl", "../lib/sync.pcl", "../lib/io.pcl", "../lib/memory.pcl", "../lib/why.pcl", "../testdata/conformance.pcl", "../testdata/additions.pcl"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i := range foci {
			f.Add(string(text), uint8(i), uint8(255))
		}
	}
	f.Add(twinText, uint8(2), uint8(7))
	for _, c := range cases.Gauges {
		f.Add(`metric m { name "m"; `+c.Items+` }`, uint8(0), uint8(255))
	}
	for _, c := range slices.Concat(cases.Problems(), cases.Warnings()) {
		f.Add(c.Text, uint8(1), uint8(255))
	}
	f.Fuzz(func(t *testing.T, src string, focusIndex, shape uint8) {
		lib, problems, err := check.Load(check.Options{NoDefault: true, Texts: []string{cases.Prelude, src}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			_ = p.Detail()
		}
		for _, p := range check.Warnings(lib, cases.Kept) {
			if p.Severity != check.SeverityWarning || p.Pos.Line == 0 || !strings.HasSuffix(p.Detail(), "^") {
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
			plan, err := Plan(lib, m.Name, focus, env)
			if err != nil {
				if err.Error() == "" {
					t.Error("an error without text")
				}
				continue
			}
			checkPlan(t, plan)
			again, err := Plan(lib, m.Name, focus, env)
			if err != nil || again.String() != plan.String() {
				t.Fatalf("compiling again gives %v\n%v\n%v", err, plan, again)
			}
		}
		for _, h := range lib.Hypotheses() {
			h.Holds(func(string) float64 { return 0 })
		}
	})
}

// shapedTarget leaves parts of the target away, as bits say.
func shapedTarget(shape uint8) *cases.Target {
	env := cases.NewTarget()
	if shape&1 == 0 {
		env.FlavorNames = nil
	}
	if shape&2 == 0 {
		env.Known = nil
	}
	if shape&4 == 0 {
		env.Funcs = env.Funcs[:3]
	}
	if shape&8 == 0 {
		env.ModuleNames = nil
	}
	if shape&16 == 0 {
		for i := range env.Funcs {
			env.Funcs[i].Calls = nil
		}
	}
	if shape&32 == 0 {
		env.Funcs = append(env.Funcs, cases.NewFunction(0, "work.c", []string{"zero", strings.Repeat("x", 50)}, nil))
	}
	return env
}
