package session

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
	"culprit/pcl"
)

// maxTrips is how many round trips a search may make in a second.
const maxTrips = 20

// TestSearchOverALink holds that a search finds the same over a connection, also over one that delays messages and exchanges them, and that it
// asks little.
func TestSearchOverALink(t *testing.T) {
	lib, _, err := pcl.Load(pcl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ link, program, want string }{
		{"pipe", "cpu.c", "word_distance"},
		{"pipe,delay=50ms,shuffle", "cpu.c", "word_distance"},
		{"pipe,delay=50ms,shuffle", "lock.c", "find_session"},
	} {
		t.Run(c.link+" "+c.program, func(t *testing.T) {
			t.Setenv(linkVariable, c.link)
			cmd := exec.Command(testprog.Build(t, "testdata/demo/"+c.program))
			cmd.Dir = t.TempDir()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill() // it runs until then
				_ = cmd.Wait()
			}()
			time.Sleep(200 * time.Millisecond) // its threads begin
			s, err := Open(context.Background(), Config{PIDs: []int{cmd.Process.Pid}, Library: lib, Budget: 0.02, Search: true, Log: func(line string) { t.Log(line) }})
			if err != nil {
				t.Fatal(err)
			}
			const span = 8 * time.Second
			s.Run(context.Background(), Limits{For: span})
			trips := s.daemon.(*link).RoundTrips()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			r := s.Report()
			if len(r.Bottlenecks) == 0 || !strings.Contains(r.Bottlenecks[0].Sentence, c.want) || !r.RemovedClean || r.Probes.Left != 0 {
				t.Errorf("found %+v; probes %+v", r.Bottlenecks, r.Probes)
			}
			if perSecond := float64(trips) / span.Seconds(); perSecond > maxTrips {
				t.Errorf("%.1f round trips a second, at most %d are allowed", perSecond, maxTrips)
			} else {
				t.Logf("%.1f round trips a second", perSecond)
			}
		})
	}
}

func TestLinkVariable(t *testing.T) {
	t.Setenv(linkVariable, "rope")
	if _, err := Open(context.Background(), Config{}); err == nil || !strings.Contains(err.Error(), "CULPRIT_LINK") {
		t.Errorf("%v", err)
	}
}
