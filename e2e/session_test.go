package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// The exit statuses that docs/output.md promises.
const (
	statusNothing    = 0
	statusFailed     = 1
	statusForbidden  = 3
	statusEnded      = 4
	statusBottleneck = 10
	statusUnknown    = 12
)

// maxPauseUS is the longest pause of a target, in us. culprit gives up after 500 ms; to let all threads go takes a little.
const maxPauseUS = 800_000

// patience is how long a test waits for a session beyond the time that it was given.
const patience = time.Minute

// A session is one run of culprit.
type session struct {
	t           *testing.T
	cmd         *exec.Cmd
	out, errOut output // complete once the session has ended
	report      string // path of the report
	done        chan struct{}
}

// An output is what a session has said so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// start runs culprit with arguments; "@REPORT" stands for the path of its report.
func start(t *testing.T, args ...string) *session {
	t.Helper()
	return startCmd(t, exec.Command(culprit, args...))
}

// startCmd is start for a command with attributes of its own.
func startCmd(t *testing.T, cmd *exec.Cmd) *session {
	t.Helper()
	s := &session{t: t, cmd: cmd, report: filepath.Join(t.TempDir(), "report.json"), done: make(chan struct{})}
	for i := range cmd.Args {
		cmd.Args[i] = strings.ReplaceAll(cmd.Args[i], "@REPORT", s.report)
	}
	if cmd.Env == nil {
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &s.out, &s.errOut, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the status is in ProcessState
		close(s.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		<-s.done
	})
	return s
}

// status waits for the end and returns the exit status.
func (s *session) status() int {
	s.t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.done
		s.t.Fatalf("culprit did not end: %s", s.story())
	}
	return -1
}

// want ends the test unless the exit status is the one wanted.
func (s *session) want(status int) *session {
	s.t.Helper()
	if got := s.status(); got != status {
		s.t.Fatalf("exit status %d, want %d\n%s", got, status, s.story())
	}
	return s
}

// says fails the test unless the messages hold all these texts.
func (s *session) says(texts ...string) *session {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.errOut.String(), text) {
			s.t.Errorf("no message says %q\n%s", text, s.story())
		}
	}
	return s
}

func (s *session) story() string {
	return fmt.Sprintf("culprit %s\n--- stdout\n%s--- stderr\n%s", strings.Join(s.cmd.Args[1:], " "), s.out.String(), s.errOut.String())
}

// interrupt ends a measurement as Ctrl-C does.
func (s *session) interrupt() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatalf("%v\n%s", err, s.story())
	}
}

// A report is what the tests read of the report of schema 1 (docs/output.md).
type report struct {
	Schema  int
	Started time.Time
	Targets []process
	Nodes   []struct {
		ID                int
		Hypothesis, State string
		Focus             map[string]string
		Value             float64
		Tier, Reason      string
		Tests             []struct{ Begin float64 }
	}
	History *struct {
		Program string
		Held    int
	}
	Bottlenecks []bottleneck
	Notes       []bottleneck
	Earlier     []struct {
		From, To float64
		Times    int
		Sentence string
	}
	Phases []struct {
		Name        string
		Because     string
		Start       float64
		End         *float64
		Bottlenecks []bottleneck
	}
	Pairs    []pair
	Jobs     []job
	Overhead struct {
		Budget, Observed float64
		Pauses           struct {
			Count int
			MaxUS int64 `json:"max_us"`
		}
	}
	Probes struct {
		Inserted, Removed, Left int
		Refused                 []struct{ Function, Reason string }
	}
	RemovedClean bool `json:"removed_clean"`
	ExitStatus   int  `json:"exit_status"`
	End          string
}

type process struct {
	PID     int
	Exe     string
	BuildID string `json:"build_id"`
	Backend string
	Why     string
	Threads int
	Ended   bool
}

type bottleneck struct {
	ExplainedBy int `json:"explained_by"`
	Node        int
	Sentence    string
	Chain       []int
	Object      string
	Severity    float64
	Advice      string
	HeldBy      []struct {
		Thread, Function string
		Share            float64
	} `json:"held_by"`
	CPUsUsedBy []struct {
		Thread string
		Share  float64
	} `json:"cpus_used_by"`
	Source *struct {
		File string
		Line int
	}
}

type pair struct {
	Metric  string
	Focus   map[string]string
	Sum     float64
	Average *float64
	Tier    string
	Error   string
	Note    string
}

// read reads the report and checks what holds for every one.
func (s *session) read() *report {
	s.t.Helper()
	b, err := os.ReadFile(s.report)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.story())
	}
	r := &report{}
	if err := json.Unmarshal(b, r); err != nil {
		s.t.Fatalf("%v\n%s", err, b)
	}
	if r.Schema != 1 || len(r.Targets) == 0 || r.ExitStatus != s.cmd.ProcessState.ExitCode() {
		s.t.Errorf("the report is not of this session: schema %d, %d targets, exit status %d", r.Schema, len(r.Targets), r.ExitStatus)
	}
	if longest := r.Overhead.Pauses.MaxUS; longest > maxPauseUS {
		s.t.Errorf("a pause of %d us", longest)
	}
	for _, target := range r.Targets {
		if !target.Ended && (!r.RemovedClean || r.Probes.Left != 0 || r.Probes.Removed != r.Probes.Inserted) {
			s.t.Errorf("not everything was removed: %+v", r.Probes)
		}
	}
	return r
}

// focus is the focus of a node at one hierarchy, "" for its root.
func (r *report) focus(node int, hierarchy string) string {
	for _, n := range r.Nodes {
		if n.ID == node {
			return n.Focus[hierarchy]
		}
	}
	return ""
}

func (r *report) hypothesis(node int) string {
	for _, n := range r.Nodes {
		if n.ID == node {
			return n.Hypothesis
		}
	}
	return ""
}

// find returns the worst bottleneck of a hypothesis whose sentence has all these words.
func (r *report) find(hypothesis string, words ...string) *bottleneck {
	explained := slices.DeleteFunc(slices.Clone(r.Notes), func(b bottleneck) bool { return b.ExplainedBy == 0 })
	all := slices.Concat(r.Bottlenecks, explained) // who waits for one that works is told below it, where the kernel tells who woke him
	for i := range all {
		b := &all[i]
		lacks := func(word string) bool { return !strings.Contains(b.Sentence, word) }
		if r.hypothesis(b.Node) == hypothesis && !slices.ContainsFunc(words, lacks) {
			return b
		}
	}
	return nil
}

// way is the code that a bottleneck's chain passes through, outermost first, each once.
func (r *report) way(b *bottleneck) (path []string) {
	for _, id := range b.Chain {
		if c := r.focus(id, "Code"); c != "" && (len(path) == 0 || path[len(path)-1] != c) {
			path = append(path, c)
		}
	}
	return path
}

func (r *report) sentences() string {
	var lines []string
	for _, b := range r.Bottlenecks {
		lines = append(lines, b.Sentence)
	}
	return strings.Join(lines, "\n")
}

// search searches for the bottlenecks of processes and returns the report; the exit status must be the one wanted.
func search(t *testing.T, length time.Duration, status int, pids ...int) *report {
	t.Helper()
	var args []string
	for _, pid := range pids {
		args = append(args, fmt.Sprint(pid))
	}
	s := start(t, append([]string{"attach", "--no-tui", "--for", length.String(), "--json", "@REPORT"}, args...)...).want(status)
	r := s.read()
	t.Log("\n" + s.out.String())
	return r
}

// A finding is what must turn out true in a search: a hypothesis at a place whose name has all these words.
type finding struct {
	hypothesis string
	at         []string
}

// told reports whether a progress line says so.
func (f finding) told(line string) bool {
	_, line, _ = strings.Cut(line, " ")
	if !strings.HasPrefix(line, f.hypothesis+" at ") || !strings.Contains(line, " true: ") {
		return false
	}
	return !slices.ContainsFunc(f.at, func(word string) bool { return !strings.Contains(line, word) })
}

// longest is how long a search may take to find something, on a machine that has other things to do.
const longest = 40 * time.Second

// searchFor searches until all these have turned out true, and a moment longer; then it interrupts the search. What has not
// turned out true after the longest time is not found: the test ends.
func searchFor(t *testing.T, what []finding, args ...string) *report {
	t.Helper()
	s := start(t, append([]string{"attach", "--no-tui", "--json", "@REPORT", "--for", longest.String()}, args...)...)
	for since := time.Now(); time.Since(since) < longest && !s.ended() && len(s.open(what)) > 0; {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	if !s.ended() {
		s.interrupt()
	}
	s.want(statusBottleneck)
	r := s.read()
	t.Log("\n" + s.out.String())
	if open := s.open(what); len(open) > 0 {
		t.Fatalf("not found: %v\n%s", open, s.errOut.String())
	}
	return r
}

func (s *session) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// open lists what no progress line has told yet. Several places may be told each for itself: that they are one finding is told by the sentence.
func (s *session) open(what []finding) []finding {
	lines := strings.Split(s.errOut.String(), "\n")
	return slices.DeleteFunc(slices.Clone(what), func(f finding) bool {
		return !slices.ContainsFunc(f.at, func(place string) bool {
			return !slices.ContainsFunc(lines, finding{f.hypothesis, []string{place}}.told)
		})
	})
}

// mustFind ends the test unless a bottleneck of the hypothesis was found whose sentence has all these words.
func (r *report) mustFind(t *testing.T, hypothesis string, words ...string) *bottleneck {
	t.Helper()
	b := r.find(hypothesis, words...)
	if b == nil {
		t.Fatalf("%s with %q was not found, but:\n%s", hypothesis, words, r.sentences())
	}
	return b
}

// target builds and starts a program of testdata/targets.
func target(t *testing.T, source string, args ...string) *testprog.Prog {
	t.Helper()
	require.Root(t)
	var flags []string
	if strings.HasSuffix(source, ".cc") {
		flags = []string{"-std=c++20", "-Wno-volatile"}
	}
	return testprog.StartTarget(t, testprog.Build(t, testprog.Target(t, source), flags...), args...)
}

// clean fails the test unless nothing of culprit is in the process.
func clean(t *testing.T, pid int) {
	t.Helper()
	s := start(t, "detach", "--verify", fmt.Sprint(pid)).want(0)
	if !strings.Contains(s.out.String(), "0 bytes differ, 0 mappings of ours, TracerPid 0") {
		t.Errorf("left behind: %s", s.story())
	}
}

// undisturbed fails the test unless nothing of culprit is in the target, it goes on, and it ends with the exit code and
// the result that it has when nobody measures it.
func undisturbed(t *testing.T, p *testprog.Prog, source string, args ...string) {
	t.Helper()
	clean(t, p.PID)
	p.MustBeat(t, 10*time.Second)
	got := p.Stop(t)
	q := target(t, source, args...)
	if want := q.Stop(t); got != want {
		t.Errorf("%s ended with %s, undisturbed with %s", source, got, want)
	}
}

// awaitProbes waits until the session has put something into the process.
func (s *session) awaitProbes(pid int) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err == nil && strings.Contains(string(maps), "culprit") {
			return
		}
		select {
		case <-s.done:
			s.t.Fatalf("culprit ended before it measured anything\n%s", s.story())
		default:
		}
	}
	s.t.Fatalf("no probes came into process %d", pid)
}
