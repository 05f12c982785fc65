package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// noticedWithin is how long after a change of behaviour the new answer may come while others use all CPUs.
const noticedWithin = 20 * time.Second

// TestChangesOnBusyMachine: while other programs use all CPUs a program computes, then its threads wait for a lock, then for a pipe. Each is told within
// 20 s of the change, and what was before is told as over. The long form changes at 45 s and after 14 minutes, the short one at 10 and 30 s.
func TestChangesOnBusyMachine(t *testing.T) {
	at := [2]time.Duration{10 * time.Second, 30 * time.Second}
	if long() {
		at = [2]time.Duration{45 * time.Second, 14 * time.Minute}
	}
	t.Setenv("CULPRIT_TARGET_SECONDS", fmt.Sprint(int((at[1] + 10*time.Minute).Seconds()))) // the usual one is shorter
	for range 2 {
		target(t, "cpu.c")
	}
	p := target(t, "turns.c")
	begun := time.Now()
	s := start(t, "attach", "--no-tui", "--json", "@REPORT", "--for", (at[1] + 10*time.Minute).String(), fmt.Sprint(p.PID))
	s.await(t, []finding{{"CPUbound", []string{"/Code/turns.c/checksum"}}}, longest)
	for i, turn := range []struct {
		line string
		find finding
	}{
		{"lock", finding{"ExcessiveSyncWaitingTime", []string{"/Code/turns.c/fetch_page"}}},
		{"wait", finding{"ExcessiveIOBlockingTime", []string{"/Code/turns.c/read_reply"}}},
	} {
		time.Sleep(at[i] - time.Since(begun))
		p.Say(t, turn.line)
		p.Expect(t, "TURNED "+turn.line, 10*time.Second)
		s.await(t, []finding{turn.find}, noticedWithin)
	}
	over := regexp.MustCompile(`(?m)ExcessiveSyncWaitingTime at \S*fetch_page\S* became false`)
	for since := time.Now(); !over.MatchString(s.errOut.String()) && time.Since(since) < noticedWithin; {
		time.Sleep(50 * time.Millisecond)
	}
	s.interrupt()
	s.want(statusBottleneck)
	r := s.read()
	t.Log("\n" + s.out.String())
	if len(r.Bottlenecks) == 0 || !strings.Contains(r.Bottlenecks[0].Sentence, "read_reply") {
		t.Errorf("it is not told first that threads wait for the pipe:\n%s", r.sentences())
	}
	for _, before := range []string{"checksum", "fetch_page"} {
		told := false
		for _, e := range r.Earlier {
			told = told || strings.Contains(e.Sentence, before)
		}
		if !told || strings.Contains(r.sentences(), before) {
			t.Errorf("%s is not told as over: %+v\n%s", before, r.Earlier, r.sentences())
		}
	}
	undisturbed(t, p, "turns.c")
}
