package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/session/report"
)

// errSkip says that a case cannot run on this machine.
var errSkip = errors.New("skipped")

// A target is what a case measures, and what goes with it.
type target struct {
	args []string
	// load starts what gives the target something to do, as soon as that is possible. nil = nothing.
	load func(ctx context.Context) (*exec.Cmd, error)
}

// run diagnoses the program and prints what was found; ok says that it was as expected.
func (c programCase) run(ctx context.Context, w io.Writer, self string, o Options) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "culprit-demo-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	defer endOrphans()
	fmt.Fprintf(w, "%s: %s\n", c.name, c.what)
	t, err := c.start(dir)
	if errors.Is(err, errSkip) {
		fmt.Fprintf(w, "  %v\n\n", err)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	file := filepath.Join(dir, "report.json")
	status, said, err := t.diagnose(ctx, self, file, o.Length)
	if err != nil {
		return false, err
	}
	r, err := readReport(file)
	if err != nil {
		return false, fmt.Errorf("%w; exit status %d; it said: %s", err, status, said)
	}
	return c.compare(w, status, r, o.Found), nil
}

// patience is how long culprit may take to remove its probes after it was asked to end.
const patience = 10 * time.Second

// diagnose lets `culprit run` start and measure the target, which works also where only children may be traced. It
// returns culprit's exit status and the end of what it said on standard error.
func (t *target) diagnose(ctx context.Context, self, file string, length time.Duration) (int, string, error) {
	args := append([]string{"run", "--no-tui", "--quiet", "--for", length.String(), "--json", file, "--"}, t.args...)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = filepath.Dir(file) // some of the programs write files where they are
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	// A file and no pipe: the target has it too, and goes on after culprit has ended.
	said, err := os.Create(file + ".stderr")
	if err != nil {
		return 0, "", err
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	loadCtx, endLoad := context.WithCancel(ctx)
	defer endLoad()
	loaded := make(chan error, 1)
	go func() { loaded <- t.runLoad(loadCtx) }()
	err = cmd.Wait()
	endLoad()
	loadErr := <-loaded
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, "", err
	}
	return cmd.ProcessState.ExitCode(), lastText(said), loadErr
}

// runLoad keeps the load running until ctx ends.
func (t *target) runLoad(ctx context.Context) error {
	if t.load == nil {
		return nil
	}
	cmd, err := t.load(ctx)
	if err == nil {
		err = cmd.Run()
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("the load on the target ended early: %w", err)
}

// lastText is the end of a file that others write to.
func lastText(f *os.File) string {
	const most = 2000
	b := make([]byte, most)
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	n, _ := f.ReadAt(b, max(0, info.Size()-most)) // io.EOF where there is less
	return strings.TrimSpace(string(b[:n]))
}

// endOrphans ends what is left of a case: culprit has ended and left the target to us, its nearest subreaper.
func endOrphans() {
	all, err := proclist.List()
	if err != nil {
		return
	}
	for _, p := range all {
		if p.PPID != os.Getpid() {
			continue
		}
		if p.State != 'Z' {
			unix.Kill(p.PID, unix.SIGKILL)
		}
		unix.Wait4(p.PID, nil, 0, nil)
	}
}

// compare prints what was found beside what was expected.
func (c programCase) compare(w io.Writer, status int, r *report.Report, bottleneck int) bool {
	hypotheses := map[int]*report.Node{}
	for i := range r.Nodes {
		hypotheses[r.Nodes[i].ID] = &r.Nodes[i]
	}
	found := false
	for i, b := range r.Bottlenecks {
		n := hypotheses[b.Node]
		if n == nil {
			continue
		}
		found = found || within(hypotheses, b.Chain, c.hypothesis)
		if i < 3 {
			fmt.Fprintf(w, "  why:   %s\n  where: %s%s\n  when:  since %.1f s\n", b.Sentence, n.Focus, sourceText(b.Source), float64(n.Since))
		}
	}
	if !found {
		c.whyNot(w, r)
	}
	same := status == r.ExitStatus && (status == bottleneck) == (len(r.Bottlenecks) > 0)
	fmt.Fprintf(w, "  expected %s: %s; exit status %d, report says %d with %s: %s; removed clean: %s\n\n", c.hypothesis,
		yes(found, "found", "NOT FOUND"), status, r.ExitStatus, bottlenecks(len(r.Bottlenecks)), yes(same, "they agree", "they DISAGREE"),
		yes(r.RemovedClean, "yes", "NO"))
	return found && same && status == bottleneck && r.RemovedClean
}

// whyNot prints what became of the expected hypothesis at the whole program: on a machine that has no time for the program a
// bottleneck may not show.
func (c programCase) whyNot(w io.Writer, r *report.Report) {
	for _, n := range r.Nodes {
		if n.Hypothesis == c.hypothesis && (c.hypothesis != "" && len(n.Focus) == 0 || n.State == "true") {
			fmt.Fprintf(w, "  %s at %s is %s: %.3g, threshold %.3g, %d readings; %s\n", n.Hypothesis, n.Focus, n.State, float64(n.Value),
				float64(n.Threshold), n.Samples, n.Reason)
		}
	}
}

// within reports whether the chain passes through the hypothesis.
func within(nodes map[int]*report.Node, chain []int, hypothesis string) bool {
	for _, id := range chain {
		if n := nodes[id]; n != nil && n.Hypothesis == hypothesis {
			return true
		}
	}
	return false
}

func bottlenecks(n int) string {
	if n == 1 {
		return "1 bottleneck"
	}
	return fmt.Sprintf("%d bottlenecks", n)
}

func yes(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

func sourceText(s *report.Source) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", s.File, s.Line)
}

func readReport(path string) (*report.Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("culprit wrote no report: %w", err)
	}
	var r report.Report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("the report cannot be read: %w", err)
	}
	return &r, nil
}

// socketWait bounds how long a database may take to open its socket.
const socketWait = 10 * time.Second

// startRedis prepares a redis-server on a socket in dir, without a port and without files.
func startRedis(dir string) (*target, error) {
	server, err1 := exec.LookPath("redis-server")
	bench, err2 := exec.LookPath("redis-benchmark")
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("%w: redis-server and redis-benchmark are not installed", errSkip)
	}
	socket := filepath.Join(dir, "redis.sock")
	return &target{
		args: []string{server, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir},
		load: func(ctx context.Context) (*exec.Cmd, error) {
			if err := awaitFile(ctx, socket); err != nil {
				return nil, err
			}
			return exec.CommandContext(ctx, bench, "-s", socket, "-q", "-l", "-c", "20", "-n", "100000", "-t", "set,get,lrange"), nil
		},
	}, nil
}

func awaitFile(ctx context.Context, path string) error {
	for deadline := time.Now().Add(socketWait); time.Now().Before(deadline); {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s did not appear within %v", path, socketWait)
}
