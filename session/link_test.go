package session

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/grid/replay"
	"culprit/grid/wire"
	"culprit/internal/slowlink"
	"culprit/internal/testprog"
	"culprit/pcl/check"
	"culprit/session/report"
)

// maxTrips is how many round trips a search may make in a second.
const maxTrips = 20

// a demonstration program that runs until the test ends.
func startDemo(t *testing.T, name string) (pid int) {
	t.Helper()
	cmd := exec.Command(testprog.Build(t, "testdata/demo/"+name))
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it runs until then
		_ = cmd.Wait()
	})
	time.Sleep(200 * time.Millisecond) // its threads begin
	return cmd.Process.Pid
}

func searchOf(t *testing.T, pid int) Config {
	t.Helper()
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Config{PIDs: []int{pid}, Library: lib, Budget: 0.02, Search: true, Log: func(line string) { t.Log(line) }}
}

// search runs a session to its end and gives its report.
func search(t *testing.T, s *Session, span time.Duration) *report.Report {
	t.Helper()
	s.Run(context.Background(), Limits{For: span})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return s.Report()
}

// first is the first bottleneck of a report.
func first(r *report.Report) string {
	if len(r.Bottlenecks) == 0 {
		return "nothing"
	}
	return r.Bottlenecks[0].Sentence
}

// TestSearchOverALink holds that a search finds the same over a connection, also over one that delays messages and exchanges them, and that it
// asks little.
func TestSearchOverALink(t *testing.T) {
	for _, c := range []struct{ link, program, want string }{
		{"pipe", "cpu.c", "word_distance"},
		{"pipe,delay=50ms,shuffle", "cpu.c", "word_distance"},
		{"pipe,delay=50ms,shuffle", "lock.c", "find_session|session_table_lock"}, // both are said, with the same severity
	} {
		t.Run(c.link+" "+c.program, func(t *testing.T) {
			t.Setenv(linkVariable, c.link)
			s, err := Open(context.Background(), searchOf(t, startDemo(t, c.program)))
			if err != nil {
				t.Fatal(err)
			}
			const span = 8 * time.Second
			r := search(t, s, span)
			if s.End() != EndTime {
				t.Errorf("it ended since %q", s.End())
			}
			if !regexp.MustCompile(c.want).MatchString(first(r)) || !r.RemovedClean || r.Probes.Left != 0 {
				t.Errorf("found %s; probes %+v", first(r), r.Probes)
			}
			perSecond := float64(s.daemon.(*link).RoundTrips()) / span.Seconds()
			if t.Logf("%.1f round trips a second", perSecond); perSecond > maxTrips {
				t.Errorf("at most %d are allowed", maxTrips)
			}
		})
	}
}

// TestRecordedSearch records the messages of a search and lets others run on the recording: over a connection that delays and exchanges
// messages too they come to the same verdict.
func TestRecordedSearch(t *testing.T) {
	cfg := searchOf(t, startDemo(t, "lock.c"))
	const span = 8 * time.Second
	var recorded bytes.Buffer
	d, err := attachOver(context.Background(), endpoint{record: &recorded, attach: func(ctx context.Context, a *wire.Attach, log func(string)) (serve.Daemon, error) {
		return attachAs(ctx, a, log, cfg)
	}}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	original := search(t, on(d, cfg, time.Now()), span)
	t.Logf("%d bytes: %s", recorded.Len(), first(original))
	if len(verdicts(t, original)) == 0 {
		t.Fatal("nothing was found")
	}
	rec, err := replay.Load(&recorded)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []slowlink.Options{{}, {Delay: 50 * time.Millisecond}, {Delay: 50 * time.Millisecond, Shuffle: true}} {
		t.Run(fmt.Sprintf("delay %v, shuffle %v", l.Delay, l.Shuffle), func(t *testing.T) {
			t.Parallel() // they only read
			d, err := attachOver(context.Background(), endpoint{link: l, attach: func(context.Context, *wire.Attach, func(string)) (serve.Daemon, error) {
				return rec.Play(serve.Kinds()), nil
			}}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg := cfg
			cfg.Log = func(line string) { t.Log(line) }
			again := search(t, on(d, cfg, time.Now()), span)
			if !agree(t, original, again) {
				t.Errorf("found %v, and first %v", verdicts(t, again), verdicts(t, original))
			}
		})
	}
}

// A verdict is the hypothesis and the focus of a bottleneck.
type verdict struct {
	hypothesis string
	focus      grid.Focus
}

// verdicts are those of a report, the worst first.
func verdicts(t *testing.T, r *report.Report) (list []verdict) {
	t.Helper()
	nodes := map[int]report.Node{}
	for _, n := range r.Nodes {
		nodes[n.ID] = n
	}
	for _, b := range r.Bottlenecks {
		f, err := grid.ParseFocus(fmt.Sprint(nodes[b.Node].Focus))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, verdict{nodes[b.Node].Hypothesis, f})
	}
	return list
}

// agree tells whether the worst of one report is in the other, there perhaps with a wider or a narrower focus: two that are equally severe may
// change places, and what joins them may still be under test.
func agree(t *testing.T, original, again *report.Report) bool {
	t.Helper()
	found := verdicts(t, again)
	return len(found) > 0 && slices.ContainsFunc(verdicts(t, original), func(v verdict) bool {
		return v.hypothesis == found[0].hypothesis && (v.focus.Covers(found[0].focus) || found[0].focus.Covers(v.focus))
	})
}

func TestLinkVariable(t *testing.T) {
	t.Setenv(linkVariable, "rope")
	if _, err := Open(context.Background(), Config{}); err == nil || !strings.Contains(err.Error(), "CULPRIT_LINK") {
		t.Errorf("%v", err)
	}
}
