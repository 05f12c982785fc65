package pcl

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// diagnosticsFile holds every message as a user sees it; TestDiagnostics -rewrite writes it anew.
const diagnosticsFile = "testdata/diagnostics.txt"

// A diagnostic is a message that some input was answered with.
type diagnostic struct {
	name    string
	problem Problem // as a text is loaded; or
	err     error   // as a metric is compiled
}

func (d diagnostic) detail() string {
	if d.err != nil {
		var e *syntax.Error
		if errors.As(d.err, &e) {
			return e.Detail()
		}
		return d.err.Error()
	}
	return d.problem.Detail()
}

// syntaxCases are texts that the parser refuses.
func syntaxCases() []problemCase {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	const body = `constraint c /Code is counter { `
	return []problemCase{
		{"definition", `metrik m { }`, ""},
		{"not a definition", `17`, ""},
		{"forgotten name", "visi\nvisi v { command \"x\"; }", ""},
		{"name with a dollar", `visi $v { }`, ""},
		{"no opening brace", `visi v command`, ""},
		{"no closing brace", `visi v { command "x";`, ""},
		{"unknown item", `visi v { comand "x"; }`, ""},
		{"unknown item of a metric", `metric m { naem "m"; }`, ""},
		{"unknown item of a daemon", `daemon d { hots "x"; }`, ""},
		{"unknown item of a process", `process p { autostart true; }`, ""},
		{"unknown item of a list", `resourceList l is int { itms { 1 }; }`, ""},
		{"unknown item of a hypothesis", `hypothesis h { tset 1 > 0; }`, ""},
		{"unknown item of a hierarchy", `hierarchy h { itm "x" is { "/Code" }; }`, ""},
		{"unknown item of a trace", `trace t { when 1; }`, ""},
		{"no semicolon", `visi v { command "x" }`, ""},
		{"a name", `process p { daemon "x"; }`, ""},
		{"a string", `visi v { command x; }`, ""},
		{"a whole number", `visi v { force 1.5; }`, ""},
		{"true or false", `process p { autoStart maybe; }`, ""},
		{"a name or a string", `daemon d { host 1; }`, ""},
		{"kind of a list", `resourceList l is procedures { }`, ""},
		{"no is", `resourceList l procedure { }`, ""},
		{"item of a list", `resourceList l is procedure { items { x } }`, ""},
		{"pattern of a list", `resourceList l is procedure { items { glob x } }`, ""},
		{"no brace of a list", `resourceList l is procedure { items "x"; }`, ""},
		{"separator of a list", `resourceList l is procedure { items { "x" "y" } }`, ""},
		{"end of a list", `resourceList l is procedure { items { "x", `, ""},
		{"flavor", `metric m { flavor { "c" }; }`, ""},
		{"item of a hierarchy", `hierarchy h { item x is { "/Code" }; }`, ""},
		{"separator of a record", `trace t { record { 1 2 }; }`, ""},
		{"tunable", `tunable_constant x 1;`, ""},
		{"value of a tunable", `tunable_constant "x" y;`, ""},
		{"exclude", `exclude libc;`, ""},
		{"focus of an expectation", `expect e { h at Code; }`, ""},
		{"path of a constraint", `constraint c is counter { }`, ""},
		{"element of a path", `constraint c /Code/"x" is counter { }`, ""},
		{"long path", `constraint c ` + many("/a", 300) + ` is default;`, ""},
		{"kind of a constraint", `constraint c /Code is countr { }`, ""},
		{"kind of a base", `metric m { base is countr { } }`, ""},
		{"argument of a kind", `metric m { base is kernel(x); }`, ""},
		{"no argument of a kind", `metric m { base is kernel { } }`, ""},
		{"end of an argument", `metric m { base is kernel("x" { } }`, ""},
		{"nothing to tell apart by", `metric m { base is counter by { } }`, ""},
		{"kind of a histogram", `metric m { base is histogram(kernel) { } }`, ""},
		{"no body", `metric m { base is counter; }`, ""},
		{"statement", body + `apend preInsn $start.entry (* c = 1; *) }`, ""},
		{"end of a block", body, ""},
		{"variable of a loop", body + `foreach $f in x { } }`, ""},
		{"no in", body + `foreach f of x { } }`, ""},
		{"no condition", body + `if $start { } }`, ""},
		{"end of a condition", body + `if (1 { } }`, ""},
		{"when", body + `append before $start.entry (* c = 1; *) }`, ""},
		{"code", body + `append preInsn $start.entry constraind (* c = 1; *) }`, ""},
		{"end of code", body + `append preInsn $start.entry (* c = 1; `, ""},
		{"semicolon in code", body + `append preInsn $start.entry (* c = 1 *) }`, ""},
		{"block in code", body + `append preInsn $start.entry (* if (1) { c = 1; } *) }`, ""},
		{"else in code", body + `append preInsn $start.entry (* if (1) c = 1; else c = 0; *) }`, ""},
		{"loop in code", body + `append preInsn $start.entry (* while (1) c = 1; *) }`, ""},
		{"declaration in code", body + `append preInsn $start.entry (* int n = 1; *) }`, ""},
		{"expression", `expect e { 1 + ; }`, ""},
		{"end of a parenthesis", `expect e { (1; }`, ""},
		{"end of an index", `expect e { $arg[1; }`, ""},
		{"end of a call", `expect e { max(1; }`, ""},
		{"field", `expect e { a.1; }`, ""},
		{"metric at", `expect e { cpu@x > 1; }`, ""},
		{"big number", `expect e { 99999999999999999999; }`, ""},
		{"number without a sign", `metric m { base is counter { append preInsn f.entry (* m += 9223372036854775808; *) } }`, ""},
		{"big fraction", `expect e { ` + many("9", 400) + `.5; }`, ""},
		{"letters", `expect e { 12ab; }`, ""},
		{"dollar", `expect e { $; }`, ""},
		{"character", "metric \u00fc { }", ""},
		{"open string", "exclude \"abc\n;", ""},
		{"long word", `visi ` + many("v", 201) + ` { }`, ""},
		{"long string", `exclude "` + many("x", 70000) + `";`, ""},
		{"nesting", `expect e { ` + many("(", 300), ""},
		{"long expression", `expect e { 1` + many("+1", 600) + `; }`, ""},
		{"long text", many(" ", syntax.MaxText+1), ""},
		{"many words", many("visi v { command \"x\"; }\n", 20000), ""},
		{"many errors", many("junk;\n", 60), "and 10 more errors"},
	}
}

// boundCases are texts that hold too much of something.
func boundCases() []problemCase {
	many := func(n int, format string) string {
		var sb strings.Builder
		for i := range n {
			fmt.Fprintf(&sb, format, i)
		}
		return sb.String()
	}
	const m = `metric m { name "m"; ` + head
	return []problemCase{
		{"many counters", m + many(101, "counter c%d; ") + `base is void; }`, ""},
		{"many constraints", m + many(101, "constraint c%d /Code is default; ") + `base is void; }`, ""},
		{"long pattern", `exclude regex "` + strings.Repeat("x", 1001) + `";`, ""},
		{"large pattern", `exclude regex "/Code/(` + strings.Repeat("x", 200) + `){999}";`, ""},
		{"many exclusions", many(1001, "exclude \"/Code/%d\";\n"), ""},
		{"many problems", many(210, "hypothesis h%d { test none > 1; }\n"), "and 10 more problems"},
		{"second refine", `hypothesis h { test cpu > 1; refine { Code, Process, Code } }`, ""},
		{"bad focus of an expectation", `expect e { cpu > 2 at "x"; }`, ""},
		{"item twice", `hierarchy h { item "x" is { "/Code" }; item "x" is { "/IO" }; }`, ""},
		{"path of an item", `hierarchy h { item "x" is { "Code" }; }`, ""},
		{"list as a field", m + `base is counter { append preInsn $modules.funcs.entry (* m++; *) } }`, ""},
		{"assigned field", m + `base is counter { append preInsn $start.entry (* $start.name = 1; *) } }`, ""},
		{"assigned void", m + `base is void { append preInsn $start.entry (* m = 1; *) } }`, ""},
		{"call of an environment name", m + `base is counter { append preInsn $start.entry (* $start(1); *) } }`, ""},
		{"argument of a call", m + `base is counter { append preInsn $start.entry (* weigh(1.5); *) } }`, ""},
		{"many arguments", m + `base is counter { append preInsn $start.entry (* weigh(1, 2, 3, 4, 5, 6, 7); *) } }`, ""},
		{"timer as an argument", `metric m { name "m"; ` + head + ` base is wallTimer { append preInsn $start.entry (* weigh(m); *) } }`, ""},
		{"condition", m + `base is counter { if ("x") append preInsn $start.entry (* m++; *) } }`, ""},
		{"condition of code", m + `base is counter { append preInsn $start.entry (* if ("x") m++; *) } }`, ""},
		{"constraint without index", `constraint c /Code is counter { append preInsn $constraint.entry (* c = 1; *) }`, ""},
		{"indexed name", m + `base is counter { append preInsn $start[0].entry (* m++; *) } }`, ""},
		{"field of a type", m + `base is counter { append preInsn $start.entry (* m += $start->x; *) } }`, ""},
		{"function", m + `base is counter { append preInsn $function(1).entry (* m++; *) } }`, ""},
		{"line", m + `base is counter { append preInsn $line("x.c") (* m++; *) } }`, ""},
		{"call outside of code", m + `base is counter { append preInsn f(1).entry (* m++; *) } }`, ""},
		{"metric at a focus in code", m + `base is counter { append preInsn $start.entry (* m += cpu@"/"; *) } }`, ""},
		{"expression in a test", `hypothesis h { test cpu.x > 1; }`, ""},
	}
}

// warnCases are texts that are sound and odd.
func warnCases() []problemCase {
	const m, t = `metric m { name "m"; ` + head, `metric t { name "t"; ` + head
	const flag = `prepend preInsn $constraint[0].return (* c = 0; *)`
	return []problemCase{
		{"unused counter", m + `counter n; base is counter { append preInsn $start.entry (* m++; *) } }`, ""},
		{"counter that is not read", m + `counter n; base is counter { append preInsn $start.entry (* n += 1; m++; *) } }`, ""},
		{"largest of threads", `metric m { name "m"; units c; aggregateOperator max; style EventCounter; base is counter { append preInsn $start.entry (* m++; *) } }`, ""},
		{"unused list", `resourceList l is int { items { 1 } }`, ""},
		{"unused constraint", `constraint c /Code is default;`, ""},
		{"flag that stays set", m + `constraint c /Code/* is counter { append preInsn $constraint[0].entry (* c = 1; *) } base is counter { append preInsn $start.entry constrained (* m++; *) } }`, ""},
		{"flag that is not set", m + `constraint c /Code/* is counter { ` + flag + ` } base is counter { append preInsn $start.entry constrained (* m++; *) } }`, ""},
		{"timer that runs on", t + `base is wallTimer { append preInsn $start.entry (* startWallTimer(t); *) } }`, ""},
		{"timer that does not run", t + `base is wallTimer { append preInsn $start.return (* stopWallTimer(t); *) } }`, ""},
		{"nothing constrained", m + `constraint procedureInclusive; base is counter { append preInsn $start.entry (* m++; *) } }`, ""},
		{"what cannot be measured", m + `base is counter { append preInsn $start.entry (* m += readAddress($arg[0]); *) } }`, ""},
		{"flavor of no target", m + `flavor { cpp }; base is counter { append preInsn $start.entry (* m++; *) } }`, ""},
		{"hash of a build", m + `base is counter { append preInsn $function("shop::work::h0123456789abcdef").entry (* m++; *) } }`, ""},
		{"trace", `trace t { at $start.entry; record { $arg[0] }; }`, ""},
		{"unused loop variable", m + `base is counter { foreach f in $procedures append preInsn $start.entry (* m++; *) } }`, ""},
		{"suppressed elsewhere", `hypothesis h { test cpu > 1; refine { Process }; suppress { "/Code/libc.so.6" } }`, ""},
		{"two that exclude each other", m + `constraint oneMutex; constraint r /Code/* is replace counter { append preInsn $constraint[0].entry (* m++; *) }
			base is counter { append preInsn $start.entry constrained (* m++; *) } } hypothesis h { test m > 1; refine { Code, SyncObject } }`, ""},
		{"dear code everywhere", m + `base is counter { foreach f in $procedures { append preInsn f.entry (* if ($arg[0] == "GET") m++; *) } } }`, ""},
		{"dear call everywhere", m + `base is counter { foreach o in $modules foreach f in o.funcs append preInsn f.entry (* m += strlen($arg[0]); *) } }`, ""},
		{"unknown to the kernel", t + `base is kernel("cpu_tme"); }`, ""},
		{"unknown event", t + `base is hwCounter("instruction"); }`, ""},
		{"never tested", `expect e { not CPUbound at "/Machine/node1"; }`, ""},
	}
}

// refusals are pairs that are refused, beside those of compileCases.
var refusals = []struct{ name, pcl, pair string }{
	{"gauge at a thread", `metric m { name "m"; ` + gaugeHead + `base is gauge { append preInsn $start.entry (* m++; *) } }`, "m@/Process/a{7}/thr_8"},
	{"kernel at a thread of a thread", "", "cpu@/Process/a{7}/thr_8/x"},
	{"nothing constrained", `metric m { name "m"; ` + head + ` constraint procedureInclusive; base is counter { append preInsn $start.entry (* m++; *) } }`, "m@/Code/work.c/leaf"},
	{"address", `metric m { name "m"; ` + head + ` base is counter { append preInsn $start.entry (* m += readAddress($arg[0]); *) } }`, "m"},
	{"removed timer", `metric m { name "m"; ` + head + ` base is processTimer { append preInsn $start.entry (* destroyProcessTimer(m); *) } }`, "m"},
}

// allDiagnostics runs every input that is refused or warned of.
func allDiagnostics(t *testing.T) (out []diagnostic) {
	t.Helper()
	for _, c := range slices.Concat(syntaxCases(), problemCases(), boundCases()) {
		_, problems, err := Load(Options{Texts: []string{c.pcl}})
		if err != nil || len(problems) == 0 {
			t.Fatalf("%s: no problem, but %v", c.name, err)
		}
		p := problems[len(problems)-1]
		if c.want == "" && len(problems) > 1 {
			t.Errorf("%s: %d problems, want 1: %v", c.name, len(problems), problems)
		}
		out = append(out, diagnostic{name: c.name, problem: p})
	}
	for _, c := range warnCases() {
		warnings := load(t, c.pcl).Warnings()
		if len(warnings) != 1 || warnings[0].Severity != SeverityWarning {
			t.Errorf("%s: %d warnings, want 1: %v", c.name, len(warnings), warnings)
			continue
		}
		out = append(out, diagnostic{name: c.name, problem: warnings[0]})
	}
	out = append(out, partsDiagnostics(t)...)
	return append(out, refusedPairs(t)...)
}

// partsDiagnostics are what the tests of arguments, hierarchies and distributions have as wrong.
func partsDiagnostics(t *testing.T) (out []diagnostic) {
	t.Helper()
	wrong := func(name, text string) {
		_, problems, err := Load(Options{Texts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			out = append(out, diagnostic{name: name, problem: p})
		}
	}
	refused := func(name string, lib *Library, metric string, focus grid.Focus) {
		if _, err := lib.Compile(metric, focus, newTarget()); err != nil {
			out = append(out, diagnostic{name: name, err: err})
		}
	}
	for _, c := range hierarchyProblems {
		wrong(c.want, c.text)
	}
	for _, c := range histogramCases {
		if !strings.HasPrefix(c.want, "\n") {
			wrong("histogram: "+c.name, `metric m { name "m"; `+c.items+` }`)
		}
	}
	items := load(t, subsystems, clashing)
	for _, c := range itemCases {
		metric, focus := itemPair(t, items, c.pair)
		refused("item: "+c.name, items, metric, focus)
	}
	for _, c := range argCases {
		text := argMetric(c.at, c.code)
		lib, problems, err := Load(Options{Texts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			refused("argument: "+c.at+" "+c.code, lib, "m", grid.Whole())
		}
		wrong("argument: "+c.at+" "+c.code, text)
	}
	for _, c := range returnCases {
		text := returnMetric(c.at, c.code)
		lib, problems, err := Load(Options{Texts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			refused("result: "+c.at+" "+c.code, lib, "m", grid.Whole())
		}
		wrong("result: "+c.at+" "+c.code, text)
	}
	lib := load(t, `metric m { name "m"; `+head+` base is counter { append preInsn $line("work.c", 120) (* m += $arg.len; *) } }`)
	long := `resourceList long is string { items { "` + strings.Repeat("x", 128) + `" }; flavor { any }; } metric m { name "m"; ` + head +
		` base is counter { foreach s in long append preInsn $function("work").entry (* if ($arg.c->peer->name == s) m++; *) } }`
	refused("long text of a list", load(t, long), "m", grid.Whole())
	refused("argument at a line", lib, "m", grid.Whole())
	return out
}

func refusedPairs(t *testing.T) (out []diagnostic) {
	t.Helper()
	cases := refusals
	for _, c := range compileCases {
		if c.want != "problem" && !strings.HasPrefix(c.want, "\n") {
			cases = append(cases, struct{ name, pcl, pair string }{c.name, c.pcl, c.pair})
		}
	}
	for _, c := range cases {
		metric, focus := pair(t, c.pair)
		_, err := load(t, c.pcl).Compile(metric, focus, newTarget())
		if err == nil {
			t.Errorf("%s: %s compiles", c.name, c.pair)
			continue
		}
		out = append(out, diagnostic{name: c.name, err: err})
	}
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems, _ := Load(Options{UserDir: dir})
	out = append(out, diagnostic{name: "directory", problem: Problem{Msg: strings.ReplaceAll(problems[0].Msg, dir, "DIR")}})
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "x.pcl"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, problems, _ = Load(Options{UserDir: dir})
	out = append(out, diagnostic{name: "file of the directory", problem: Problem{Msg: strings.ReplaceAll(problems[0].Msg, dir, "DIR")}})
	lib := load(t, `trace t { at $start.entry; record { $arg[0] }; }`)
	out = append(out, diagnostic{name: "unknown trace", err: lib.CompileTrace("none")}, diagnostic{name: "trace that cannot be made", err: lib.CompileTrace("t")})
	_, _, err := Load(Options{Files: []string{"testdata"}})
	return append(out, diagnostic{name: "file", err: err})
}

// placeInDefault is a place in what comes with the program, which grows.
var placeInDefault = regexp.MustCompile(`(lib/[a-z]+\.pcl):[0-9]+:[0-9]+:`)

// TestDiagnostics: what is said of each bad input, with its place and caret, is what the file shows; it names what was found
// and what was expected; and the source has no message that no input is answered with.
func TestDiagnostics(t *testing.T) {
	all := allDiagnostics(t)
	var sb strings.Builder
	for _, d := range all {
		fmt.Fprintf(&sb, "== %s\n%s\n\n", d.name, placeInDefault.ReplaceAllString(d.detail(), "$1:LINE:COLUMN:"))
		if d.err == nil && d.problem.Pos.File != nil {
			complete(t, d)
		}
	}
	if *rewrite {
		if err := os.WriteFile(diagnosticsFile, []byte(sb.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(diagnosticsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), sb.String()); diff != "" {
		t.Errorf("%s differs; if the change is meant: go test ./pcl -run TestDiagnostics -rewrite (-want +got):\n%s", diagnosticsFile, diff)
	}
	everyMessage(t, all)
	proportion(t, len(all))
}

// complete: a message names its place, what was found there and what was expected.
func complete(t *testing.T, d diagnostic) {
	t.Helper()
	detail := d.problem.Detail()
	if d.problem.Pos.Line == 0 || !strings.HasSuffix(detail, "^") {
		t.Errorf("%s: no place or no caret:\n%s", d.name, detail)
	}
	_, expected, ok := strings.Cut(d.problem.Msg, "expected ")
	counted := strings.HasPrefix(d.problem.Msg, "and ")
	if !counted && (!ok || len(expected) < 3 || !strings.Contains(d.problem.Msg, "found ") && !strings.Contains(d.problem.Msg, "is missing")) {
		t.Errorf("%s: it does not say what was found and what was expected:\n%s", d.name, detail)
	}
}

// TestDefaultHasNoWarnings: what comes with the program is an example to others.
func TestDefaultHasNoWarnings(t *testing.T) {
	for _, p := range load(t).Warnings() {
		t.Errorf("%s", p.Detail())
	}
}

// proportion: at least a third of all cases of the language are negative.
func proportion(t *testing.T, negative int) {
	t.Helper()
	positive := 0
	for _, c := range compileCases {
		if strings.HasPrefix(c.want, "\n") {
			positive++
		}
	}
	for _, file := range testFiles(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				positive++ // at most: some of them are negative, too
			}
		}
	}
	positive += 17 + 9 // texts that TestHypotheses and TestRecovery read
	t.Logf("%d of %d cases are negative (%d %%); %d shapes of hostile texts come on top", negative, negative+positive, 100*negative/(negative+positive), len(hostileShapes))
	if 3*negative < negative+positive {
		t.Error("less than a third of the cases are negative")
	}
}

func testFiles(t *testing.T) []*ast.File { return sourceFiles(t, true) }

func sourceFiles(t *testing.T, tests bool) (files []*ast.File) {
	t.Helper()
	for _, pattern := range []string{"*.go", "syntax/*.go"} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			if strings.HasSuffix(name, "_test.go") != tests {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	return files
}

// everyMessage: each message of the source is what some input is answered with. A message that fits several formats counts
// for the one that says most.
func everyMessage(t *testing.T, all []diagnostic) {
	t.Helper()
	seen := map[string]bool{}
	var formats []*format
	for _, f := range sourceFiles(t, false) {
		ast.Inspect(f, func(n ast.Node) bool {
			for _, m := range messagesOf(n) {
				if !seen[m.role+m.text] {
					seen[m.role+m.text] = true
					formats = append(formats, m)
				}
			}
			return true
		})
	}
	for _, d := range all {
		best := map[string]*format{}
		text := d.detail()
		for _, m := range formats {
			switch old := best[m.role]; {
			case !m.re.MatchString(text):
			case strings.HasSuffix(m.text, ": %v") && !strings.Contains(m.text, "found"): // hands on what another room says
				m.cases++
			case old == nil || m.literal > old.literal:
				best[m.role] = m
			}
		}
		for _, m := range best {
			m.cases++
		}
	}
	missing := 0
	for _, m := range formats {
		if m.cases == 0 && unreachable[m.text] == "" {
			missing++
			t.Errorf("no test case for the message %q (%s): add one to problemCases or syntaxCases", m.text, m.role)
		}
	}
	t.Logf("%d messages in the source, %d diagnostics, %d messages without a case", len(formats), len(all), missing)
}

// unreachable are messages that no input gives, with the reason.
var unreachable = map[string]string{
	"found %v, expected %s": "it is the form of those that the parser completes",
	"found %s, expected something that is known before the target runs": "the checker leaves no such expression to the compiler, which would rather say so than fail",
}

// A format is a message in the source.
type format struct {
	role    string // which part of a text it is
	text    string
	re      *regexp.Regexp
	literal int // how many characters it says by itself
	cases   int
}

func newFormat(role, text string) *format {
	parts := verb.Split(text, -1)
	literal := 0
	for i := range parts {
		literal += len(parts[i])
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return &format{role: role, text: text, re: regexp.MustCompile("(?s)" + strings.Join(parts, ".*")), literal: literal}
}

var verb = regexp.MustCompile(`%[.0-9]*[vsqdwg]`)

// messageArguments are the functions that are given messages, with where among their arguments, and what comes before it.
var messageArguments = map[string][]struct {
	index        int
	role, before string
}{
	"errorAt": {{1, "message", ""}}, "problemAt": {{1, "message", ""}}, "fail": {{1, "message", ""}}, "failAt": {{1, "message", ""}}, "warn": {{1, "message", ""}},
	"Errorf": {{0, "message", ""}}, "note": {{1, "what", ""}, {2, "needs", ""}}, "expected": {{0, "message", "found %v, expected "}},
	"expect": {{1, "message", "found %v, expected "}}, "closing": {{1, "message", "found %v, expected "}}, "name": {{0, "message", "found %v, expected "}}, "value": {{0, "message", "found %v, expected "}},
	"take": {{2, "token", ""}},
}

// messageFields are the fields of structures that hold messages.
var messageFields = map[string]string{"Msg": "message", "What": "what", "Needs": "needs", "Reason": "reason"}

// messagesOf are the messages that a node of the source gives.
func messagesOf(n ast.Node) (out []*format) {
	add := func(role, before string, e ast.Expr) {
		if text, ok := literalOf(e); ok {
			out = append(out, newFormat(role, before+text))
		}
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		name := calledName(n)
		for _, a := range messageArguments[name] {
			if a.index < len(n.Args) {
				add(a.role, a.before, n.Args[a.index])
			}
		}
		if name == "expectWord" {
			if words := literals(n.Args); len(words) > 0 {
				out = append(out, newFormat("message", "found %v, expected "+oneOfWords(words)))
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && messageFields[key.Name] != "" {
			add(messageFields[key.Name], "", n.Value)
		}
	case *ast.CompositeLit: // &Error{pos, message}, Pos is not named
		if name, ok := n.Type.(*ast.Ident); ok && name.Name == "Error" && len(n.Elts) == 2 {
			add("message", "", n.Elts[1])
		}
	}
	return out
}

func calledName(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literalOf is the text of a literal, of Sprintf's format, or of a sum with other things as %v; ok is false without any.
func literalOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING && len(s) > 2
	case *ast.BinaryExpr:
		x, okX := literalOf(e.X)
		y, okY := literalOf(e.Y)
		if !okX {
			x = "%v"
		}
		if !okY {
			y = "%v"
		}
		return x + y, (okX || okY) && e.Op == token.ADD
	case *ast.CallExpr:
		if calledName(e) == "Sprintf" {
			return literalOf(e.Args[0])
		}
	}
	return "", false
}

func literals(list []ast.Expr) (out []string) {
	for _, e := range list {
		if l, ok := e.(*ast.BasicLit); ok {
			s, _ := strconv.Unquote(l.Value)
			out = append(out, s)
		}
	}
	return out
}

func oneOfWords(words []string) string {
	for i := range words {
		words[i] = `"` + words[i] + `"`
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return words[0]
}
