package e2e

import (
	"fmt"
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
	s.awaitProbes(p.PID)
	time.Sleep(time.Second) // until all are measured
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
