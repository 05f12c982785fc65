package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestKilledWithTree: a culprit that measures many processes is killed: they go on, and one command at the first of them takes out what
// is left in all.
func TestKilledWithTree(t *testing.T) {
	t.Parallel()
	const children = 15
	p := target(t, "crowd.c", fmt.Sprint(children), "3", "5000")
	p.Say(t, "go")
	s := start(t, "attach", "--no-tui", "--no-search", "--for", "60s", "--watch", "procedure_calls@/Code/crowd.c/work", fmt.Sprint(p.PID))
	s.awaitTree(p.PID, 1+children)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.done
	p.MustBeat(t, 5*time.Second)
	r := start(t, "restore", fmt.Sprint(p.PID)).want(0)
	restored := strings.Count(r.out.String(), "its memory is unmapped")
	t.Logf("restored in %d processes", restored)
	if restored != 1+children {
		t.Errorf("restored in %d processes of %d:\n%s", restored, 1+children, r.story())
	}
	clean(t, p.PID)
	p.Say(t, "pause")
	p.Expect(t, "PAUSED", 10*time.Second)
	p.Stop(t)
}

// TestRestoreBesideEndingChildren: children that end while a process is restored are no failure.
func TestRestoreBesideEndingChildren(t *testing.T) {
	t.Parallel()
	p := target(t, "forker.c", "1500000") // a child lives for a tenth of a second
	for range 5 {
		s := start(t, "attach", "--no-tui", "--no-search", "--for", "60s", "--watch", "procedure_calls@/Code/forker.c/work", fmt.Sprint(p.PID))
		s.awaitProbes(p.PID)
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-s.done
		start(t, "restore", fmt.Sprint(p.PID)).want(0)
		clean(t, p.PID)
	}
	p.Stop(t)
}

// awaitTree waits until the session has written probes into the code of so many processes: a process and its children.
func (s *session) awaitTree(pid, processes int) {
	s.t.Helper()
	probed := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && !s.ended(); time.Sleep(20 * time.Millisecond) {
		probed = 0
		for _, p := range append(childrenOf(pid), pid) {
			if codeWritten(p) {
				probed++
			}
		}
		if probed == processes {
			return
		}
	}
	s.t.Fatalf("probes in %d processes of %d\n%s", probed, processes, s.story())
}

// childrenOf lists the children that the first thread of a process has begun.
func childrenOf(pid int) (children []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}

// codeWritten reports whether code of a process's own program is no longer what its file has.
func codeWritten(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return false
	}
	code := false
	for _, line := range strings.Split(string(maps), "\n") {
		if first, _, _ := strings.Cut(line, " "); strings.Contains(first, "-") { // the addresses of a mapping
			code = strings.Contains(line, " r-xp ") && strings.HasSuffix(line, exe)
		}
		if size, is := strings.CutPrefix(line, "Anonymous:"); is && code && strings.TrimSpace(size) != "0 kB" {
			return true
		}
	}
	return false
}

// TestTreeInTheReport: all processes of a tree are in the report, those that begin during the session too; the text names a few.
func TestTreeInTheReport(t *testing.T) {
	t.Parallel()
	const children = 20
	p := target(t, "crowd.c", fmt.Sprint(children), "2", "5000")
	p.Say(t, "go")
	s := start(t, "attach", "--no-tui", "--no-search", "--for", "4s", "--json", "@REPORT", "--watch", "procedure_calls@/Code/crowd.c/work", fmt.Sprint(p.PID))
	s.awaitProbes(p.PID)
	p.Say(t, "more 3")
	p.Expect(t, "BORN", 10*time.Second)
	s.want(statusNothing)
	r := s.read()
	if len(r.Targets) != 1+children+3 {
		t.Errorf("%d targets, %d processes", len(r.Targets), 1+children+3)
	}
	if len(r.Pairs) != 1 || r.Pairs[0].Sum < 1000 {
		t.Errorf("pairs %+v", r.Pairs)
	}
	if text := s.out.String(); !strings.Contains(text, fmt.Sprintf("and %d more processes\n", 1+children+3-12)) {
		t.Errorf("the text does not say how many there are:\n%s", text)
	}
	p.Say(t, "pause")
	p.Expect(t, "PAUSED", 10*time.Second)
	undisturbedTree(t, p)
}

// undisturbedTree fails the test unless the program ends as it should with all its children.
func undisturbedTree(t *testing.T, p *testprog.Prog) {
	t.Helper()
	clean(t, p.PID)
	p.Stop(t)
}
