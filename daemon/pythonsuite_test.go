package daemon

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// pythonSuite runs the interpreter's own test suite, as python3 -m test does, in a process that waits first.
const pythonSuite = `
import sys
print("READY", flush=True)
sys.stdin.readline()
from test.libregrtest import main
main()
`

// pythonQuick are modules of the suite that hold the language and its types.
var pythonQuick = []string{"test_grammar", "test_dict", "test_list", "test_generators", "test_re", "test_set", "test_sort", "test_coroutines"}

// pythonLong names the file with the modules of the long form: those that need no network, no terminal, no compiler and no other
// program, do not wait for minutes, and pass on a machine that nobody disturbs. (test_xml_etree is not among them: it leaves the
// process without a library that the report is written with.)
const pythonLong = "testdata/python.txt"

// TestPythonSuite counts at every function of the interpreter while it runs its own tests: each ends as it does undisturbed.
func TestPythonSuite(t *testing.T) {
	t.Parallel()
	require.Root(t)
	modules := pythonQuick
	if *long {
		text, err := os.ReadFile(pythonLong)
		if err != nil {
			t.Fatal(err)
		}
		modules = strings.Fields(string(text))
	}
	alone := runPythonSuite(t, modules, func(int) {})
	var w *watch
	watched := runPythonSuite(t, modules, func(pid int) { w = instrumentAll(t, pid, "python3", 0.955) })
	w.counted(t, 1e6)
	if alone.status != 0 || alone.cases() < rounds(500, 5000) {
		t.Errorf("undisturbed: status %d, %d tests", alone.status, alone.cases())
	}
	t.Logf("%d tests of %d modules; status %d, undisturbed %d; %v, undisturbed %v", watched.cases(), len(modules), watched.status,
		alone.status, watched.took.Round(time.Millisecond), alone.took.Round(time.Millisecond))
	if watched.status != alone.status {
		t.Errorf("it ended with %d, undisturbed with %d", watched.status, alone.status)
	}
	watched.compare(t, alone)
}

// pythonResult is how a run of the suite ended: the outcome of each test by its name.
type pythonResult struct {
	status   int
	took     time.Duration
	outcomes map[string][]string
}

// runPythonSuite starts the interpreter, does f to it, and lets it run the tests.
func runPythonSuite(t *testing.T, modules []string, f func(pid int)) pythonResult {
	t.Helper()
	python := require.Tool(t, "/usr/bin/python3")
	suite, err := filepath.Glob("/usr/lib/python3*/test/test_grammar.py")
	require.That(t, err == nil && len(suite) > 0, "needs Python's own tests: scripts/install-packages installs libpython3.11-testsuite on Debian")
	dir := t.TempDir()
	report := filepath.Join(dir, "report.xml")
	p := testprog.Start(t, python, append([]string{"-E", "-s", "-c", pythonSuite, "--tempdir", dir, "--junit-xml", report}, modules...)...)
	p.Expect(t, "READY", 20*time.Second)
	f(p.PID)
	start := time.Now()
	p.Say(t, "go")
	r := pythonResult{status: p.Wait(t, time.Duration(rounds(2, 40))*time.Minute), took: time.Since(start)}
	if r.status != 0 {
		t.Logf("the suite ended with status %d:\n%s", r.status, strings.Join(last(p.Lines(), 30), "\n"))
	}
	r.outcomes = pythonOutcomes(t, report)
	return r
}

func (r pythonResult) cases() (n int) {
	for _, l := range r.outcomes {
		n += len(l)
	}
	return n
}

// compare names the tests that ended otherwise than in the other run.
func (r pythonResult) compare(t *testing.T, alone pythonResult) {
	t.Helper()
	for name, want := range alone.outcomes {
		if got := r.outcomes[name]; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %q, undisturbed %q", name, got, want)
		}
	}
	for name, got := range r.outcomes {
		if alone.outcomes[name] == nil {
			t.Errorf("%s: %q, undisturbed there is no such test", name, got)
		}
	}
}

// pythonOutcomes reads the report of a run. A test may be there several times.
func pythonOutcomes(t *testing.T, report string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Suites []struct {
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Result  string    `xml:"result,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	outcomes := map[string][]string{}
	for _, s := range doc.Suites {
		for _, c := range s.Cases {
			outcome := c.Result
			if c.Failure != nil || c.Error != nil {
				outcome = "failed"
			}
			outcomes[c.Name] = append(outcomes[c.Name], outcome)
		}
	}
	return outcomes
}
