package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// appearsAfter is how long a search goes on before something new appears, foundWithin how long the search may take from then on.
const (
	appearsAfter = 10 * time.Second
	foundWithin  = 20 * time.Second
)

// TestAppearsLater: a lock, the function that waits for it, which is called through a pointer, and the threads that do appear only after the
// search has refined what it found. They are the bottleneck from then on, and are found.
func TestAppearsLater(t *testing.T) {
	p := target(t, "appears.c")
	s := start(t, "attach", "--no-tui", "--json", "@REPORT", "--for", (6 * longest).String(), fmt.Sprint(p.PID))
	early := []finding{{"ExcessiveSyncWaitingTime", []string{"/Code/appears.c/fetch_page", "/early_lock"}}}
	since := time.Now()
	s.await(t, early, longest)
	time.Sleep(appearsAfter - time.Since(since))
	late := []finding{{"ExcessiveSyncWaitingTime", []string{"/Code/appears.c/update_index", "/late_lock"}}}
	if text := s.errOut.String(); strings.Contains(text, "update_index") || strings.Contains(text, "late_lock") {
		t.Fatalf("found before it was there:\n%s", text)
	}
	p.Say(t, "begin")
	p.Expect(t, "BEGUN", 10*time.Second)
	s.await(t, late, foundWithin)
	for since := time.Now(); !allOver(s.errOut.String()) && time.Since(since) < 3*longest; { // where CPUs are busy it takes a minute
		time.Sleep(50 * time.Millisecond)
	}
	s.interrupt()
	s.want(statusBottleneck)
	r := s.read()
	t.Log("\n" + s.out.String())
	r.mustFind(t, "ExcessiveSyncWaitingTime", "update_index (", "late_lock")
	mustTellEarlier(t, r, "fetch_page", "early_lock")
	undisturbed(t, p, "appears.c")
}

var (
	earlyHolds = regexp.MustCompile(`(?m)ExcessiveSyncWaitingTime at \S*(fetch_page|early_lock)\S* (tested|became) true`)
	earlyEnds  = regexp.MustCompile(`(?m)ExcessiveSyncWaitingTime at \S*(fetch_page|early_lock)\S* became false`)
)

// allOver tells by a log that all that was found of the first lock is ruled out.
func allOver(log string) bool {
	return len(earlyEnds.FindAllString(log, -1)) >= len(earlyHolds.FindAllString(log, -1))
}

// await waits until all these have turned out true. What has not after the time given is not found: the test ends.
func (s *session) await(t *testing.T, what []finding, limit time.Duration) {
	t.Helper()
	since := time.Now()
	for len(s.open(what)) > 0 {
		if time.Since(since) > limit || s.ended() {
			t.Fatalf("not found within %s: %v\n%s", limit, s.open(what), s.errOut.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("found after %.1f s", time.Since(since).Seconds())
}

// mustTellEarlier checks that one thing is told as over, with the interval in which it held, and what is said of it.
func mustTellEarlier(t *testing.T, r *report, words ...string) {
	t.Helper()
	if len(r.Earlier) != 1 {
		t.Errorf("%d findings are over: %+v\n%s", len(r.Earlier), r.Earlier, r.sentences())
		return
	}
	e := r.Earlier[0]
	for _, word := range words {
		if !strings.Contains(e.Sentence, word) {
			t.Errorf("%q is not in %q", word, e.Sentence)
		}
	}
	if began := appearsAfter.Seconds(); e.From > 5 || e.To < began-2 || e.To > began+5 || e.Times != 1 {
		t.Errorf("it held from %.1f to %.1f s, %d times; expected until %.0f s", e.From, e.To, e.Times, began)
	}
}
