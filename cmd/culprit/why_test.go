package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
)

// sockets is the directory of sockets of this test alone, which a test may change.
func sockets(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "culprit-why-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	t.Setenv("XDG_RUNTIME_DIR", base)
	return filepath.Join(base, "culprit")
}

// awaitSocket waits until a culprit can be asked, and returns its socket.
func (c *tool) awaitSocket(dir string) string {
	c.t.Helper()
	path := filepath.Join(dir, fmt.Sprintf("%d.sock", c.cmd.Process.Pid))
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return path
		}
		if c.cmd.ProcessState != nil {
			break
		}
	}
	c.t.Fatalf("there is no socket %s\n%s", path, c.story())
	return ""
}

// TestWhy: a session answers while it goes on, whether one names it or what it measures; at its end the socket is gone.
func TestWhy(t *testing.T) {
	dir := sockets(t)
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", "--no-tui", "--watch", "lock_acquisitions", "--json", "@REPORT", "--for", "10m", fmt.Sprint(p.PID))
	path := c.awaitSocket(dir)
	var w *tool
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(100 * time.Millisecond) {
		w = culprit(t, "why", fmt.Sprint(p.PID))
		w.want(exitNothing, exitUnknown, exitBottleneck)
		if strings.Contains(w.out.String(), "cache_lock") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(w.story())
		}
	}
	w.want(exitBottleneck)
	w.has(&w.out, "1. ").has(&w.out, "lock_acquisitions").has(&w.out, "; the session goes on.")
	culprit(t, "why", fmt.Sprint(c.cmd.Process.Pid)).want(exitBottleneck)
	all := culprit(t, "sessions").want(exitNothing)
	all.has(&all.out, fmt.Sprintf("culprit %d has measured mutex{%d} for ", c.cmd.Process.Pid, p.PID)).has(&all.out, "cache_lock")
	at := culprit(t, "why", "/", "--pid", fmt.Sprint(p.PID)).want(exitBottleneck)
	at.has(&at.out, "true            ExcessiveSyncWaitingTime: ")
	at = culprit(t, "why-not", fmt.Sprint(p.PID), "/Code/mutex.c/nobody").want(exitUnknown)
	at.has(&at.out, "whether there is such a place or not. The nearest places where one was:")
	own := culprit(t, "why", fmt.Sprint(os.Getpid())).want(exitFailed)
	own.has(&own.errOut, "begin with: culprit attach")
	c.cmd.Process.Signal(os.Interrupt)
	c.want(exitBottleneck)
	c.has(&c.errOut, fmt.Sprintf("uid %d, pid %d attached to %s (pid %d) at ", os.Getuid(), c.cmd.Process.Pid, c.read().Targets[0].Exe, p.PID)).has(&c.errOut, "; socket "+path)
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the socket, or its directory, is left")
	}
	culprit(t, "why", fmt.Sprint(p.PID)).want(exitFailed)
	all = culprit(t, "sessions").want(exitNothing)
	all.has(&all.out, "No measurement goes on that you can ask.")
	asksReport(t, c)
	untouched(t, p)
}

// asksReport has the report of an attachment asked, judged with another threshold, and compared with itself.
func asksReport(t *testing.T, c *tool) {
	t.Helper()
	again := culprit(t, "why", "--report", c.report).want(exitBottleneck)
	again.has(&again.out, "cache_lock")
	all := culprit(t, "why", "--report", c.report, "--set", "PC_SyncThreshold=1000%").want(exitNothing, exitUnknown, exitBottleneck)
	all.has(&all.out, "ExcessiveSyncWaitingTime at the whole program is true, and would be false: ")
	same := culprit(t, "diff", c.report, c.report).want(exitNothing)
	same.has(&same.out, "new, gone, worse or better")
}

// TestWhyAmongSeveral: each session is asked; where two measure a process one has to be named.
func TestWhyAmongSeveral(t *testing.T) {
	dir := sockets(t)
	p := startTarget(t, "sleeper.c")
	first := culprit(t, "assert", "-e", `expect all { cpu < 2; }`, "--for", "10m", fmt.Sprint(p.PID))
	first.awaitSocket(dir)
	w := culprit(t, "why", fmt.Sprint(p.PID)).want(exitNothing)
	w.has(&w.out, "cpu").has(&w.out, "No search was made")
	second := culprit(t, "attach", "--no-tui", "--backend", "sample", "--for", "10m", fmt.Sprint(p.PID))
	second.awaitSocket(dir)
	w = culprit(t, "why", fmt.Sprint(p.PID)).want(exitUsage)
	w.has(&w.errOut, fmt.Sprintf("culprit why %d", first.cmd.Process.Pid)).has(&w.errOut, fmt.Sprintf("culprit why %d", second.cmd.Process.Pid))
	culprit(t, "why", fmt.Sprint(second.cmd.Process.Pid)).want(exitUnknown)
	all := culprit(t, "sessions").want(exitNothing)
	all.has(&all.out, fmt.Sprintf("culprit %d has measured sleeper{%d} for ", first.cmd.Process.Pid, p.PID)).has(&all.out, ": it looks for no bottleneck\n")
	all.has(&all.out, fmt.Sprintf("culprit %d has measured ", second.cmd.Process.Pid))
	// One that is killed leaves its socket, which nobody believes, and which the next session removes.
	second.cmd.Process.Kill()
	second.status()
	culprit(t, "why", fmt.Sprint(second.cmd.Process.Pid)).want(exitFailed)
	culprit(t, "why", fmt.Sprint(p.PID)).want(exitNothing)
	left := filepath.Join(dir, fmt.Sprintf("%d.sock", second.cmd.Process.Pid))
	if _, err := os.Lstat(left); err != nil {
		t.Fatalf("nothing was left to be removed: %v", err)
	}
	culprit(t, "attach", "--no-tui", "--backend", "sample", "--for", "1s", fmt.Sprint(p.PID)).want(exitNothing, exitUnknown)
	if _, err := os.Lstat(left); err == nil {
		t.Error("the socket of a culprit that was killed is still there")
	}
	first.cmd.Process.Signal(os.Interrupt)
	first.want(exitFailed)
	untouched(t, p)
}

// TestNoSocket: with --no-socket nobody can ask, and where there can be no socket the measurement goes on.
func TestNoSocket(t *testing.T) {
	dir := sockets(t)
	p := startTarget(t, "sleeper.c")
	c := culprit(t, "attach", "--no-tui", "--no-socket", "--for", "2s", fmt.Sprint(p.PID)).want(exitNothing, exitUnknown)
	if strings.Contains(c.errOut.String(), "; socket") {
		t.Error(c.story())
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("there is a directory of sockets")
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	c = culprit(t, "attach", "--no-tui", "--for", "2s", fmt.Sprint(p.PID)).want(exitNothing, exitUnknown)
	c.has(&c.errOut, "cannot be asked by other processes (culprit why): "+dir+" is a link")
	untouched(t, p)
}

// TestHostileClients: whatever clients do, the session goes on and ends as it would.
func TestHostileClients(t *testing.T) {
	dir := sockets(t)
	p := startTarget(t, "mutex.c")
	c := culprit(t, "attach", "--no-tui", "--json", "@REPORT", "--for", "6s", fmt.Sprint(p.PID))
	path := c.awaitSocket(dir)
	for range 100 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for _, text := range []string{"snapshot\n", strings.Repeat("x", 1<<20), "\x00\n", "snapshot"} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		conn.Write([]byte(text)) // nothing is read
	}
	c.want(exitBottleneck)
	if r := c.read(); r.End != "time" || !r.RemovedClean || float64(r.Seconds) > 20 {
		t.Errorf("%s, clean %v, %v s", r.End, r.RemovedClean, r.Seconds)
	}
	untouched(t, p)
}

// TestForeignClient: a process of another user cannot ask, not even where the modes of files would let it.
func TestForeignClient(t *testing.T) {
	require.Root(t)
	dir := sockets(t)
	p := startTarget(t, "sleeper.c")
	c := culprit(t, "attach", "--no-tui", "--for", "10m", fmt.Sprint(p.PID))
	path := c.awaitSocket(dir)
	for name, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o755, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	foreign := func(args ...string) string {
		cmd := exec.Command("/proc/self/exe", args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Env, cmd.Dir = append(os.Environ(), beCulprit+"=1", "HOME=/nonexistent", connectTo+"="+path), "/"
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Run()
		return fmt.Sprint(cmd.ProcessState.ExitCode(), " ", out.String())
	}
	if out := foreign("why", fmt.Sprint(p.PID)); !strings.HasPrefix(out, fmt.Sprint(exitFailed)) || !strings.Contains(out, "sudo culprit why") {
		t.Errorf("another user asks: %s", out)
	}
	if out := foreign("connect"); !strings.Contains(out, `"kind":"not_permitted"`) {
		t.Errorf("another user connects: %s", out)
	}
	c.cmd.Process.Signal(os.Interrupt)
	c.want(exitNothing, exitUnknown)
	c.has(&c.errOut, "of uid 65534 may not ask this session, and was refused")
	untouched(t, p)
}

// connectTo names the socket that a process of this test connects to when it is called with "connect".
const connectTo = "CULPRIT_TEST_CONNECT_TO"

// connect sends a request and prints the answer.
func connect(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println(err)
		os.Exit(exitFailed)
	}
	fmt.Fprintln(conn, "snapshot")
	var answer bytes.Buffer
	answer.ReadFrom(conn)
	fmt.Print(answer.String())
	os.Exit(exitNothing)
}

// TestWhyIsToldNonsense: what answers on a socket may be anything. A name with a line end in it makes no line of its own, and one that does not
// answer holds nobody up for long.
func TestWhyIsToldNonsense(t *testing.T) {
	dir := sockets(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, fmt.Sprintf("%d.sock", os.Getpid())))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := `{"schema":1,"seconds":1,"targets":[{"pid":1,"exe":"a\nculprit: all is well"}],"nodes":[],"bottlenecks":[{"node":1,"sentence":"b\nRuled out: \u001b[2J","chain":[]}]}` + "\n"
	answers := make(chan string, 2)
	answers <- said
	answers <- "" // and nothing more
	go func() {
		for text := range answers {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 64))
			c.Write([]byte(text))
			defer c.Close()
		}
	}()
	w := culprit(t, "why", fmt.Sprint(os.Getpid()))
	w.want(exitBottleneck)
	for _, line := range strings.Split(w.out.String(), "\n") {
		if strings.HasPrefix(line, "culprit: ") || strings.HasPrefix(line, "Ruled out: ") || strings.Contains(line, "\x1b") {
			t.Errorf("a line of the answer is %q", line)
		}
	}
	began := time.Now()
	culprit(t, "why", fmt.Sprint(os.Getpid())).want(exitFailed)
	if took := time.Since(began); took > 3*answersWithin {
		t.Errorf("one that does not answer was waited for for %v", took)
	}
}

// TestWhyOfNoProcess: a process that does not exist is said not to, rather than to be attached to.
func TestWhyOfNoProcess(t *testing.T) {
	c := culprit(t, "why", "4194305").want(exitFailed) // beyond the largest number that a process can have
	c.has(&c.errOut, "there is no process 4194305")
}
