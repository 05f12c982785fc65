package arrows

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

// allowed lists, for every package of the house, the rooms that it may import. A room stands for the packages below it
// too. Anyone may import internal/..., which is nobody's vocabulary, except where a package is in alone.
// One that ends in "/." is a package without those below it. A package that is not below any of these names fails the test:
// give it a line.
var allowed = map[string][]string{
	"grid":               {},
	"grid/boundaries":    {},
	"grid/wire":          {"grid"},
	"grid/remote":        {"grid"},
	"grid/replay":        {"grid"},
	"trampoline/x86":     {},
	"trampoline/planner": {"trampoline/x86"},
	"trampoline/disasm":  {},
	"trampoline":         {"grid", "trampoline/x86", "trampoline/planner"},
	"pcl/syntax":         {},
	"pcl/lib":            {},
	"pcl":                {"grid", "pcl/syntax"},
	"pcl/types":          {"grid", "pcl/syntax", "pcl/."},
	"pcl/check":          {"grid", "pcl/syntax", "pcl/lib", "pcl/.", "pcl/types"},
	"pcl/compile":        {"grid", "pcl/syntax", "pcl/.", "pcl/types"},
	"pcl/pcltest":        {"grid", "pcl/syntax"},
	"pcl/internal/cases": {"grid", "pcl/syntax", "pcl/lib", "pcl/.", "pcl/check"},
	"visi":               {"grid", "visi"},
	"daemon/kernel":      {},
	"daemon/threadstats": {},
	"daemon/syscalls":    {},
	"daemon/tracerguard": {},
	"daemon/selfcost":    {"daemon/kernel"},
	"daemon/schedule":    {},
	"daemon/neighbours":  {},
	"daemon/batch":       {"daemon/patch", "daemon/process"},
	"daemon/attach":      {"daemon/process", "daemon/segment", "daemon/stops"},
	"daemon/children":    {"daemon/kernel", "daemon/process", "daemon/segment"},
	"daemon/descriptors": {"daemon/process", "daemon/program"},
	"daemon/cost":        {"grid", "trampoline", "pcl", "daemon/kernel", "daemon/probe", "daemon/selfcost", "daemon/trial"},
	"daemon/clocks":      {"grid", "pcl", "daemon/cost", "daemon/probe", "daemon/selfcost", "daemon/target", "daemon/targetstats"},
	"daemon/locks":       {"grid", "daemon/libc"},
	"daemon/openfiles":   {"grid", "trampoline", "pcl", "daemon/kernel"},
	"daemon/threads":     {"grid", "daemon/arch", "daemon/kernel", "daemon/process"},
	"daemon/items":       {"grid", "pcl"},
	"daemon/arch":        {},
	"daemon/libc":        {},

	"daemon/image":           {"trampoline/x86", "daemon/image"},
	"daemon/image/lazy":      {},
	"daemon/image/elffile":   {"daemon/image/lazy"},
	"daemon/image/unwind":    {"daemon/image/lazy", "daemon/image/elffile"},
	"daemon/image/debuginfo": {"daemon/image/lazy", "daemon/image/elffile"},
	"daemon/image/types":     {"daemon/image/lazy", "daemon/image/elffile", "daemon/image/unwind", "daemon/image/debuginfo"},

	"daemon/process":          {"daemon/syscalls", "daemon/process"},
	"daemon/process/raw":      {},
	"daemon/process/textdiff": {"daemon/process/raw"},
	"daemon/process/resume":   {"daemon/process/raw"},
	"daemon/process/remote":   {"daemon/process/raw", "daemon/process/resume"},

	"daemon/program":         {"daemon/image", "daemon/libc", "pcl"},
	"daemon/plans":           {"trampoline", "pcl", "daemon/image", "daemon/program"},
	"daemon/sites":           {"trampoline", "pcl", "daemon/contexts", "daemon/image", "daemon/libc", "daemon/patch", "daemon/plans", "daemon/process", "daemon/program", "daemon/stops"},
	"daemon/placement":       {"trampoline", "pcl", "daemon/arch", "daemon/contexts", "daemon/libc", "daemon/patch", "daemon/probe", "daemon/process", "daemon/program", "daemon/stack", "daemon/stops", "daemon/target"},
	"daemon/patch":           {"trampoline", "daemon/arch", "daemon/process", "daemon/segment"},
	"daemon/stack":           {"daemon/arch", "daemon/image", "daemon/libc", "daemon/process", "daemon/program", "pcl"},
	"daemon/probe":           {"grid", "pcl", "trampoline", "daemon/kernel", "daemon/libc", "daemon/program", "daemon/target", "daemon/threads", "daemon/threadstats"},
	"daemon/kernelmeter":     {"grid", "pcl", "daemon/kernel", "daemon/target", "daemon/targetstats", "daemon/threads", "daemon/threadstats"},
	"daemon/targetstats":     {"grid", "pcl", "trampoline", "daemon/process", "daemon/segment", "daemon/threads", "daemon/threadstats"},
	"daemon/notes":           {"grid", "pcl", "daemon/children", "daemon/program", "daemon/sites", "daemon/target"},
	"daemon/waits":           {"daemon/arch", "daemon/image", "daemon/kernel", "daemon/libc", "daemon/locks", "daemon/process", "daemon/program", "daemon/readiness", "daemon/stack", "daemon/stops", "daemon/target"},
	"daemon/stops":           {"grid", "daemon/arch", "daemon/image", "daemon/libc", "daemon/patch", "daemon/process", "daemon/program", "daemon/segment", "daemon/stack"},
	"daemon/contexts":        {"trampoline", "daemon/arch", "daemon/image", "daemon/libc", "daemon/patch", "daemon/process", "daemon/program", "daemon/segment", "daemon/stack", "daemon/stops"},
	"daemon/wakers":          {"daemon/kernel", "daemon/threadstats"},
	"daemon/readiness":       {"daemon/kernel", "daemon/process"},
	"daemon/target":          {"grid", "pcl", "trampoline", "daemon/arch", "daemon/attach", "daemon/contexts", "daemon/image", "daemon/items", "daemon/kernel", "daemon/libc", "daemon/locks", "daemon/openfiles", "daemon/patch", "daemon/plans", "daemon/process", "daemon/program", "daemon/segment", "daemon/sites", "daemon/stack", "daemon/stops", "daemon/syscalls", "daemon/targetstats", "daemon/threads"},
	"daemon/sampling":        {"grid", "pcl", "daemon/arch", "daemon/image", "daemon/image/lazy", "daemon/items", "daemon/kernel", "daemon/libc", "daemon/locks", "daemon/process", "daemon/readiness", "daemon/schedule", "daemon/stack", "daemon/target", "daemon/threads", "daemon/waits"},
	"daemon/estimate":        {"grid", "pcl", "daemon/kernel", "daemon/sampling", "daemon/schedule", "daemon/stack", "daemon/target", "daemon/threads"},
	"daemon/resources":       {"grid", "pcl", "daemon/program", "daemon/sampling", "daemon/target"},
	"daemon/callees":         {"grid", "pcl", "daemon/image", "daemon/program"},
	"daemon/survey":          {"grid", "pcl", "daemon/contexts", "daemon/image", "daemon/kernelmeter", "daemon/libc", "daemon/plans", "daemon/process", "daemon/program", "daemon/stops", "daemon/target"},
	"daemon/measuring":       {"grid", "pcl", "daemon/batch", "daemon/callees", "daemon/children", "daemon/clocks", "daemon/contexts", "daemon/cost", "daemon/estimate", "daemon/kernel", "daemon/kernelmeter", "daemon/locks", "daemon/notes", "daemon/openfiles", "daemon/patch", "daemon/placement", "daemon/plans", "daemon/probe", "daemon/process", "daemon/program", "daemon/sampling", "daemon/target", "daemon/targetstats", "daemon/threads", "daemon/threadstats", "daemon/waits"},
	"daemon/segment":         {"trampoline", "daemon/arch", "daemon/process", "daemon/kernel"},
	"daemon":                 {"grid", "trampoline", "pcl", "daemon"},
	"consultant":             {"grid", "pcl", "consultant"},
	"consultant/answers":     {"grid", "consultant/experiments", "consultant/history", "consultant/lifecycle"},
	"consultant/bins":        {"grid", "consultant/decide"},
	"consultant/admission":   {"consultant/budget", "consultant/explain"},
	"consultant/beat":        {},
	"consultant/budget":      {"grid", "consultant/explain"},
	"consultant/changes":     {"grid/boundaries"},
	"consultant/decide":      {},
	"consultant/foci":        {"grid"},
	"consultant/history":     {},
	"consultant/hypotheses":  {"grid", "pcl", "consultant/decide", "consultant/foci", "consultant/links", "consultant/samples"},
	"consultant/lifecycle":   {"grid", "pcl"},
	"consultant/mpi":         {"grid"},
	"consultant/victims":     {"grid"},
	"consultant/prior":       {"grid"},
	"consultant/priority":    {},
	"consultant/samples":     {"consultant/decide"},
	"consultant/experiments": {},
	"consultant/later":       {"grid"},
	"consultant/links":       {},
	"consultant/refine":      {"grid", "consultant/foci"},
	"consultant/earlier":     {"consultant/decide"},
	"consultant/explain":     {"grid", "consultant/decide"},
	"session":                {"grid", "pcl", "daemon", "consultant", "session"},
	"session/report":         {},
	"session/ask":            {"pcl", "session/report"},
	"session/diff":           {"session/report"},
	"session/socket":         {},
	"session/watch":          {"grid", "pcl"},
	"cmd":                    {"grid", "trampoline", "pcl", "visi", "daemon", "consultant", "session", "cmd"},
	"bench":                  {"grid", "trampoline", "pcl", "visi", "daemon", "consultant"},
	"e2e":                    {},
	"e2e/peer":               {"grid", "pcl", "daemon"},
	"e2e/culprits":           {"session/report"},
	"internal":               {},
}

// tests lists what the tests of a package may import besides.
var tests = map[string][]string{
	"pcl":              {"pcl"},
	"pcl/check":        {"pcl/internal/cases"},
	"pcl/compile":      {"pcl/check", "pcl/internal/cases"},
	"daemon/estimate":  {"daemon/program"},
	"daemon/resources": {"daemon/libc", "daemon/locks"},
	"daemon/clocks":    {"daemon/kernel", "daemon/threads", "daemon/threadstats"},
	"daemon/sites":     {"grid", "daemon/target"},
	"daemon/batch":     {"trampoline"},
}

// alone lists the packages that import nothing of the house, not even internal/..., outside their tests; but for readers, which are alone themselves.
var alone = []string{"grid", "consultant/decide", "consultant/history", "daemon/kernel", "daemon/arch", "daemon/threadstats", "daemon/syscalls", "trampoline/x86", "trampoline/disasm", readers[0], readers[1]}

// readers read what the kernel says.
var readers = []string{"internal/procfs", "internal/kerneltypes"}

// A source is one Go file of the house.
type source struct {
	path    string // below the top directory
	pkg     string // its directory
	test    bool
	imports []string // of the house, without the module's name
	text    string
}

func sources(t *testing.T) []source {
	t.Helper()
	root := testprog.Root(t)
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "build" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		s, err := read(root, path)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files below %s: the walk is broken", len(all), root)
	}
	return all
}

func read(root, path string) (source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return source{}, err
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, path)
	s := source{path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(path, "_test.go"), text: string(text)}
	for _, spec := range f.Imports {
		if name, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "culprit/"); ok {
			s.imports = append(s.imports, name)
		}
	}
	return s, err
}

// rule returns the longest name in allowed that pkg is or lies below.
func rule(pkg string) (string, bool) {
	for ; pkg != "."; pkg = filepath.ToSlash(filepath.Dir(pkg)) {
		if _, ok := allowed[pkg]; ok {
			return pkg, true
		}
	}
	return "", false
}

func below(pkg, room string) bool { return pkg == room || strings.HasPrefix(pkg, room+"/") }

// refusal says why s may not import name; "" if it may.
func refusal(s source, name string) string {
	room, ok := rule(s.pkg)
	switch {
	case !ok:
		return "no rule for this package: add one to internal/arrows"
	case below(name, "internal"):
		if !s.test && !slices.Contains(readers, name) && slices.Contains(alone, s.pkg) {
			return "it imports nothing of the house"
		}
		return ""
	case s.pkg == name, s.test && below(s.pkg, name):
		return "" // a test of its own package, or of the one above
	}
	may := allowed[room]
	if s.test {
		may = slices.Concat(may, tests[room])
	}
	for _, r := range may {
		if alone, ok := strings.CutSuffix(r, "/."); ok && name == alone || !ok && below(name, r) {
			return ""
		}
	}
	return "it may import only " + strings.Join(append([]string{"internal"}, allowed[room]...), ", ")
}

func TestImportArrowsRunDownwards(t *testing.T) {
	for _, s := range sources(t) {
		if _, ok := rule(s.pkg); !ok {
			t.Errorf("%s: %s", s.path, refusal(s, ""))
		}
		for _, name := range s.imports {
			if why := refusal(s, name); why != "" {
				t.Errorf("%s imports %s: %s", s.path, name, why)
			}
		}
	}
}

// TestTheRuleItself makes sure that a wrong arrow would be seen.
func TestTheRuleItself(t *testing.T) {
	for _, c := range []struct {
		pkg, imports string
		test, ok     bool
	}{
		{"daemon", "consultant", false, false},
		{"consultant", "daemon", false, false},
		{"consultant", "daemon/image", true, false},
		{"grid", "pcl", false, false},
		{"grid", "internal/safetext", false, false},
		{"grid", "internal/testprog", true, true},
		{"trampoline", "daemon/process", false, false},
		{"trampoline/x86", "trampoline", false, false},
		{"pcl/syntax", "pcl", false, false},
		{"pcl/pcltest", "daemon", false, false},
		{"pcl", "pcl/check", false, false},
		{"pcl", "pcl/check", true, true},
		{"pcl/types", "pcl", false, true},
		{"pcl/types", "pcl/check", false, false},
		{"pcl/check", "pcl/compile", false, false},
		{"pcl/check", "pcl/types", false, true},
		{"pcl/compile", "pcl/check", false, false},
		{"pcl/compile", "pcl/check", true, true},
		{"pcl/compile", "daemon", false, false},
		{"daemon/kernel", "daemon/process", false, false},
		{"daemon/process", "daemon", false, false},
		{"daemon/kernel", "internal/safetext", false, false},
		{"daemon/kernel", "internal/procfs", false, true},
		{"internal/procfs", "internal/safetext", false, false},
		{"internal/safetext", "grid", false, false},
		{"internal/testprog", "internal/require", false, true},
		{"daemon", "daemon/kernel", false, true},
		{"daemon/selfcost", "daemon/kernel", false, true},
		{"daemon/selfcost", "daemon/process", false, false},
		{"daemon/selfcost", "grid", false, false},
		{"daemon/cost", "daemon/selfcost", false, true},
		{"daemon/schedule", "daemon/kernel", false, false},
		{"daemon/cost", "daemon/target", false, false},
		{"daemon/cost", "daemon/patch", false, false},
		{"daemon/locks", "daemon/libc", false, true},
		{"daemon/locks", "daemon/image", false, false},
		{"daemon/locks", "daemon/process", false, false},
		{"daemon/openfiles", "daemon/process", false, false},
		{"daemon/threads", "daemon/kernel", false, true},
		{"daemon/threads", "daemon/image", false, false},
		{"daemon/program", "daemon/process", false, false},
		{"daemon/program", "grid", false, false},
		{"daemon/program", "trampoline", false, false},
		{"daemon/stack", "trampoline", false, false},
		{"daemon/plans", "daemon/patch", false, false},
		{"daemon/sites", "daemon/target", false, false},
		{"daemon/sites", "daemon/segment", false, false},
		{"daemon/plans", "daemon/process", false, false},
		{"daemon/stack", "daemon/segment", false, false},
		{"daemon/threads", "pcl", false, false},
		{"daemon/probe", "daemon/patch", false, false},
		{"daemon/probe", "daemon/stops", false, false},
		{"daemon/probe", "daemon/threadstats", false, true},
		{"daemon/kernelmeter", "daemon/probe", false, false},
		{"daemon/targetstats", "daemon/target", false, false},
		{"session", "daemon", false, true},
		{"session", "visi", false, false},
		{"session", "cmd/culprit/internal/browse", false, false},
		{"session/report", "daemon", false, false},
		{"session/socket", "session/report", false, false},
		{"session/watch", "daemon", false, false},
		{"daemon", "session", false, false},
		{"consultant", "session", false, false},
		{"cmd/culprit/internal/browse", "consultant", false, true},
		{"attic", "grid", false, false},
	} {
		why := refusal(source{pkg: c.pkg, test: c.test}, c.imports)
		if (why == "") != c.ok {
			t.Errorf("%s imports %s (test: %v): %q", c.pkg, c.imports, c.test, why)
		}
	}
}

var ptrace = regexp.MustCompile(`\bunix\.(Ptrace|PTRACE_)\w+\(|\bsyscall\.Ptrace\w+\(|\b(unix|syscall)\.SYS_PTRACE\b`)

// TestOneRoomCallsPtrace holds that daemon/process, with what lies below it, is the only caller of ptrace in the shipped code, and that nobody
// else imports what lies below it.
func TestOneRoomCallsPtrace(t *testing.T) {
	callers := 0
	for _, s := range sources(t) {
		if s.test || !ptrace.MatchString(s.text) {
			continue
		}
		callers++
		if !below(s.pkg, "daemon/process") {
			t.Errorf("%s calls ptrace; ask daemon/process", s.path)
		}
	}
	for _, s := range sources(t) {
		for _, name := range s.imports {
			if below(name, "daemon/process") && name != "daemon/process" && !below(s.pkg, "daemon/process") {
				t.Errorf("%s imports %s, which makes requests of ptrace; ask daemon/process", s.path, name)
			}
		}
	}
	if callers == 0 {
		t.Error("nobody calls ptrace: the pattern is out of date")
	}
}

// TestOnlyKnownLibraries holds that every module in go.mod has its line in docs/decisions/libraries.md.
func TestOnlyKnownLibraries(t *testing.T) {
	root := testprog.Root(t)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	rationale, err := os.ReadFile(filepath.Join(root, "docs", "decisions", "libraries.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) < 5 {
		t.Fatalf("only %d modules found in go.mod", len(direct))
	}
	for _, m := range direct {
		if !strings.Contains(string(rationale), m[1]) {
			t.Errorf("%s: docs/decisions/libraries.md does not say why it is here", m[1])
		}
	}
}
