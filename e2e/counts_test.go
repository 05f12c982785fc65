package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// watch starts a session without a search that measures the pairs given, and waits until they are counted.
func watch(t *testing.T, p *testprog.Prog, pairs ...string) *session {
	t.Helper()
	args := []string{"attach", "--no-tui", "--no-search", "--json", "@REPORT"}
	for _, pair := range pairs {
		args = append(args, "--watch", pair)
	}
	s := start(t, append(args, fmt.Sprint(p.PID))...)
	s.awaitProbes(p.PID)
	time.Sleep(time.Second) // all pairs are enabled in one batch, right after the first mapping
	return s
}

// over ends the session and returns the pairs that it measured, in the order they were asked for.
func (s *session) over(pairs int) []pair {
	s.t.Helper()
	s.interrupt()
	got := s.want(statusNothing).read().Pairs
	if len(got) != pairs {
		s.t.Fatalf("%d pairs, want %d: %+v\n%s", len(got), pairs, got, s.story())
	}
	return got
}

// TestExactCounts compares what culprit counts with what the programs count themselves: plain calls by several threads,
// recursion, calls that are jumps, frames that longjmp and exceptions leave, and a library's function through the PLT.
func TestExactCounts(t *testing.T) {
	calls, rounds := "300000", "20000"
	if long() {
		calls, rounds = "10000000", "1000000"
	}
	for _, c := range []struct {
		source string
		args   []string
		names  map[string]string // focus -> the program's name for its own count
	}{
		{"calls.c", []string{calls, "4"}, map[string]string{
			"/Code/calls.c/work": "work", "/Code/calls.c/recurse": "recurse", "/Code/calls.c/tail_first": "tail_first",
			"/Code/calls.c/tail_second": "tail_second", "/Code/calls.c/tail_last": "tail_last", "/Code/calls.c/try_jump": "try_jump",
			"/Code/calls.c/deep_jump": "deep_jump", "/Code/libc.so.6/getppid": "getppid",
		}},
		{"throw.cc", []string{rounds}, map[string]string{
			"/Code/throw.cc/source(unsigned long)": "source", "/Code/throw.cc/middle(unsigned long, int)": "middle",
			"/Code/throw.cc/outer(unsigned long)": "outer", "/Code/throw.cc/attempt(unsigned long)": "attempt",
		}},
	} {
		t.Run(c.source, func(t *testing.T) {
			p := target(t, c.source, c.args...)
			var watches []string
			for focus := range c.names {
				watches = append(watches, "procedure_calls@"+focus)
			}
			s := watch(t, p, watches...)
			p.Say(t, "go")
			p.Expect(t, "DONE", 10*time.Minute)
			pairs, counts := s.over(len(watches)), p.Counts()
			for _, pair := range pairs {
				want := counts[c.names[pair.Focus["Code"]]]
				if pair.Error != "" || want == 0 || pair.Sum != float64(want) || pair.Tier != "probe" {
					t.Errorf("%v: counted %.0f, the program made %d calls (tier %s) %s", pair.Focus, pair.Sum, want, pair.Tier, pair.Error)
				}
			}
			t.Logf("%d functions, %v calls each as counted by the program", len(pairs), counts)
			clean(t, p.PID)
			got := p.Stop(t)
			if want := alone(t, c.source, c.args...); got != want {
				t.Errorf("%s ended with %s, undisturbed with %s", c.source, got, want)
			}
		})
	}
}

// alone is the result of a target that works a fixed amount and that nobody measures.
func alone(t *testing.T, source string, args ...string) string {
	t.Helper()
	q := target(t, source, args...)
	q.Say(t, "go")
	q.Expect(t, "DONE", 10*time.Minute)
	return q.Stop(t)
}

// TestLibraryLoadedAgain: what counted in a library that went away counts on when it is loaded again.
func TestLibraryLoadedAgain(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, testprog.Target(t, "plugin.c"), "-shared", "-fPIC")
	p := target(t, "dlopener.c", plugin, "50")
	p.Say(t, "hold")
	s := start(t, "attach", "--no-tui", "--no-search", "--for", "5m", "--json", "@REPORT", "--watch", "procedure_calls@/Code/plugin.c/plugin_work", fmt.Sprint(p.PID))
	s.awaitProbes(p.PID)
	p.Say(t, "away")
	time.Sleep(5 * time.Second) // it is looked for every 2 s
	p.Say(t, "hold")
	time.Sleep(10 * time.Second)
	p.Say(t, "away")
	time.Sleep(3 * time.Second) // it goes a second time, with what it counted
	counted := s.over(1)[0]
	clean(t, p.PID)
	p.Stop(t)
	if made := float64(p.Counts()["plugin_work"]); counted.Error != "" || counted.Sum < made/2 || counted.Sum > made {
		t.Errorf("%.0f of %.0f calls were counted, though the library was away for a part of the time only: %+v\n%s", counted.Sum, made, counted, s.story())
	}
}

// TestThreadsThatBeginLater: a thread does most of its calls before anybody has seen it, and the report says from when on it is measured.
func TestThreadsThatBeginLater(t *testing.T) {
	t.Parallel()
	p := target(t, "churn.c", "2", "4000000")
	s := start(t, "attach", "--no-tui", "--no-search", "--for", "5m", "--json", "@REPORT",
		"--watch", fmt.Sprintf("procedure_calls@/Code/churn.c/short_life,/Process/%d/*", p.PID), fmt.Sprint(p.PID))
	s.awaitProbes(p.PID)
	time.Sleep(11 * time.Second)
	s.interrupt()
	later := 0
	for _, pair := range s.want(statusNothing).read().Pairs {
		if pair.Error == "" && strings.Contains(pair.Note, "measured from ") {
			later++
		} else if pair.Error == "" && pair.Sum > 0 {
			t.Errorf("%+v: it was there from the beginning, and had been in the function then", pair)
		}
	}
	if later < 4 {
		t.Errorf("of %d threads it is said that they are measured from later on; two began every four seconds\n%s", later, s.story())
	}
	p.Stop(t)
}

// TestTimeOfWhatWasEnteredBefore: main and the event loop were entered before culprit came and do not return; a thread that
// is always in them spends one second a second there.
func TestTimeOfWhatWasEnteredBefore(t *testing.T) {
	length := 3 * time.Second
	if long() {
		length = time.Minute
	}
	p := target(t, "eventloop.c")
	s := watch(t, p, "exec_time_inclusive@/Code/eventloop.c/main", "exec_time_inclusive@/Code/eventloop.c/event_loop")
	time.Sleep(length)
	for _, pair := range s.over(2) {
		if pair.Error != "" || pair.Average == nil || math.Abs(*pair.Average-1) > 0.02 {
			t.Errorf("%+v: the average is not within 2 %% of 1", pair)
			continue
		}
		t.Logf("%s: %.4f", pair.Focus["Code"], *pair.Average)
	}
	undisturbed(t, p, "eventloop.c")
}

// TestLibraryLoadedLater: code that comes into the process after culprit is counted from the time that it is known.
func TestLibraryLoadedLater(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, testprog.Target(t, "plugin.c"), "-shared", "-fPIC")
	p := target(t, "dlopener.c", plugin, "50")
	s := watch(t, p, "procedure_calls@/Code/dlopener.c/use", "procedure_calls@/Code/plugin.c/plugin_work")
	p.Say(t, "hold")
	time.Sleep(5 * time.Second) // it is looked for every 2 s
	pairs := s.over(2)
	for _, pair := range pairs {
		if pair.Sum == 0 || pair.Error != "" {
			t.Errorf("%+v\n%s", pair, s.story())
		}
	}
	clean(t, p.PID)
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
	if strings.Contains(s.errOut.String(), "panic") {
		t.Error(s.story())
	}
}
