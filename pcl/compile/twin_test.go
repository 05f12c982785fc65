package compile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/internal/cases"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// The slow twin: a Plan is run over a made-up stream of events, and so are the statements of the text themselves, by an
// interpreter that knows nothing of the compiler. Both must count the same.

// An event is one thread passing one point.
type event struct {
	at    point
	post  bool
	args  [6]int64
	ret   int64
	depth int   // of the stack: names the activation
	now   int64 // time
}

// walk makes the events of one thread that runs a random path through the call graph.
func walk(env *cases.Target, r *rand.Rand) []event {
	var out []event
	now := int64(0)
	emit := func(e event) {
		now += int64(r.IntN(5))
		e.now = now
		out = append(out, e)
	}
	var enter func(f pcl.FuncID, depth int)
	enter = func(f pcl.FuncID, depth int) {
		e := event{at: point{fn: f, where: pcl.Entry}, depth: depth}
		for i := range e.args {
			e.args[i] = int64(3 + r.IntN(4))
		}
		emit(e)
		calls := env.Find(f).Calls
		for range r.IntN(4) {
			if len(calls) == 0 || depth > 6 || len(out) > 300 {
				break
			}
			i := r.IntN(len(calls))
			callee := calls[i]
			emit(event{at: point{f, pcl.Call, i, callee}, depth: depth})
			if callee == 0 {
				callee = env.Funcs[r.IntN(len(env.Funcs))].ID
			}
			enter(callee, depth+1)
			emit(event{at: point{f, pcl.Call, i, calls[i]}, post: true, depth: depth})
		}
		emit(event{at: point{fn: f, where: pcl.Return}, ret: int64(r.IntN(100) - 20), depth: depth})
	}
	for range 3 {
		enter(env.Funcs[r.IntN(len(env.Funcs))].ID, 1)
	}
	return out
}

// A cell is a variable of one thread.
type cell struct {
	value   int64 // of a counter; of a timer what it has summed up
	on      bool  // a flag by activation, or a timer that runs
	depth   int   // activation that switched it on
	started int64
	values  []int64 // that came to it: what is a distribution
	held    *held   // of a gauge
}

func (c *cell) add(v int64) {
	c.value += v
	c.values = append(c.values, v)
}

func (c *cell) truth() bool { return c.value != 0 || c.on }

func (c *cell) start(now int64) {
	if !c.on {
		c.on, c.started = true, now
	}
}

func (c *cell) stop(now int64) {
	if c.on {
		c.on = false
		c.add(now - c.started)
	}
}

// runPlan runs the requests of a plan and returns the metric's own variable, and the values of its distribution if it has one, or what is
// known of a gauge.
func runPlan(p *pcl.Plan, events []event) (int64, []int64) {
	cells := make([]cell, len(p.Vars))
	if p.Kind.Holds() {
		cells[0].held = &held{}
	}
	for _, e := range events {
		var here []*pcl.Request
		for i := range p.Requests {
			r := &p.Requests[i]
			if r.Func != e.at.fn || r.Where != e.at.where || r.Post != e.post || r.Where == pcl.Call && r.Site != e.at.site {
				continue
			}
			if r.Prepend {
				here = slices.Insert(here, 0, r)
			} else {
				here = append(here, r)
			}
		}
		for _, r := range here {
			if slices.ContainsFunc(r.Guards, func(g int) bool { return !cells[g].truth() }) {
				continue
			}
			for _, in := range r.Code {
				if in.Cond == nil || value1(in.Cond, cells, e) != 0 {
					runInstr(in, cells, e)
				}
			}
		}
	}
	cells[0].stop(events[len(events)-1].now)
	if p.Distribution {
		return cells[0].value, cells[0].values
	}
	if h := cells[0].held; h != nil {
		return cells[0].value, h.figures(cells[0].value*events[len(events)-1].now - h.area)
	}
	return cells[0].value, nil
}

func runInstr(in pcl.Instr, cells []cell, e event) {
	if in.Op == pcl.OpCall {
		value1(in.Expr, cells, e)
		return
	}
	c := &cells[in.Var]
	switch in.Op {
	case pcl.OpAdd:
		v := value1(in.Expr, cells, e)
		c.change(v, e.now)
		c.add(v)
	case pcl.OpSet:
		v := value1(in.Expr, cells, e)
		c.change(v-c.value, e.now)
		c.value = v
	case pcl.OpFlagEnter:
		if !c.on {
			c.on, c.depth = true, e.depth
		}
	case pcl.OpFlagLeave:
		if c.on && c.depth == e.depth {
			c.on = false
		}
	case pcl.OpTimerEnter:
		if !c.on {
			c.start(e.now)
			c.depth = e.depth
		}
	case pcl.OpTimerLeave:
		if c.depth == e.depth {
			c.stop(e.now)
		}
	case pcl.OpTimerStart:
		c.start(e.now)
	case pcl.OpTimerStop:
		c.stop(e.now)
	}
}

func value1(x *pcl.Expr, cells []cell, e event) int64 {
	switch x.Op {
	case pcl.ExConst:
		return x.Value
	case pcl.ExArg:
		return e.args[x.Value]
	case pcl.ExReturn:
		return e.ret
	case pcl.ExVar:
		if cells[x.Value].on {
			return 1
		}
		return cells[x.Value].value
	case pcl.ExNeg:
		return -value1(x.L, cells, e)
	case pcl.ExNarrow:
		return types.Scalar{Size: x.Size, Signed: x.Signed}.Of(value1(x.L, cells, e))
	case pcl.ExCall:
		return call1(x, cells, e)
	case pcl.ExFile:
		return value1(x.L, cells, e) // files have the numbers of their descriptors
	}
	return fold(x.Op, value1(x.L, cells, e), value1(x.R, cells, e))
}

// call1 calls weigh or bump. Arguments are evaluated from the last to the first.
func call1(x *pcl.Expr, cells []cell, e event) int64 {
	args := make([]int64, len(x.Args))
	for i := len(args) - 1; i >= 0; i-- {
		if x.Args[i].Op != pcl.ExAddr {
			args[i] = value1(x.Args[i], cells, e)
		}
	}
	if pcl.FuncID(x.Value) == cases.Bump {
		return bumped(&cells[x.Args[0].Value], args)
	}
	return weighed(args)
}

func bumped(c *cell, args []int64) int64 {
	c.value += args[1]
	return c.value
}

func weighed(args []int64) int64 {
	sum := int64(7)
	for i, a := range args {
		sum += a << i
	}
	return sum
}

// A twin runs the text of a metric directly.
type twin struct {
	lib   *pcl.Library
	env   *cases.Target
	focus grid.Focus
	m     *pcl.Metric
	cells map[string]*cell
	vars  map[string]any // FuncID, point, string, int64, or a module as a string
	cons  *pcl.Constraint
	own   string
	flags []string // set up before this body
	calls bool     // the body names call sites, or does not work by pairs of an entry and a return
	event event
	todo  []func() // what is to run at the event, in order
}

// runText returns what the metric's own variable is after the events, and its distribution if its base asks for one.
func runText(lib *pcl.Library, env *cases.Target, m *pcl.Metric, focus grid.Focus, events []event) (int64, []int64) {
	t := &twin{lib: lib, env: env, focus: focus, m: m, cells: map[string]*cell{m.Ident: {}}, vars: map[string]any{}}
	for _, n := range m.Counters {
		t.cells[n] = &cell{}
	}
	kept, before := int64(0), events[0].now
	own := t.cells[m.Ident]
	if t.counts(m).Holds() {
		own.held = &held{}
	}
	for _, t.event = range events {
		if own.held != nil {
			own.held.area += own.value * (t.event.now - before)
		}
		if m.Base.Kind == pcl.Kernel && len(t.flags) == 1 && t.cells[t.flags[0]].truth() {
			kept += t.event.now - before // the clock is as good a quantity of the kernel as any
		}
		before = t.event.now
		t.todo = nil
		t.flags = nil
		counting, cons := m.Base, (*pcl.Constraint)(nil)
		var flags []*pcl.Constraint
		for _, h := range []grid.Hierarchy{grid.Code, grid.SyncObject, grid.IO} {
			for _, c := range m.Constraints {
				if c.Hierarchy == h && len(focus.Elements(h)) == len(c.Path)+1 && fits(c.Path, focus.Elements(h)) {
					if c.Replace {
						counting, cons = c.Body, c
					} else if c.Body != nil {
						flags = append(flags, c)
					}
				}
			}
		}
		if cons == nil {
			for _, f := range flags {
				if t.cells[f.Ident] == nil {
					t.cells[f.Ident] = &cell{}
				}
				t.body(f, f.Ident, f.Body)
				t.flags = append(t.flags, f.Ident)
			}
		}
		t.body(cons, m.Ident, counting)
		for _, f := range t.todo {
			f()
		}
	}
	own.stop(events[len(events)-1].now)
	if kept != 0 {
		return kept, nil
	}
	if m.Base.Distribution {
		return own.value, own.values
	}
	if own.held != nil {
		return own.value, own.held.figures(own.held.area)
	}
	return own.value, nil
}

func fits(path, elems []string) bool {
	for i, p := range path {
		if p != "*" && p != elems[i] {
			return false
		}
	}
	return true
}

func (t *twin) body(cons *pcl.Constraint, own string, b *pcl.Body) {
	if b.Block == nil {
		return
	}
	t.cons, t.own = cons, own
	t.calls = !pairs(b.Block, own, nil)
	t.stmt(b.Block)
}

// pairs: what is switched on at entries is switched off at returns, nothing else is done to it, and nothing is inserted at
// call sites. sites are the loop variables that are call sites.
func pairs(s *syntax.Stmt, own string, sites []string) bool {
	isSite := func(e *syntax.Expr) bool {
		return e.Kind == syntax.Field && e.Text == "calls" || e.Kind == syntax.Ident && slices.Contains(sites, e.Text)
	}
	switch s.Kind {
	case syntax.Block:
		return !slices.ContainsFunc(s.Stmts, func(x *syntax.Stmt) bool { return !pairs(x, own, sites) })
	case syntax.Foreach:
		if isSite(s.Expr) {
			sites = append(slices.Clone(sites), s.Var)
		}
		return pairs(s.Body, own, sites)
	case syntax.If:
		return pairs(s.Body, own, sites)
	}
	if isSite(s.Expr) {
		return false
	}
	on, off := s.Expr.Text == "entry" && !s.Post, s.Expr.Text == "return"
	return !slices.ContainsFunc(s.Code, func(c *syntax.Code) bool {
		switch e := c.Expr; e.Kind {
		case syntax.Call:
			return strings.HasPrefix(e.Text, "start") && !on || strings.HasPrefix(e.Text, "stop") && !off
		case syntax.Assign:
			return e.X.Text == own && !(e.Text == "=" && (on && e.Y.String() != "0" || off && e.Y.String() == "0"))
		}
		return false
	})
}

func (t *twin) stmt(s *syntax.Stmt) {
	switch s.Kind {
	case syntax.Block:
		for _, x := range s.Stmts {
			t.stmt(x)
		}
	case syntax.Foreach:
		for _, v := range asSet(t.eval(s.Expr)) {
			t.vars[s.Var] = v
			t.stmt(s.Body)
		}
	case syntax.If:
		if t.eval(s.Expr).(int64) != 0 {
			t.stmt(s.Body)
		}
	case syntax.Instr:
		for _, p := range asSet(t.eval(s.Expr)) {
			if p.(point) == t.event.at && s.Post == t.event.post {
				t.insert(s)
			}
		}
	}
}

func asSet(v any) []any {
	if s, ok := v.([]any); ok {
		return s
	}
	return []any{v}
}

// insert queues the code with the variables as they are now.
func (t *twin) insert(s *syntax.Stmt) {
	at := *t
	at.vars = map[string]any{}
	for k, v := range t.vars {
		at.vars[k] = v
	}
	at.flags = slices.Clone(t.flags)
	run := func() {
		if s.Constrained && at.cons != nil && at.cons.Replace {
			at.flags = nil
		}
		for _, f := range at.flags {
			if s.Constrained && !at.cells[f].truth() {
				return
			}
		}
		for _, c := range s.Code {
			if c.Cond == nil || at.eval(c.Cond).(int64) != 0 {
				at.exec(c.Expr)
			}
		}
	}
	if s.Prepend {
		t.todo = slices.Insert(t.todo, 0, run)
	} else {
		t.todo = append(t.todo, run)
	}
}

func (t *twin) exec(e *syntax.Expr) {
	switch {
	case e.Kind == syntax.PostInc:
		t.cells[e.X.Text].value++
		t.cells[e.X.Text].led()
	case e.Kind == syntax.Call && (e.Text == "bump" || e.Text == "weigh"):
		t.call(e)
	case e.Kind == syntax.Call:
		c := t.cells[e.Args[0].Text]
		if strings.HasPrefix(e.Text, "start") {
			if !c.on {
				c.depth = t.event.depth
			}
			c.start(t.event.now)
		} else if t.calls || c.depth == t.event.depth {
			c.stop(t.event.now)
		}
	default:
		c, v := t.cells[e.X.Text], t.eval(e.Y).(int64)
		isFlag := t.cons != nil && !t.cons.Replace && e.X.Text == t.own
		switch {
		case e.Text == "+=":
			c.add(v)
			c.led()
		case e.Text == "-=":
			c.add(-v)
			c.led()
		case isFlag && !t.calls && v != 0:
			if !c.on {
				c.on, c.depth = true, t.event.depth
			}
		case isFlag && !t.calls:
			c.on = c.on && c.depth != t.event.depth
		default:
			c.value = v
			c.led()
		}
	}
}

// eval gives int64, string, FuncID, point, or []any of them.
func (t *twin) eval(e *syntax.Expr) any {
	switch e.Kind {
	case syntax.Number:
		return e.Int
	case syntax.Literal:
		return e.Text
	case syntax.Negate:
		return -t.eval(e.X).(int64)
	case syntax.Cast:
		return types.CastTypes[e.Text].Of(t.eval(e.X).(int64))
	case syntax.Ident:
		return t.name(e.Text)
	case syntax.Call:
		if e.Text == "bump" || e.Text == "weigh" {
			return t.call(e)
		}
		return funcSet(t.env.Named(e.Args[0].Text))
	case syntax.Index:
		if e.X.Text == "$arg" {
			return t.event.args[e.Y.Int]
		}
		return t.chosen(int(e.Y.Int))
	case syntax.Field:
		return t.field(t.eval(e.X), e.Text)
	case syntax.Binary:
		x, y := t.eval(e.X), t.eval(e.Y)
		if e.Text == "==" {
			return truth(x == y)
		}
		if e.Text == "!=" {
			return truth(x != y)
		}
		return fold(pcl.Operators[e.Text], x.(int64), y.(int64))
	}
	panic(fmt.Sprintf("the twin does not know %s", e))
}

func (t *twin) call(e *syntax.Expr) int64 {
	args := make([]int64, len(e.Args))
	for i := len(args) - 1; i >= 0; i-- {
		if e.Args[i].Kind != syntax.AddrOf {
			args[i] = t.eval(e.Args[i]).(int64)
		}
	}
	if e.Text == "bump" {
		return bumped(t.cells[e.Args[0].X.Text], args)
	}
	return weighed(args)
}

// funcSet is a set of functions without repeated ones.
func funcSet(ids []pcl.FuncID) []any {
	var out []any
	for _, id := range ids {
		if !slices.Contains(out, any(id)) {
			out = append(out, id)
		}
	}
	return out
}

func (t *twin) name(s string) any {
	if v, ok := t.vars[s]; ok {
		return v
	}
	if c, ok := t.cells[s]; ok {
		if c.on {
			return int64(1)
		}
		return c.value
	}
	switch s {
	case "$return":
		switch t.event.at.fn { // as cases.Target has it
		case 21:
			return int64(int32(t.event.ret))
		case 11:
			return int64(uint8(t.event.ret))
		}
		return t.event.ret
	case "$start":
		return funcSet(t.env.Start())
	case "$exit":
		return funcSet(t.env.Exit())
	case "$procedures":
		var ids []pcl.FuncID
		for _, f := range t.env.Funcs {
			ids = append(ids, f.ID)
		}
		return funcSet(ids)
	}
	var ids []pcl.FuncID
	for _, it := range t.lib.List(s).Items {
		if it.Pattern != "" {
			ids = append(ids, t.env.Matching(it.Text, it.Pattern == "regex")...)
		} else {
			ids = append(ids, t.env.Named(it.Text)...)
		}
	}
	return funcSet(ids)
}

func (t *twin) chosen(i int) any {
	elems := t.focus.Elements(t.cons.Hierarchy)
	elems = elems[:len(elems)-i]
	switch {
	case t.cons.Hierarchy == grid.Code && len(elems) == 2:
		return funcSet(t.env.Function(elems[0], elems[1]))
	case t.cons.Hierarchy == grid.Code, len(elems) == 1:
		return elems[len(elems)-1]
	}
	n, err := t.env.Object(t.cons.Hierarchy, elems)
	if err != nil {
		panic(err)
	}
	return int64(n)
}

func (t *twin) field(x any, name string) any {
	if module, ok := x.(string); ok {
		return funcSet(t.env.ModuleFunctions(module))
	}
	var out []any
	for _, f := range asSet(x) {
		id := f.(pcl.FuncID)
		switch name {
		case "name":
			return t.env.FuncName(id)
		case "entry":
			out = append(out, point{fn: id, where: pcl.Entry})
		case "return":
			out = append(out, point{fn: id, where: pcl.Return})
		case "calls":
			for i, callee := range t.env.Find(id).Calls {
				if !t.leftOut(callee) {
					out = append(out, point{id, pcl.Call, i, callee})
				}
			}
		}
	}
	return out
}

// leftOut: a flag does not look at calls of functions in the lists that the base names.
func (t *twin) leftOut(callee pcl.FuncID) bool {
	if t.cons == nil || t.cons.Replace || callee == 0 {
		return false
	}
	found := false
	t.m.Base.Block.Walk(func(e *syntax.Expr) bool {
		if e.Kind == syntax.Ident && t.lib.List(e.Text) != nil {
			found = found || slices.Contains(t.name(e.Text).([]any), any(callee))
		}
		return true
	})
	return found
}

const twinText = `
resourceList some is procedure { items { glob "*lock", "write", regex "^lea" } }
constraint odd /Code/* is counter {
	append preInsn $constraint[0].entry (* odd = 1; if ($arg[1] == 4) odd = 0; *)
	prepend preInsn $constraint[0].return (* odd = 0; *)
}
metric mixed { name "mixed"; ` + cases.Head + ` counter n; counter last; constraint odd; constraint oneMutex; constraint procedureExclusive;
	base is counter {
		foreach f in $procedures {
			append preInsn f.entry (* n = $arg[0]; *)
			prepend preInsn f.return constrained (* if (n * 2 > 8 || last == 3) mixed += n - $return; last = $return; *)
			if (f.name != "main") append postInsn f.calls constrained (* mixed -= 2; *)
		}
		append preInsn $function("leaf").entry constrained (* mixed++; n = -n; *)
	} }
metric calling { name "calling"; ` + cases.Head + ` counter n; constraint odd;
	base is counter {
		foreach f in $procedures {
			append preInsn f.entry constrained (* bump(&n, weigh($arg[0], $arg[2] / ($arg[1] - 4), -3)); calling += bump(&n, 1) / 2 - n; *)
			prepend preInsn f.return (* if (weigh($return) > 20) calling++; weigh(); *)
		}
	} }
metric crossed { name "crossed"; ` + cases.Head + ` constraint procedureInclusive;
	base is wallTimer { foreach f in some { append preInsn f.return constrained (* startWallTimer(crossed); *)
		append preInsn f.entry (* stopWallTimer(crossed); *) append preInsn f.calls (* stopWallTimer(crossed); *) } } }
metric between { name "between"; ` + cases.Head + ` constraint procedureInclusive;
	base is wallTimer { foreach f in some { append preInsn f.return constrained (* startWallTimer(between); *) append preInsn f.entry (* stopWallTimer(between); *) } } }
metric sizes { name "sizes"; ` + cases.Head + ` counter n; constraint odd; constraint oneMutex;
	base is histogram(counter) { foreach f in $procedures { append preInsn f.entry (* n = $arg[0]; *)
		prepend preInsn f.return constrained (* if (n > 3) sizes += $return; if (n == 4) sizes -= n; *) } } }
metric depth { name "depth"; units x; aggregateOperator max; style SampledFunction; counter n; constraint odd; constraint oneMutex;
	base is gauge { foreach f in $procedures { append preInsn f.entry (* depth++; if (depth > 3) n += 1; *)
		prepend preInsn f.return constrained (* if (n > 1) depth -= 2; if ($return > 50) depth = n; *) } } }
metric own { name "own"; units x; aggregateOperator max; style SampledFunction; constraint procedureInclusive;
	constraint one /Code is replace gauge { foreach f in $constraint[0].funcs append preInsn f.entry (* own = $arg[0] * 3; *) }
	base is counter { foreach f in some { append preInsn f.entry constrained (* own += $arg[1]; *)
		prepend preInsn f.return (* own -= 7; *) } } }
metric latency { name "latency"; ` + cases.Head + ` constraint procedureInclusive;
	constraint one /Code/* is replace histogram(wallTimer) { append preInsn $constraint[0].entry (* if ($arg[0] > 3) startWallTimer(latency); *)
		prepend preInsn $constraint[0].return (* stopWallTimer(latency); *) }
	base is histogram(wallTimer) { foreach f in some { append preInsn f.entry constrained (* startWallTimer(latency); *)
		prepend preInsn f.return constrained (* stopWallTimer(latency); *) } } }
`

// TestTwin compares both ways for every metric at many foci.
func TestTwin(t *testing.T) {
	lib, env := cases.Load(t, twinText), cases.NewTarget()
	var foci []grid.Focus
	for _, code := range []string{"", "/Code/work.c", "/Code/work.c/work", "/Code/work.c/leaf", "/Code/main.c/main", "/Code/libc.so.6/sem_wait", "/Code/libc.so.6"} {
		for _, obj := range []string{"", "/SyncObject/Mutex", "/SyncObject/Mutex/cache_lock", "/SyncObject/Semaphore/slots", "/IO/File//tmp/x"} {
			text := strings.Trim(code+","+obj, ",")
			if text == "" {
				text = "/"
			}
			f, err := grid.ParseFocus(text)
			if err != nil {
				t.Fatal(err)
			}
			foci = append(foci, f)
		}
	}
	compared, distributed, held, nonzero := 0, 0, 0, map[string]bool{}
	for _, named := range lib.Metrics() {
		m := lib.Definition(named.Name)
		for _, focus := range foci {
			plan, err := Plan(lib, m.Name, focus, env)
			if err != nil || len(plan.Requests) == 0 {
				continue
			}
			for seed := range uint64(12) {
				events := walk(env, rand.New(rand.NewPCG(seed, 7)))
				got, values := runPlan(plan, events)
				want, wanted := runText(lib, env, m, focus, events)
				if got != want || !slices.Equal(values, wanted) {
					t.Fatalf("%v with seed %d: the plan counts %d %v, the text %d %v\n%v", plan.Pair, seed, got, values, want, wanted, plan)
				}
				if plan.Kind.Holds() {
					held += len(values)
				} else {
					distributed += len(values)
				}
				compared++
				if got != 0 {
					nonzero[m.Name] = true
				}
			}
		}
	}
	if compared < 1000 || len(nonzero) < 12 {
		t.Errorf("only %d comparisons, %d metrics that count anything: %v", compared, len(nonzero), nonzero)
	}
	if distributed < 100 {
		t.Errorf("only %d values of distributions were compared", distributed)
	}
	if held < 100 {
		t.Errorf("only %d figures of gauges were compared", held)
	}
	t.Logf("%d comparisons, metrics that counted: %d; values of distributions: %d", compared, len(nonzero), distributed)
}
