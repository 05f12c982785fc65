package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/internal/procfs"
)

// A target is a real process that a test started. It prints "ready" when it is set up, works until its standard input is closed, and
// then prints lines "name value".
type target struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
	mu    sync.Mutex
	ended bool
}

var (
	buildMu    sync.Mutex
	buildCache = map[string]string{}
	buildDir   string
)

// compile builds a C program once for all tests that use it.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed: this test compiles its target")
	}
	buildMu.Lock()
	defer buildMu.Unlock()
	key := source + strings.Join(flags, " ")
	if path := buildCache[key]; path != "" {
		return path
	}
	path := filepath.Join(buildDir, fmt.Sprintf("target%d", len(buildCache)))
	if err := os.WriteFile(path+".c", []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-O2", "-g", "-pthread", "-o", path, path + ".c"}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	buildCache[key] = path
	return path
}

func start(t testing.TB, path string, args ...string) *target {
	t.Helper()
	return startCmd(t, exec.Command(path, args...))
}

func startCmd(t testing.TB, cmd *exec.Cmd) *target {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tg := &target{t: t, cmd: cmd, stdin: in, lines: make(chan string, 1000)}
	go func() {
		defer close(tg.lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			tg.lines <- sc.Text()
		}
	}()
	t.Cleanup(tg.kill)
	tg.expect("ready")
	return tg
}

func (tg *target) pid() int { return tg.cmd.Process.Pid }

func (tg *target) write(t testing.TB, s string) {
	t.Helper()
	if _, err := io.WriteString(tg.stdin, s); err != nil {
		t.Fatal(err)
	}
}

// expect waits for a line.
func (tg *target) expect(want string) {
	tg.t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case line, ok := <-tg.lines:
			if !ok {
				tg.t.Fatalf("target ended before it printed %q", want)
			}
			if line == want {
				return
			}
		case <-timeout:
			tg.t.Fatalf("target did not print %q", want)
		}
	}
}

// finish closes standard input and collects the results; the target must end with status 0.
func (tg *target) finish() map[string]int64 {
	tg.t.Helper()
	tg.stdin.Close()
	results := map[string]int64{}
	timeout := time.After(20 * time.Second)
	for open := true; open; {
		select {
		case line, ok := <-tg.lines:
			open = ok
			if name, value, found := strings.Cut(line, " "); found {
				results[name], _ = strconv.ParseInt(value, 10, 64)
			}
		case <-timeout:
			tg.t.Fatalf("target does not end; threads: %s", describe(tg.pid()))
		}
	}
	if err := tg.wait(); err != nil {
		tg.t.Fatalf("target failed: %v (results %v)", err, results)
	}
	return results
}

func (tg *target) wait() error {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if tg.ended {
		return nil
	}
	tg.ended = true
	waitDead(tg.pid())
	return tg.cmd.Wait()
}

// waitDead waits for the end without collecting it, so that ptrace stops are not mistaken for it.
func waitDead(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(fds, 20000); err != unix.EINTR || n > 0 {
			return
		}
	}
}

func (tg *target) kill() {
	tg.mu.Lock()
	ended := tg.ended
	tg.mu.Unlock()
	if !ended {
		_ = tg.cmd.Process.Kill()
		_ = tg.wait()
	}
}

func describe(pid int) string {
	var b strings.Builder
	tids, _ := raw.Tasks(pid)
	for _, tid := range tids {
		st, _ := procfs.ReadThreadStat(pid, tid)
		s, _ := raw.ReadStatus(pid, tid)
		sc, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
		fmt.Fprintf(&b, "[%d %s %c tracer %d %s]", tid, st.Name, st.State, s.Tracer, strings.TrimSpace(string(sc)))
	}
	return b.String()
}

func open(t testing.TB, pid int) *Process {
	t.Helper()
	p, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// stop stops the target and fails the test if that fails.
func stop(t testing.TB, p *Process, f func(w *World) error) Pause {
	t.Helper()
	pause, err := p.Stop(context.Background(), StopOptions{Deadline: 5 * time.Second}, f)
	if err != nil {
		t.Fatal(err)
	}
	return pause
}

func nothing(*World) error { return nil }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// atoi is a number of a command line or a line of /proc, 0 if it is none.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
