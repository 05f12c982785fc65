package check_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
	"culprit/pcl/syntax"
)

// What any text may cost, to load it and to lay it out, in processor time (the collector's included), which others on the
// machine do not add to. The figures are those of a process that does nothing else.
const (
	hostileTime   = time.Second
	hostileMemory = 100 << 20
	hostileText   = 10 << 20 // how long the texts are
)

// hostileShape is a text that is as bad as it can be in one way: before, what is repeated until the text is full, after. "#" is a number.
type hostileShape struct{ name, before, unit, after string }

const headOnly = `metric m { name "m"; ` + cases.Head

var hostileShapes = []hostileShape{
	{"definitions of one line", "", "visi v# { command \"x\"; }\n", ""},
	{"empty definitions", "", "expect e#{}", ""},
	{"same definition", "", "constraint c/Code is default;\n", ""},
	{"errors in the syntax", "", "junk;\n", ""},
	{"errors near a keyword", "", "metrik x { }\n", ""},
	{"errors of a character", "", "\x01 ", ""},
	{"errors behind", "", "visi x { comand \"x\"; }\n", ""},
	{"errors in the meaning", "", "hypothesis h# { test metric# > 1; }\n", ""},
	{"errors in metrics", "", "metric m#{name \"m#\";units x;style EventCounter;aggregateOperator sum;constraint none;base is void;}\n", ""},
	{"one long word", "metric ", "x", ""},
	{"one long string", `exclude "`, "x", `";`},
	{"long strings", "", `exclude "/Code/` + strings.Repeat("x", 60<<10) + "#\";\n", ""},
	{"open string", `exclude "`, "x", ""},
	{"quotes", "", `"`, ""},
	{"one long comment", "// ", "x", ""},
	{"comments", "", "//\n", ""},
	{"comments in a list", `resourceList l is procedure { items { "x" `, "// y\n", "} }"},
	{"blanks", "", " \n", ""},
	{"zeros", "tunable_constant \"x\" ", "0", ";"},
	{"parentheses", "expect e { ", "(", ""},
	{"braces", "constraint c /Code is counter ", "{", ""},
	{"unary minus", "expect e { ", "- ", ""},
	{"fields", "expect e { a", ".b", ""},
	{"dereferences", "expect e { a", "->b", ""},
	{"indices", "expect e { a", "[0", ""},
	{"if", "constraint c /Code is counter { ", "if (1) ", ""},
	{"foreach", "constraint c /Code is counter { ", "foreach a in b ", ""},
	{"calls", "expect e { ", "f(", ""},
	{"assignments", "expect e { ", "a=", ""},
	{"path", "constraint c ", "/a", ""},
	{"sum", "expect e { 1", "+1", ""},
	{"list", `resourceList l is procedure { items { "x"`, `,"y#"`, "} }"},
	{"numbers", `resourceList l is int { items { 1`, `,1`, "} }"},
	{"tunables", "tunable_constant {", "\"t#\" 1;\n", "}"},
	{"counters", headOnly, "counter c#;\n", "base is void; }"},
	{"constraints", headOnly, "constraint procedureInclusive;\n", "base is void; }"},
	{"constraints inside", headOnly, "constraint c# /Code/* is default;\n", "base is void; }"},
	{"code", headOnly + "base is counter { append preInsn $start.entry (*", " m++;", "*) } }"},
	{"statements", headOnly + "base is counter {", " append preInsn $start.entry (* m++; *)\n", "} }"},
	{"nothing to do", headOnly + "base is counter {", "{}", "} }"},
	{"refine", "hypothesis h { test cpu > 1; refine { Code", ",Code", "} }"},
	{"suppress", `hypothesis h { test cpu > 1; suppress { "/Code/x"`, `,"/Code/x#"`, "} }"},
	{"chain of hypotheses", "", "hypothesis h# { parent h#x; test 1 > 0; }\nhypothesis h#x { test 1 > 0; }", ""},
	{"label", `hypothesis h { test cpu > 1; label "`, "{value}", `"; }`},
	{"items", "hierarchy H { ", `item "i#" is { "/Code/m#" };` + "\n", "}"},
	{"expectations", "hypothesis h { test cpu > 1; } expect e { ", "h;", "}"},
	{"exclusions", "", "exclude regex \"/Code/x#(a|b){500}\";\n", ""},
	{"one pattern", "exclude regex \"/Code/", "(a|b)*", "\";"},
	{"lists of one", "", "resourceList l# is procedure { items { regex \"x{999}\" } }\n", ""},
	{"lists that nothing uses", "", "resourceList l# is int { items { 1 } }\n", ""},
	{"nested loops", headOnly + "base is counter {" + strings.Repeat(" foreach f in $procedures", 190) + " {", " append preInsn f.entry (* m++; *)", "} } }"},
	{"traces", "", "trace t# { at $function(\"x\").entry; record { $arg[0] }; }\n", ""},
}

// readable is the longest text of the shape that the parser reads to its end, so that what is behind it has most to do.
func (s hostileShape) readable() string {
	_, errs := syntax.Parse("", s.text(hostileText))
	for _, e := range errs {
		if strings.HasPrefix(e.Msg, "found a text of more than") {
			return s.text(e.Pos.Off)
		}
	}
	return s.text(hostileText)
}

// text makes a text of about that many bytes.
func (s hostileShape) text(length int) string {
	var sb strings.Builder
	sb.WriteString(s.before)
	for i := 0; sb.Len()+len(s.unit)+len(s.after)+10 < length; i++ {
		if strings.Contains(s.unit, "#") {
			sb.WriteString(strings.ReplaceAll(s.unit, "#", fmt.Sprint(i)))
		} else {
			sb.WriteString(s.unit)
		}
	}
	sb.WriteString(s.after)
	return sb.String()
}

// hostileVariable names the file that the test, run as a process of its own, is to load.
const hostileVariable = "CULPRIT_TEST_HOSTILE"

// TestHostile: loading and laying out ten megabytes of any shape ends within a second and 100 MB.
func TestHostile(t *testing.T) {
	if file := os.Getenv(hostileVariable); file != "" {
		beHostile(t, file)
		return
	}
	file := filepath.Join(t.TempDir(), "hostile.pcl")
	slowest, largest := time.Duration(0), int64(0)
	for i, s := range hostileShapes {
		if !*long && i%3 != 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, text := range []string{s.text(hostileText), s.readable()} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				r := hostileRun(t, file)
				r.judge(t, len(text))
				slowest, largest = max(slowest, r.load, r.layout), max(largest, r.peak)
			}
		})
	}
	t.Logf("slowest %v, largest %d MB", slowest, largest>>20)
}

// A hostileResult is what the process printed.
type hostileResult struct {
	load, layout time.Duration
	peak         int64 // bytes
	problems     int
	last         string // problem
}

func (r hostileResult) judge(t *testing.T, length int) {
	t.Helper()
	t.Logf("%8d bytes: %4d ms to load, %4d ms to lay out, %3d MB, %d problems: %s", length, r.load.Milliseconds(), r.layout.Milliseconds(),
		r.peak>>20, r.problems, r.last)
	if r.load > hostileTime || r.layout > hostileTime || r.peak > hostileMemory {
		t.Errorf("it takes more than %v or more than %d MB", hostileTime, hostileMemory>>20)
	}
	if r.problems > check.MaxProblems+1 {
		t.Errorf("%d problems are reported, want at most %d", r.problems, check.MaxProblems+1)
	}
}

// hostileRun loads the file in a process of its own.
func hostileRun(t *testing.T, file string) (r hostileResult) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHostile$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), hostileVariable+"="+file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, syntax.Shorten(string(out), 4000))
	}
	for _, line := range strings.Split(string(out), "\n") {
		if _, found, ok := strings.Cut(line, "hostile: "); ok {
			figures, last, _ := strings.Cut(found, ": ")
			r.last = last
			if _, err := fmt.Sscan(figures, &r.load, &r.layout, &r.peak, &r.problems); err != nil {
				t.Fatalf("%q: %v", found, err)
			}
			return r
		}
	}
	t.Fatalf("the process said nothing of use:\n%s", syntax.Shorten(string(out), 4000))
	return r
}

// beHostile loads the file, lays it out, and prints what that took.
func beHostile(t *testing.T, file string) {
	began := cases.CPUTime(t)
	lib, problems, err := check.Load(check.Options{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	_ = lib.Doc()
	if n := len(check.Warnings(lib, cases.Kept)); n > check.MaxProblems+1 {
		t.Errorf("%d warnings", n)
	}
	load, last := cases.CPUTime(t)-began, "no problem"
	for _, p := range problems {
		if len(p.Detail()) > 4*600 {
			t.Errorf("a message of %d bytes", len(p.Detail()))
		}
		last = p.Error()
	}
	n := len(problems)
	lib, problems = nil, nil
	began = cases.CPUTime(t)
	text, err := check.ReadText(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := syntax.Parse(file, text)
	_ = syntax.Print(tree)
	fmt.Printf("hostile: %d %d %d %d: %s\n", load, cases.CPUTime(t)-began, peakMemory(t), n, last)
}

// peakMemory is the most that this process has had resident, in bytes.
func peakMemory(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, behind, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(behind, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

var long = flag.Bool("long", false, "run the long forms: more shapes of hostile texts, more random programs")
