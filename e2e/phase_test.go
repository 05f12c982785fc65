package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var inPhase = regexp.MustCompile(`ExcessiveSyncWaitingTime at \S*late_lock\S* in phase load tested true`)

// TestPhase: a phase that is begun when the program changes has an answer of its own, and the one before keeps its own. What is wrong with a name is
// said, and nothing begins.
func TestPhase(t *testing.T) {
	p := target(t, "appears.c")
	s := start(t, "attach", "--no-tui", "--json", "@REPORT", "--for", (6 * longest).String(), fmt.Sprint(p.PID))
	s.await(t, []finding{{"ExcessiveSyncWaitingTime", []string{"/Code/appears.c/fetch_page", "/early_lock"}}}, longest)
	p.Say(t, "begin")
	p.Expect(t, "BEGUN", 10*time.Second)
	phase := func(want int, says, name string) {
		t.Helper()
		one := start(t, "phase", fmt.Sprint(p.PID), name)
		one.want(want)
		if said := one.out.String() + one.errOut.String(); !strings.Contains(said, says) {
			t.Errorf("phase %q says %q, want %q", name, said, says)
		}
	}
	phase(0, "Phase load begins at ", "load")
	phase(statusFailed, `there is a phase "load" already`, "load")
	phase(2, "one line", "a\nb")
	for since := time.Now(); !inPhase.MatchString(s.errOut.String()); time.Sleep(50 * time.Millisecond) {
		if time.Since(since) > longest || s.ended() {
			t.Fatalf("not found in the phase within %s\n%s", longest, s.errOut.String())
		}
	}
	phase(0, "Phase 2 begins at ", "")
	time.Sleep(time.Second)
	s.interrupt()
	s.want(statusBottleneck)
	r := s.read()
	if len(r.Phases) != 2 || r.Phases[0].Name != "load" || r.Phases[0].End == nil || r.Phases[1].End != nil {
		t.Fatalf("phases: %+v", r.Phases)
	}
	if b := r.Phases[0].Bottlenecks; len(b) != 1 || !strings.Contains(b[0].Sentence, "late_lock") || strings.Contains(b[0].Sentence, "early_lock") {
		t.Errorf("in phase load: %+v", b)
	}
	if text := s.out.String(); !strings.Contains(text, "\nIn phase load, from ") || !strings.Contains(text, "\nIn phase 2, from ") {
		t.Errorf("the text names no phases:\n%s", text)
	}
	undisturbed(t, p, "appears.c")
}

// TestPhaseIsFound: where the program begins to behave otherwise a phase begins by itself, at that time, and says what changed; it has an answer of its
// own.
func TestPhaseIsFound(t *testing.T) {
	p := target(t, "appears.c")
	s := start(t, "attach", "--no-tui", "--json", "@REPORT", "--for", (6 * longest).String(), fmt.Sprint(p.PID))
	s.await(t, []finding{{"ExcessiveSyncWaitingTime", []string{"/Code/appears.c/fetch_page", "/early_lock"}}}, longest)
	time.Sleep(4 * time.Second) // nothing changes meanwhile: no phase is shorter than two seconds
	p.Say(t, "begin")
	p.Expect(t, "BEGUN", 10*time.Second)
	changed := time.Now()
	late := regexp.MustCompile(`ExcessiveSyncWaitingTime at \S*late_lock\S* in phase \d+ tested true`)
	for since := time.Now(); !late.MatchString(s.errOut.String()); time.Sleep(50 * time.Millisecond) {
		if time.Since(since) > longest || s.ended() {
			t.Fatalf("not found in a phase within %s\n%s", longest, s.errOut.String())
		}
	}
	s.interrupt()
	s.want(statusBottleneck)
	r := s.read()
	if len(r.Phases) != 1 {
		t.Fatalf("phases: %+v", r.Phases)
	}
	found := r.Phases[0]
	off := r.Started.Add(time.Duration(found.Start * float64(time.Second))).Sub(changed)
	t.Logf("the phase begins %.2f s after the change", off.Seconds())
	if off.Abs() > 500*time.Millisecond || found.End != nil || !strings.Contains(found.Because, " went from ") {
		t.Errorf("%s after the change: %+v", off, found)
	}
	if b := found.Bottlenecks; len(b) == 0 || !strings.Contains(b[0].Sentence, "late_lock") {
		t.Errorf("in the phase: %+v", b)
	}
	if text := s.out.String(); !strings.Contains(text, "\nIn phase 1, from ") {
		t.Errorf("the text names no phase:\n%s", text)
	}
	undisturbed(t, p, "appears.c")
}
