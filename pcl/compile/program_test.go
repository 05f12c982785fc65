package compile

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl/internal/cases"
)

// A writer writes PCL by chance: metrics and constraints that the checker takes, with everything that the twin knows.
var long = flag.Bool("long", false, "run the long form: more random programs")

type writer struct {
	rng    *rand.Rand
	sb     strings.Builder
	own    string   // the variable that the body counts in
	timer  bool     // it is a timer
	flag   bool     // it is a flag
	holds  bool     // it is a gauge, or the flag of one
	vars   []string // that code may read and change
	loops  []string // loop variables that are functions
	sites  []string // loop variables that are call sites
	chosen bool     // $constraint[0] is a function
	args   bool     // code at an entry
	ret    bool     // code at a return
}

func (w *writer) n(n int) int               { return w.rng.IntN(n) }
func (w *writer) one(of ...string) string   { return of[w.n(len(of))] }
func (w *writer) add(f string, args ...any) { fmt.Fprintf(&w.sb, f, args...) }

// metric writes a metric that may be constrained by functions, modules and objects.
func (w *writer) metric(name string) {
	kind, items := w.one("counter", "counter", "wallTimer", "processTimer"), cases.Head
	if w.holds = w.n(4) == 0; w.holds {
		kind, items = w.one("counter", "gauge"), cases.GaugeHead
	}
	w.own, w.vars = name, []string{"a", "b"}
	w.add("metric %s { name %q; %s counter a; counter b;\n", name, name, items)
	any := false
	for _, c := range []string{"procedureInclusive", "procedureExclusive", "moduleInclusive", "moduleExclusive", "syncType", "oneMutex", "oneSemaphore", "oneFile"} {
		if w.n(2) == 0 {
			w.add(" constraint %s;", c)
			any = true
		}
	}
	if !any { // or there is nothing that constrained code could wait for
		w.add(" constraint procedureInclusive;")
	}
	if w.n(3) == 0 {
		w.flag, w.chosen = true, true
		w.own, w.vars = "own", []string{"own"}
		w.add("\n constraint own /Code/* is counter { ")
		w.statements(3)
		w.add("}\n")
		w.flag, w.chosen = false, false
	}
	if w.n(4) == 0 {
		w.chosen = true
		instead := w.one("counter", "wallTimer")
		if w.holds {
			instead = w.one("counter", "gauge")
		}
		w.body(name, "constraint instead /Code/* is replace", instead)
		w.chosen = false
	}
	w.body(name, "base is", kind)
	w.add("}\n")
}

func (w *writer) body(name, what, kind string) {
	w.own, w.timer, w.vars = name, kind != "counter" && kind != "gauge", []string{"a", "b"}
	if !w.timer {
		w.vars = append(w.vars, name, name)
	}
	w.add(" %s %s { ", what, kind)
	if w.timer && w.n(2) == 0 {
		w.pairs(kind)
	}
	w.statements(4)
	w.add("}\n")
	w.timer = false
}

// pairs starts the timer at entries and stops it at returns, as most metrics do.
func (w *writer) pairs(kind string) {
	word := map[string]string{"wallTimer": "WallTimer", "processTimer": "ProcessTimer"}[kind]
	w.add("foreach p in %s { append preInsn p.entry constrained (* start%s(%s); *) prepend preInsn p.return (* stop%s(%s); *) } ",
		w.one("sync_funcs", "io_funcs", "$procedures"), word, w.own, word, w.own)
}

func (w *writer) statements(n int) {
	for range 1 + w.n(n) {
		w.statement(3)
	}
}

func (w *writer) statement(depth int) {
	switch k := w.n(8); {
	case depth > 0 && k == 0:
		w.add("{ ")
		w.statement(depth - 1)
		w.statement(depth - 1)
		w.add("} ")
	case depth > 0 && k <= 2:
		w.foreach(depth)
	case depth > 0 && k == 3:
		w.add("if (%s) ", w.known())
		w.statement(depth - 1)
	default:
		w.insertion()
	}
}

// foreach goes over functions or call sites.
func (w *writer) foreach(depth int) {
	v := fmt.Sprintf("v%d", len(w.loops)+len(w.sites))
	list := w.function()
	if w.n(4) == 0 {
		w.add("foreach %s in %s.calls ", v, list)
		w.sites = append(w.sites, v)
		w.statement(depth - 1)
		w.sites = w.sites[:len(w.sites)-1]
		return
	}
	w.add("foreach %s in %s ", v, list)
	w.loops = append(w.loops, v)
	w.statement(depth - 1)
	w.loops = w.loops[:len(w.loops)-1]
}

// function is a set of functions.
func (w *writer) function() string {
	if w.chosen && w.n(2) == 0 {
		return "$constraint[0]"
	}
	if len(w.loops) > 0 && w.n(3) > 0 {
		return w.one(w.loops...)
	}
	return w.one("$procedures", "$start", "$exit", "sync_funcs", "io_funcs", "some", `$function("leaf")`, `$function("work")`, `$function("none")`)
}

// known is a condition that is decided before the target runs.
func (w *writer) known() string {
	if len(w.loops) > 0 && w.n(2) == 0 {
		return fmt.Sprintf("%s.name %s %q", w.one(w.loops...), w.one("==", "!="), w.one("work", "leaf", "main", "write"))
	}
	return fmt.Sprintf("%d %s %d", w.n(3), w.one("<", "<=", ">", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/"), w.n(3))
}

func (w *writer) insertion() {
	when, field := "preInsn", ""
	at := w.function()
	switch k := w.n(4); {
	case len(w.sites) > 0 && w.n(2) == 0:
		at, when = w.one(w.sites...), w.one("preInsn", "postInsn")
	case k <= 1:
		field = ".entry"
	case k == 2:
		field = ".return"
	default:
		field, when = ".calls", w.one("preInsn", "postInsn")
	}
	w.args, w.ret = field == ".entry", field == ".return"
	w.add("%s %s %s%s %s(* ", w.one("append", "append", "prepend"), when, at, field, w.one("constrained ", ""))
	for range 1 + w.n(3) {
		w.code()
	}
	w.add("*)\n")
	w.args, w.ret = false, false
}

func (w *writer) code() {
	if w.n(3) == 0 {
		w.add("if (%s) ", w.expression(3))
	}
	v := w.one(w.vars...)
	switch k := w.n(8); {
	case w.timer && k < 4:
		kind := "WallTimer"
		if strings.Contains(w.sb.String()[strings.LastIndex(w.sb.String(), " is "):], "processTimer {") {
			kind = "ProcessTimer"
		}
		w.add("%s%s(%s); ", w.one("start", "stop"), kind, w.own)
	case w.flag && k < 5:
		w.add("%s = %s; ", w.own, w.one("0", "1", "1", "7"))
	case k == 5:
		w.add("%s++; ", v)
	case k == 6 && w.n(3) == 0:
		w.add("%s; ", w.call(2))
	default:
		w.add("%s %s %s; ", v, w.one("=", "+=", "+=", "-="), w.expression(4))
	}
}

// expression is one that a probe evaluates.
func (w *writer) expression(depth int) string {
	switch k := w.n(7); {
	case depth == 0 || k <= 1:
		return w.leaf()
	case k == 2:
		return "-(" + w.expression(depth-1) + ")"
	case k == 3 && w.n(3) == 0:
		return w.call(depth)
	case k == 4 && w.n(2) == 0:
		return "(" + w.one("char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "bool") + ")(" + w.expression(depth-1) + ")"
	}
	return fmt.Sprintf("(%s %s %s)", w.expression(depth-1), w.one("+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "&&", "||"), w.expression(depth-1))
}

// call is a call of one of the target's functions; it may change a counter.
func (w *writer) call(depth int) string {
	if !w.flag && w.n(2) == 0 {
		vars := w.vars
		if w.holds {
			vars = []string{"a", "b"} // a gauge has no address
		}
		return fmt.Sprintf("bump(&%s, %s)", w.one(vars...), w.expression(depth-1))
	}
	args := make([]string, w.n(4))
	for i := range args {
		args[i] = w.expression(depth - 1)
	}
	return "weigh(" + strings.Join(args, ", ") + ")"
}

func (w *writer) leaf() string {
	switch k := w.n(5); {
	case w.args && k <= 1:
		return fmt.Sprintf("$arg[%d]", w.n(6))
	case w.ret && k <= 1:
		return "$return"
	case k == 2:
		return fmt.Sprint(w.rng.Uint64() >> 1 >> w.n(63))
	case k == 3:
		return fmt.Sprint(w.n(8))
	}
	return w.one(w.vars...)
}

// programFoci are where the programs are compiled.
var programFoci = []string{"/", "/Code/work.c/work", "/Code/work.c/leaf", "/Code/work.c", "/Code/main.c/helper", "/SyncObject/Mutex", "/SyncObject/Mutex/cache_lock",
	"/Code/work.c/work,/SyncObject/Mutex/cache_lock", "/Code/main.c,/SyncObject/Semaphore/slots", "/IO/File//tmp/x", "/Code/work.c/leaf,/IO/File//tmp/x"}

// TestPrograms: metrics made by chance count the same as compiled plans and as statements that are interpreted, over a stream
// of events made by chance. The long form compares 100,000.
func TestPrograms(t *testing.T) {
	want := 500
	if *long {
		want = 100_000
	}
	env := cases.NewTarget()
	var compared, nonzero, refused, guarded int
	for seed := uint64(0); compared < want; seed++ {
		w := &writer{rng: rand.New(rand.NewPCG(seed, 11))}
		w.add(`resourceList some is procedure { items { glob "*lock", "write", regex "^lea" } }` + "\n")
		for i := range 50 {
			w.metric(fmt.Sprintf("m%d", i))
		}
		lib := cases.Load(t, w.sb.String())
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, w.sb.String())
		}
		for i := range 50 {
			focus := mustFocus(t, programFoci[(int(seed)+i)%len(programFoci)])
			name := fmt.Sprintf("m%d", i)
			plan, err := Plan(lib, name, focus, env)
			if err != nil {
				refused++ // no constraint for the focus, or a replacement beside a flag
				continue
			}
			events := walk(env, rand.New(rand.NewPCG(seed, uint64(i))))
			got, values := runPlan(plan, events)
			want, wanted := runText(lib, env, lib.Definition(name), focus, events)
			if got != want || !slices.Equal(values, wanted) {
				t.Fatalf("seed %d, %s at %v: the plan counts %d, the text %d\n%v\n%s", seed, name, focus, got, want, plan, w.sb.String())
			}
			compared++
			if got != 0 {
				nonzero++
			}
			if strings.Contains(plan.String(), " if ") {
				guarded++
			}
		}
	}
	t.Logf("%d programs compared: %d count something, %d have guards or conditions; %d were refused at their focus", compared, nonzero, guarded, refused)
	if nonzero < compared/4 || guarded < compared/3 {
		t.Error("too few programs do anything")
	}
}

func mustFocus(t *testing.T, text string) grid.Focus {
	t.Helper()
	f, err := grid.ParseFocus(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
