package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// pclFile writes a text to a file and returns its path.
func pclFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.pcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// documented is the example of items and expectations in docs/pcl-tutorial.md.
func documented(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(testprog.Root(t), "docs", "pcl-tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```pcl subsystem.pcl\n(.*?)```").FindSubmatch(doc)
	if m == nil {
		t.Fatal("docs/pcl-tutorial.md has no subsystem.pcl")
	}
	return pclFile(t, string(m[1]))
}

// junit is what continuous integration reads of the results.
type junit struct {
	Suites []struct {
		Name                    string  `xml:"name,attr"`
		Tests, Failures, Errors int     `xml:",attr"`
		Time                    float64 `xml:"time,attr"`
		Cases                   []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Error *struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func readJUnit(t *testing.T, path string) (j junit) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = xml.Unmarshal([]byte(strings.NewReplacer("tests=", "Tests=", "failures=", "Failures=", "errors=", "Errors=").Replace(string(b))), &j)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return j
}

// demoProgram is a program of testdata/demo.
func demoProgram(t *testing.T, name string) string {
	t.Helper()
	require.Root(t)
	return testprog.Build(t, "testdata/demo/"+name)
}

// TestAssertTheExample runs the example of the documentation on a program that it starts: all of it holds.
func TestAssertTheExample(t *testing.T) {
	t.Parallel()
	xmlFile := filepath.Join(t.TempDir(), "results.xml")
	c := culprit(t, "assert", "--pcl", documented(t), "--for", "3s", "--junit", xmlFile, "--end", "--", demoProgram(t, "cpu.c")).want(exitNothing)
	c.has(&c.out, "3 held, 0 failed, 0 could not be measured").has(&c.out, `ok      ShopLimits: BusySubsystem at "/Subsystem/search": `)
	c.has(&c.out, "shop: done") // --end ended it
	t.Log(c.out.String())
	j := readJUnit(t, xmlFile)
	if len(j.Suites) != 1 || j.Suites[0].Name != "culprit.ShopLimits" || j.Suites[0].Tests != 3 || j.Suites[0].Failures+j.Suites[0].Errors != 0 || j.Suites[0].Time < 3 {
		t.Errorf("%+v", j)
	}
}

const mustFail = `expect Fast {
	sync_wait < 0.0001;
	procedure_calls > 1 at "/Code/mutex.c/lookup";
	not ExcessiveSyncWaitingTime;
	ExcessiveIOBlockingTime at "/Code/mutex.c/serve";
	not cpu > 1000 at "/Worker/all";
}
hierarchy Worker { item "all" is { "/Code/mutex.c/serve", "/Code/mutex.c/lookup" }; }`

// TestAssertFails: what does not hold is told with its value, and ends with a status of its own; nothing is left in the program.
func TestAssertFails(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	xmlFile := filepath.Join(t.TempDir(), "results.xml")
	c := culprit(t, "assert", fmt.Sprint(p.PID), "--pcl", pclFile(t, mustFail), "--for", "2s", "--junit", xmlFile).want(exitUnexpected)
	t.Log(c.out.String())
	c.has(&c.out, "2 held, 3 failed, 0 could not be measured").has(&c.out, "FAILED  Fast: sync_wait < 0.0001: ").has(&c.out, "expected below 0.0001")
	c.has(&c.out, "FAILED  Fast: not ExcessiveSyncWaitingTime: ").has(&c.out, "expected not above 0.2")
	c.has(&c.out, "FAILED  Fast: ExcessiveIOBlockingTime at").has(&c.out, `ok      Fast: procedure_calls > 1 at "/Code/mutex.c/lookup": `)
	if s := readJUnit(t, xmlFile).Suites[0]; s.Tests != 5 || s.Failures != 3 || s.Errors != 0 || s.Cases[0].Failure == nil || s.Cases[1].Failure != nil {
		t.Errorf("%+v", s)
	}
	untouched(t, p)
}

// TestAssertUnknown: what could not be measured is neither held nor failed.
func TestAssertUnknown(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	xmlFile := filepath.Join(t.TempDir(), "results.xml")
	c := culprit(t, "assert", "--for", "1s", "--junit", xmlFile, "-e",
		`expect E { cpu < 100; cpu > 100; cpu < 1 at "/Code/nowhere.c/f"; not CPUbound at "/Code/nowhere.c/f"; }`, fmt.Sprint(p.PID)).want(exitFailed)
	c.has(&c.out, "1 held, 1 failed, 2 could not be measured").has(&c.out, "UNKNOWN E: cpu < 1 at").has(&c.out, "the target has no such function")
	if s := readJUnit(t, xmlFile).Suites[0]; s.Failures != 1 || s.Errors != 2 || s.Cases[2].Error == nil {
		t.Errorf("%+v", s)
	}
	untouched(t, p)
}

// TestAssertEnds: a process that ends too early, a program that fails, one that ends by itself, and an interrupt.
func TestAssertEnds(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "assert", "--for", "30s", "-e", "expect E { cpu < 100; }", fmt.Sprint(p.PID))
	c.awaitProbes(p.PID)
	time.Sleep(time.Second)
	p.Kill()
	c.want(exitEnded).has(&c.out, "1 held, 0 failed")
	c = culprit(t, "assert", "-e", "expect E { cpu < 100; }", "--", "sh", "-c", "sleep 3; exit 3").want(exitFailed)
	c.has(&c.errOut, "the program failed: it ended with exit code 3").has(&c.out, "1 held")
	culprit(t, "assert", "-e", "expect E { cpu < 100; }", "--", "sh", "-c", "sleep 3").want(exitNothing)
	q := startTarget(t, "mutex.c")
	i := culprit(t, "assert", "--for", "30s", "-e", `expect E { procedure_calls > 1 at "/Code/mutex.c/serve"; }`, fmt.Sprint(q.PID))
	i.awaitProbes(q.PID)
	time.Sleep(500 * time.Millisecond)
	i.cmd.Process.Signal(syscall.SIGTERM)
	i.want(exitFailed).has(&i.errOut, "interrupted before the time was over")
	untouched(t, q)
}

// TestAssertLeavesTheProgram: without --end a program that was started goes on.
func TestAssertLeavesTheProgram(t *testing.T) {
	t.Parallel()
	require.Root(t)
	name := filepath.Join(t.TempDir(), "pid")
	c := culprit(t, "assert", "--for", "1s", "--quiet", "-e", "expect E { cpu < 100; }", "--", "sh", "-c", "echo $$ >"+name+"; exec sleep 61.7")
	c.want(exitNothing)
	var pid int
	b, err := os.ReadFile(name)
	if err == nil {
		_, err = fmt.Sscan(string(b), &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || string(b) != "sleep\x0061.7\x00" {
		t.Fatalf("%q %v", b, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// TestItemsInTheReport: the search goes along the items of the documented example, and a star watches each of them.
func TestItemsInTheReport(t *testing.T) {
	p := testprog.Start(t, demoProgram(t, "cpu.c")) // on a fast processor what is watched takes the usual budget
	c := culprit(t, "attach", "--pcl", documented(t), "--for", "7s", "--budget", "10%", "--json", "@REPORT", "--watch", "procedure_calls@/Subsystem/*",
		"--watch", "cpu@/Subsystem/requests", fmt.Sprint(p.PID)).want(exitBottleneck)
	r := c.read()
	states := map[string]string{}
	for _, n := range r.Nodes {
		if item := n.Focus["Subsystem"]; item != "" && n.Hypothesis == "BusySubsystem" {
			states[item] = n.State
		}
	}
	if states["/Subsystem/search"] != "true" || states["/Subsystem/requests"] != "false" || states["/Subsystem/billing"] != "" {
		t.Errorf("items in the search: %v\n%s", states, c.story())
	}
	for _, b := range r.Bottlenecks {
		t.Log(b.Sentence)
	}
	if len(r.Pairs) != 4 {
		t.Fatalf("%+v", r.Pairs)
	}
	for _, pair := range r.Pairs {
		missing := pair.Focus["Subsystem"] == "/Subsystem/billing"
		if (pair.Error != "") != missing || !missing && pair.Sum == 0 || pair.Focus["Code"] != "" {
			t.Errorf("%s at %v: %g, %q", pair.Metric, pair.Focus, pair.Sum, pair.Error)
		}
		t.Logf("%s at %v: %g %s", pair.Metric, pair.Focus, pair.Sum, pair.Error)
	}
	c.has(&c.out, "procedure_calls@/Subsystem/search: sum ")
}
