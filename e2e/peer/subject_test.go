package peer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/daemon"
	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
	"culprit/pcl/check"
)

// sums adds up what a daemon samples.
type sums struct {
	mu sync.Mutex
	m  map[grid.PairKey]float64
}

// Sample implements grid.Sink.
func (s *sums) Sample(k grid.PairKey, _, _, v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[grid.PairKey]float64{}
	}
	s.m[k] += v
}

// A session is a daemon on some processes, with what it has counted.
type session struct {
	t *testing.T
	d *daemon.Daemon
	sums
	keys map[string]grid.PairKey
	on   map[string]bool
}

// metric is a counter in PCL of the name, with variables beside it, and statements that say what is counted where.
func metric(name string, variables []string, statements ...string) string {
	return define("counter", name, variables, statements)
}

// define is a metric of a kind.
func define(kind, name string, items, statements []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "metric %s { name %q; units ops; unitsType unnormalized; aggregateOperator sum; style EventCounter;\n", name, name)
	for _, item := range items {
		if !strings.Contains(item, " ") {
			item = "counter " + item
		}
		fmt.Fprintf(&b, "%s;\n", item)
	}
	fmt.Fprintf(&b, "base is %s {\n%s\n} }\n", kind, strings.Join(statements, "\n"))
	return b.String()
}

// at is a statement of PCL: code before a point of a function, behind what is there already.
func at(function, point, code string) string {
	return fmt.Sprintf("append preInsn $function(%q).%s (* %s *)", function, point, code)
}

func load(t testing.TB, texts ...string) *pcl.Library {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: texts})
	if err != nil || len(problems) > 0 {
		t.Fatalf("PCL: %v %v", err, problems)
	}
	return lib
}

// measure attaches to processes with the metrics of the default library and those of the texts.
func measure(t *testing.T, opts daemon.Options, texts []string, pids ...int) *session {
	t.Helper()
	opts.Library = load(t, texts...)
	opts.Log = func(line string) { t.Log(line) }
	d, err := daemon.Attach(context.Background(), opts, pids...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	return &session{t: t, d: d, keys: map[string]grid.PairKey{}, on: map[string]bool{}}
}

// key reads "metric" (of the whole program) or "metric@focus".
func (s *session) key(pair string) grid.PairKey {
	s.t.Helper()
	if k, ok := s.keys[pair]; ok {
		return k
	}
	name, focus, _ := strings.Cut(pair, "@")
	if focus == "" {
		focus = "/"
	}
	f, err := grid.ParseFocus(focus)
	if err != nil {
		s.t.Fatal(err)
	}
	s.keys[pair] = grid.PairKey{Metric: name, Focus: f}
	return s.keys[pair]
}

func (s *session) keysOf(pairs []string) (keys []grid.PairKey) {
	s.t.Helper()
	for _, p := range pairs {
		keys = append(keys, s.key(p))
	}
	return keys
}

// enable begins to measure pairs; all must be possible, though perhaps not at once on a machine that is so busy that a thread
// does not stop in time.
func (s *session) enable(pairs ...string) {
	s.t.Helper()
	for _, p := range pairs {
		s.on[p] = true
	}
	deadline := time.Now().Add(patience())
	for keys := s.keysOf(pairs); len(keys) > 0; {
		var later []grid.PairKey
		for _, r := range s.d.Enable(keys, &s.sums) {
			var deferred grid.ErrDeferred
			switch {
			case errors.As(r.Err, &deferred) && time.Now().Before(deadline):
				later = append(later, r.Key)
			case r.Err != nil:
				s.t.Fatalf("%s: %v", r.Key, r.Err)
			}
		}
		keys = later
	}
}

// refuses checks that a pair cannot be measured, and why.
func (s *session) refuses(pair, why string) {
	s.t.Helper()
	err := s.d.Enable(s.keysOf([]string{pair}), &s.sums)[0].Err
	if err == nil || !strings.Contains(err.Error(), why) {
		s.t.Errorf("%s: %v, should be refused: %s", pair, err, why)
		return
	}
	s.t.Logf("refused as it should be: %v", err)
}

// disable stops measuring pairs; all if none is named. Their values are complete afterwards.
func (s *session) disable(pairs ...string) {
	s.t.Helper()
	if len(pairs) == 0 {
		for p := range s.on {
			pairs = append(pairs, p)
		}
	}
	s.d.Disable(s.keysOf(pairs))
	for _, p := range pairs {
		delete(s.on, p)
	}
}

// value is what a pair has counted so far.
func (s *session) value(pair string) float64 {
	s.t.Helper()
	k := s.key(pair)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[k]
}

// want compares what a pair has counted with what it should have, and says both.
func (s *session) want(pair string, n float64) {
	s.t.Helper()
	if got := s.value(pair); got != n {
		s.t.Errorf("%s: counted %.0f, should be %.0f", pair, got, n)
		return
	}
	s.t.Logf("%s: %.0f, exact", pair, n)
}

// detach ends the session; nothing may be left in the processes.
func (s *session) detach(pids ...int) {
	s.t.Helper()
	if clean, err := s.d.Detach(); !clean {
		s.t.Fatalf("detach: %v", err)
	}
	for _, pid := range pids {
		untouched(s.t, pid)
	}
}

// untouched checks that a process is as if nobody had ever looked at it.
func untouched(t *testing.T, pid int) {
	t.Helper()
	r, err := patch.Verify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Clean() {
		t.Fatalf("left behind in process %d: %+v", pid, r)
	}
}

// originalText checks that no byte of a process's code differs from its file, while it is still attached to.
func (s *session) originalText(pid int) {
	s.t.Helper()
	r, err := patch.Verify(pid)
	if err != nil || r.DifferingBytes != 0 {
		s.t.Fatalf("process %d: %+v, %v", pid, r, err)
	}
}

// A subject is a target program that does as it is told, and the session that measures it.
type subject struct {
	*session
	p     *testprog.Prog
	bin   string
	lines []string // what it was told
}

// patience is how long a program may take for what it is told.
func patience() time.Duration { return time.Duration(rounds(30, 300)) * time.Second }

// begin starts a target of testdata/targets.
func begin(t *testing.T, source string, args ...string) (*testprog.Prog, string) {
	t.Helper()
	bin := testprog.Build(t, filepath.Join("testdata", "targets", source))
	return testprog.StartTarget(t, bin, args...), bin
}

// attach starts a target and measures it with the metrics of the texts beside those of the default library.
func attach(t *testing.T, source string, texts ...string) *subject {
	t.Helper()
	return attachBuilt(t, source, nil, texts...)
}

// attachBuilt is attach for a target that is compiled with flags of its own.
func attachBuilt(t *testing.T, source string, flags []string, texts ...string) *subject {
	t.Helper()
	bin := testprog.Build(t, filepath.Join("testdata", "targets", source), flags...)
	p := testprog.StartTarget(t, bin)
	return &subject{session: measure(t, daemon.Options{}, texts, p.PID), p: p, bin: bin}
}

// tell gives the program a line and waits for its answer.
func (s *subject) tell(line, answer string) string {
	s.t.Helper()
	s.lines = append(s.lines, line+"|"+answer)
	s.p.Say(s.t, line)
	return s.p.Expect(s.t, answer, patience())
}

// run has peer.c run a case n times and returns by how much its own counts have grown.
func (s *subject) run(name string, n int) map[string]float64 {
	s.t.Helper()
	before := s.p.Counts()
	s.tell(fmt.Sprintf("run %s %d", name, n), "DONE "+name)
	return grown(before, s.p.Counts())
}

func grown(before, after map[string]uint64) map[string]float64 {
	out := map[string]float64{}
	for k, v := range after {
		out[k] = float64(v - before[k])
	}
	return out
}

// end detaches, and compares the program's result with that of one that was told the same and that nobody looked at.
func (s *subject) end() {
	s.t.Helper()
	s.detach(s.p.PID)
	s.p.MustBeat(s.t, 5*time.Second)
	got := s.p.Stop(s.t)
	alone := testprog.StartTarget(s.t, s.bin)
	for _, line := range s.lines {
		say, answer, _ := strings.Cut(line, "|")
		alone.Say(s.t, say)
		alone.Expect(s.t, answer, patience())
	}
	if want := alone.Stop(s.t); got != want {
		s.t.Errorf("the program computed %s, undisturbed %s", got, want)
	}
}
