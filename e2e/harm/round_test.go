package harm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// nobody is a user without rights of any kind.
const nobody = 65534

// A round is one try to hurt one target.
type round struct {
	*testing.T
	culprit      string // path of the binary; "" in a control, or uprobes
	incomparable bool   // uprobes cannot do what the scenario asks culprit to do
}

// sharing guards the programs that are copied; copies counts those for uprobes.
var (
	sharing sync.Mutex
	copies  int
)

// uprobes stands for bpftrace in place of culprit: what the kernel's own probes do to a target is the measure of what is no harm.
const uprobes = "uprobes"

// control says that nothing is to be done to the target.
func (r *round) control() bool { return r.culprit == "" }

// build compiles a program of testdata/odd and gives a path at which any user may execute it.
func (r *round) build(source string, flags ...string) string {
	r.Helper()
	bin := testprog.Build(r.T, filepath.Join("testdata/odd", source), flags...)
	return r.share(bin)
}

// share copies a program to where any user may execute it, once; for uprobes each time anew. These are written into every process that
// executes the file, also where only one was to be probed: others would be harmed that are none of theirs.
func (r *round) share(bin string) string {
	r.Helper()
	sharing.Lock()
	defer sharing.Unlock()
	dir := filepath.Join(allCanSee, filepath.Base(filepath.Dir(bin)))
	if r.culprit == uprobes {
		copies++
		dir = filepath.Join(allCanSee, fmt.Sprintf("uprobes%d", copies))
	}
	to := filepath.Join(dir, filepath.Base(bin))
	if _, err := os.Stat(to); err == nil {
		return to
	}
	data, err := os.ReadFile(bin)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		written := testprog.WritesProgram()
		err = os.WriteFile(to, data, 0o755)
		written()
	}
	if err != nil {
		r.Fatal(err)
	}
	return to
}

// target starts a program and waits until it says READY. It is killed when the round's test ends.
func (r *round) target(bin string, args ...string) *testprog.Prog {
	r.Helper()
	return testprog.StartTarget(r.T, bin, args...)
}

// targetOf is target for a program of another user.
func (r *round) targetOf(uid uint32, bin string, args ...string) *testprog.Prog {
	r.Helper()
	require.Root(r.T)
	cmd := exec.Command(bin, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, NoSetGroups: true}}
	p := testprog.StartCmd(r.T, cmd)
	p.Expect(r.T, "READY", 10*time.Second)
	return p
}

// harmTo tells the target to stop and says what is wrong with how it ended: not with OK, or with another hash than it should.
// An empty hash is not compared.
func (r *round) harmTo(p *testprog.Prog, hash string) string {
	if p.Alive() {
		fmt.Fprintln(p.Stdin, "stop")
	}
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		return "the target does not end any more"
	}
	status, lines := p.Wait(r.T, time.Second), p.Lines()
	last := ""
	if len(lines) > 0 {
		last = lines[len(lines)-1]
	}
	got, ok := strings.CutPrefix(last, "OK ")
	switch {
	case status > 128:
		return fmt.Sprintf("the target was ended by signal %d", status-128)
	case status != testprog.ExitOK || !ok:
		return fmt.Sprintf("the target ended with status %d: %s", status, last)
	case hash != "" && got != hash:
		return fmt.Sprintf("the target's work came out as %s instead of %s", got, hash)
	}
	return ""
}

// A result is what one run of culprit said.
type result struct {
	status   int // exit status; 128 + N if signal N ended it
	out, err string
	took     time.Duration
	rss      int64 // most memory in use, in bytes
}

// run runs culprit to its end, for at most two minutes. It is not called in a control.
func (r *round) run(args ...string) result {
	r.Helper()
	if r.culprit == uprobes {
		return r.runUprobes(args)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.culprit, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+r.TempDir(), "XDG_CACHE_HOME="+r.TempDir())
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	began := time.Now()
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	most := peakMemory(cmd.Process.Pid)
	_ = cmd.Wait() // the status says it
	res := result{status: cmd.ProcessState.ExitCode(), out: out.String(), err: errOut.String(), took: time.Since(began)}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.status = 128 + int(ws.Signal())
	}
	res.rss = most()
	return res
}

// peakMemory looks at how much memory a process has had at most, until its result is asked for. What the kernel says at the end of a child
// includes what its parent had.
func peakMemory(pid int) (bytes func() int64) {
	var most atomic.Int64
	over, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
			if kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), " kB"), 10, 64); err == nil {
				most.Store(max(most.Load(), kb<<10))
			}
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(over)
		<-looked
		return most.Load()
	}
}

// start runs culprit in the background; it is killed when the round's test ends.
func (r *round) start(args ...string) *exec.Cmd {
	r.Helper()
	cmd := exec.Command(r.culprit, args...)
	if r.culprit == uprobes {
		r.incomparable = true
		cmd = exec.Command("true")
	}
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+r.TempDir(), "XDG_CACHE_HOME="+r.TempDir())
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		_ = cmd.Wait()
	})
	return cmd
}

// attach lets culprit search a target for so long, with whatever other arguments, and returns what it said.
func (r *round) attach(p *testprog.Prog, span time.Duration, args ...string) result {
	r.Helper()
	return r.run(append([]string{"attach", fmt.Sprint(p.PID), "--no-tui", "--for", span.String()}, args...)...)
}

// left says what of culprit is still in a process: its mappings.
func left(pid int) (n int) {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)) // one that has ended has none
	return bytes.Count(maps, []byte("/memfd:culprit"))
}

// searched reports whether an exit status is that of a search that came to its end, whatever it found.
func searched(status int) bool { return status == 0 || status == 10 || status == 12 }
