package pcl_test

import (
	"errors"
	"fmt"
	"go/ast"
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
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/compile"
	"culprit/pcl/internal/cases"
	"culprit/pcl/syntax"
)

// diagnosticsFile holds every message as a user sees it; TestDiagnostics -rewrite writes it anew.
const diagnosticsFile = "testdata/diagnostics.txt"

// A diagnostic is a message that some input was answered with.
type diagnostic struct {
	name    string
	problem check.Problem // as a text is loaded; or
	err     error         // as a metric is compiled
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

// refusals are pairs that are refused, beside those of cases.Plans.
var refusals = []struct{ name, pcl, pair string }{
	{"gauge at a thread", `metric m { name "m"; ` + cases.GaugeHead + `base is gauge { append preInsn $start.entry (* m++; *) } }`, "m@/Process/a{7}/thr_8"},
	{"kernel at a thread of a thread", "", "cpu@/Process/a{7}/thr_8/x"},
	{"nothing constrained", `metric m { name "m"; ` + cases.Head + ` constraint procedureInclusive; base is counter { append preInsn $start.entry (* m++; *) } }`, "m@/Code/work.c/leaf"},
	{"address", `metric m { name "m"; ` + cases.Head + ` base is counter { append preInsn $start.entry (* m += readAddress($arg[0]); *) } }`, "m"},
	{"removed timer", `metric m { name "m"; ` + cases.Head + ` base is processTimer { append preInsn $start.entry (* destroyProcessTimer(m); *) } }`, "m"},
}

// allDiagnostics runs every input that is refused or warned of.
func allDiagnostics(t *testing.T) (out []diagnostic) {
	t.Helper()
	for _, c := range slices.Concat(cases.Syntax(), cases.Problems(), cases.Bounds()) {
		_, problems, err := check.Load(check.Options{Texts: []string{c.Text}})
		if err != nil || len(problems) == 0 {
			t.Fatalf("%s: no problem, but %v", c.Name, err)
		}
		p := problems[len(problems)-1]
		if c.Want == "" && len(problems) > 1 {
			t.Errorf("%s: %d problems, want 1: %v", c.Name, len(problems), problems)
		}
		out = append(out, diagnostic{name: c.Name, problem: p})
	}
	for _, c := range cases.Warnings() {
		warnings := check.Warnings(cases.Load(t, c.Text), cases.Kept)
		if len(warnings) != 1 || warnings[0].Severity != check.SeverityWarning {
			t.Errorf("%s: %d warnings, want 1: %v", c.Name, len(warnings), warnings)
			continue
		}
		out = append(out, diagnostic{name: c.Name, problem: warnings[0]})
	}
	out = append(out, partsDiagnostics(t)...)
	return append(out, refusedPairs(t)...)
}

// partsDiagnostics are what the tests of arguments, hierarchies and distributions have as wrong.
func partsDiagnostics(t *testing.T) (out []diagnostic) {
	t.Helper()
	wrong := func(name, text string) {
		_, problems, err := check.Load(check.Options{Texts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			out = append(out, diagnostic{name: name, problem: p})
		}
	}
	refused := func(name string, lib *pcl.Library, metric string, focus grid.Focus) {
		if _, err := compile.Plan(lib, metric, focus, cases.NewTarget()); err != nil {
			out = append(out, diagnostic{name: name, err: err})
		}
	}
	for _, c := range cases.HierarchyProblems {
		wrong(c.Want, c.Text)
	}
	for _, c := range cases.Histograms {
		if !strings.HasPrefix(c.Want, "\n") {
			wrong("histogram: "+c.Name, `metric m { name "m"; `+c.Items+` }`)
		}
	}
	items := cases.Load(t, cases.Subsystems, cases.Clashing)
	for _, c := range cases.Items {
		metric, focus := cases.ItemPair(t, items, c.Pair)
		refused("item: "+c.Name, items, metric, focus)
	}
	for _, c := range cases.Arguments {
		text := cases.ArgMetric(c.At, c.Code)
		lib, problems, err := check.Load(check.Options{Texts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			refused("argument: "+c.At+" "+c.Code, lib, "m", grid.Whole())
		}
		wrong("argument: "+c.At+" "+c.Code, text)
	}
	for _, c := range cases.Results {
		text := cases.ReturnMetric(c.At, c.Code)
		lib, problems, err := check.Load(check.Options{Texts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			refused("result: "+c.At+" "+c.Code, lib, "m", grid.Whole())
		}
		wrong("result: "+c.At+" "+c.Code, text)
	}
	lib := cases.Load(t, `metric m { name "m"; `+cases.Head+` base is counter { append preInsn $line("work.c", 120) (* m += $arg.len; *) } }`)
	long := `resourceList long is string { items { "` + strings.Repeat("x", 128) + `" }; flavor { any }; } metric m { name "m"; ` + cases.Head +
		` base is counter { foreach s in long append preInsn $function("work").entry (* if ($arg.c->peer->name == s) m++; *) } }`
	refused("long text of a list", cases.Load(t, long), "m", grid.Whole())
	refused("argument at a line", lib, "m", grid.Whole())
	return out
}

func refusedPairs(t *testing.T) (out []diagnostic) {
	t.Helper()
	pairs := refusals
	for _, c := range cases.Plans {
		if c.Want != "problem" && !strings.HasPrefix(c.Want, "\n") {
			pairs = append(pairs, struct{ name, pcl, pair string }{c.Name, c.Text, c.Pair})
		}
	}
	for _, c := range pairs {
		metric, focus := cases.Pair(t, c.pair)
		_, err := compile.Plan(cases.Load(t, c.pcl), metric, focus, cases.NewTarget())
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
	_, problems, _ := check.Load(check.Options{UserDir: dir})
	out = append(out, diagnostic{name: "directory", problem: check.Problem{Msg: strings.ReplaceAll(problems[0].Msg, dir, "DIR")}})
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "x.pcl"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, problems, _ = check.Load(check.Options{UserDir: dir})
	out = append(out, diagnostic{name: "file of the directory", problem: check.Problem{Msg: strings.ReplaceAll(problems[0].Msg, dir, "DIR")}})
	lib := cases.Load(t, `trace t { at $start.entry; record { $arg[0] }; }`)
	out = append(out, diagnostic{name: "unknown trace", err: lib.CompileTrace("none")}, diagnostic{name: "trace that cannot be made", err: lib.CompileTrace("t")})
	_, _, err := check.Load(check.Options{Files: []string{"testdata"}})
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
			cases.Complete(t, d.name, d.problem)
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

// proportion: at least a third of all cases of the language are negative.
func proportion(t *testing.T, negative int) {
	t.Helper()
	positive := 0
	for _, c := range cases.Plans {
		if strings.HasPrefix(c.Want, "\n") {
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
	t.Logf("%d of %d cases are negative (%d %%)", negative, negative+positive, 100*negative/(negative+positive))
	if 3*negative < negative+positive {
		t.Error("less than a third of the cases are negative")
	}
}

func testFiles(t *testing.T) []*ast.File { return cases.SourceFiles(t, true) }

// everyMessage: each message of the source is what some input is answered with. A message that fits several formats counts
// for the one that says most.
func everyMessage(t *testing.T, all []diagnostic) {
	t.Helper()
	seen := map[string]bool{}
	var formats []*format
	for _, f := range cases.SourceFiles(t, false) {
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
			t.Errorf("no test case for the message %q (%s): add one to pcl/internal/cases", m.text, m.role)
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
	"ErrorAt": {{1, "message", ""}}, "problemAt": {{1, "message", ""}}, "fail": {{1, "message", ""}}, "failAt": {{1, "message", ""}}, "warn": {{1, "message", ""}},
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
		name := cases.CalledName(n)
		for _, a := range messageArguments[name] {
			if a.index < len(n.Args) {
				add(a.role, a.before, n.Args[a.index])
			}
		}
		if name == "expectWord" {
			if words := cases.Literals(n.Args); len(words) > 0 {
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
		if cases.CalledName(e) == "Sprintf" {
			return literalOf(e.Args[0])
		}
	}
	return "", false
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
