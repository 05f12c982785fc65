package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestPCLFiles runs every test of metrics in testdata/pcl. The tests of a file that say how far a value may be off run with nothing beside;
// each of those that count only runs beside others.
func TestPCLFiles(t *testing.T) {
	require.Root(t)
	files, err := filepath.Glob(filepath.Join(testprog.Root(t), "testdata", "pcl", "*.pcltest"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of tests: %v", len(files), err)
	}
	for _, f := range files {
		judge, count := testsOf(t, f)
		name := strings.TrimSuffix(filepath.Base(f), ".pcltest")
		if len(judge) > 0 {
			t.Run(name, func(t *testing.T) { runPCLFile(t, f, judge...) })
		}
		for _, test := range count { // they begin when all that judge have ended
			t.Run(name+"/"+test, func(t *testing.T) {
				t.Parallel()
				runPCLFile(t, f, test)
			})
		}
	}
}

// measured are lines of a test that judge a time, or something else that others on the machine change.
var measured = regexp.MustCompile(`(?m)^(expect|check) .* within |^search for `)

// testsOf lists the tests of a file by name: those that judge such things, and those that count only.
func testsOf(t *testing.T, file string) (judge, count []string) {
	t.Helper()
	begins := regexp.MustCompile(`(?m)^test (.+)$`)
	text := contents(t, file)
	tests := begins.FindAllSubmatchIndex(text, -1)
	for i, at := range tests {
		end := len(text)
		if i+1 < len(tests) {
			end = tests[i+1][0]
		}
		name := strings.TrimSpace(string(text[at[2]:at[3]]))
		if measured.Match(text[at[0]:end]) {
			judge = append(judge, name)
		} else {
			count = append(count, name)
		}
	}
	if len(tests) == 0 || measured.Match(text[:tests[0][0]]) {
		t.Fatalf("%s: %d tests, or something is judged before the first", file, len(tests))
	}
	return judge, count
}

// runPCLFile runs the tests of a file once, all if none is named: a value that is off is wrong.
func runPCLFile(t *testing.T, file string, tests ...string) {
	t.Helper()
	args := []string{file}
	if len(tests) > 0 {
		names := make([]string, len(tests))
		for i, name := range tests {
			names[i] = regexp.QuoteMeta(name)
		}
		args = []string{"--run", "^(" + strings.Join(names, "|") + ")$", file}
	}
	out, status := pclTest(t, args...)
	t.Logf("%s\n%s", filepath.Base(file), out)
	t.Log(howFarOff(out))
	ran := regexp.MustCompile(`(?m)^(\d+) tests: `).FindStringSubmatch(out)
	switch skipped := regexp.MustCompile(`(?m)^skip  .*`).FindString(out); {
	case status != 0:
		t.Fatalf("exit status %d", status)
	case skipped != "":
		require.Skip(t, skipped)
	case len(tests) > 0 && (ran == nil || ran[1] != fmt.Sprint(len(tests))):
		t.Fatalf("%d tests were to run", len(tests))
	}
}

// off are values that may be off by some percent, and by how much they are.
var off = regexp.MustCompile(`(?m) within ([0-9.]+)%, it is [+-]([0-9.]+)% off$`)

// howFarOff says of the values that may be off by some percent which part of that they are.
func howFarOff(out string) string {
	var parts []float64
	for _, m := range off.FindAllStringSubmatch(out, -1) {
		may, err := strconv.ParseFloat(m[1], 64)
		is, err2 := strconv.ParseFloat(m[2], 64)
		if err == nil && err2 == nil {
			parts = append(parts, is/may)
		}
	}
	if len(parts) == 0 {
		return "no value that may be off by some percent"
	}
	slices.Sort(parts)
	return fmt.Sprintf("%d values that may be off by some percent: the median is off by %.0f %% of what it may be, the worst by %.0f %%", len(parts),
		100*parts[len(parts)/2], 100*parts[len(parts)-1])
}

// pclTest runs tests with the real program.
func pclTest(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command(culprit, append([]string{"pcl", "test"}, args...)...)
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// contents is what the files of a pattern hold, one behind another.
func contents(t *testing.T, pattern string) []byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	var all []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// TestEveryMetricHasATest makes sure that no metric of the default library is without a test in testdata/pcl.
func TestEveryMetricHasATest(t *testing.T) {
	root := testprog.Root(t)
	library, tests := contents(t, filepath.Join(root, "pcl", "lib", "*.pcl")), contents(t, filepath.Join(root, "testdata", "pcl", "*.pcltest"))
	names := regexp.MustCompile(`(?m)^    name "(\w+)";`).FindAllSubmatch(library, -1)
	if len(names) < 19 {
		t.Fatalf("only %d metrics are found in the default library", len(names))
	}
	for _, n := range names {
		if bytes.HasPrefix(n[1], []byte("mpi_")) {
			continue // the daemon's own tests run them between two processes
		}
		if !regexp.MustCompile(`(?m)^expect ` + string(n[1]) + ` .*(is|<|>|<=|>=) `).Match(tests) {
			t.Errorf("no test in testdata/pcl expects a value of %s", n[1])
		}
	}
}

// TestPCLTestDocument runs the examples of tests in docs/pcl-reference.md.
func TestPCLTestDocument(t *testing.T) {
	require.Root(t)
	text, err := os.ReadFile(filepath.Join(testprog.Root(t), "docs", "pcl-reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```pcltest\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) < 3 {
		t.Fatalf("only %d examples are found", len(examples))
	}
	for i, e := range examples {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("example%d.pcltest", i+1))
		if err := os.WriteFile(file, []byte(e[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		runPCLFile(t, file)
	}
}

// TestPCLTestEndsItsPrograms: an interrupt in the middle of a test ends every program that it started, also one that does not
// listen to SIGTERM, and leaves no directory.
func TestPCLTestEndsItsPrograms(t *testing.T) {
	t.Parallel()
	require.Root(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "long.pcltest")
	const text = `test a program that does not want to end
start as stubborn sh -c 'trap "" TERM; echo PID $$; while :; do sleep 0.05; done'
await line PID
measure
start as other sleep 1000
sleep 1m
expect cpu < 1
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(culprit, "pcl", "test", "-v", file)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	p := testprog.StartCmd(t, cmd)
	pid := strings.Fields(p.Expect(t, "      | stubborn: PID", 20*time.Second))[3]
	time.Sleep(time.Second)
	p.Signal(t, syscall.SIGINT)
	if status := p.Wait(t, 30*time.Second); status != statusFailed {
		t.Errorf("exit status %d", status)
	}
	if _, err := os.Stat("/proc/" + pid); err == nil {
		t.Errorf("process %s goes on", pid)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "culprit-test-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
