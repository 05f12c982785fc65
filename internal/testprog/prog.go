package testprog

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ExitOK is the exit status of a target of testdata/targets that found nothing wrong (TARGET_OK of target.h).
const ExitOK = 7

// maxLines bounds what is kept of a program's output; beats are not kept.
const maxLines = 100_000

// A Prog is a started program. Its methods may be called from any goroutine except where they take the test.
// Without its cleanup (which Start registers) the program would stay behind.
type Prog struct {
	PID   int
	Stdin io.WriteCloser // lines to the program; closing it stops a target

	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended and all its output is here

	mu    sync.Mutex
	lines []string
	taken int           // lines before this one were returned by Expect
	beats uint64        // number of BEAT lines
	news  chan struct{} // closed and replaced at every line
	err   string        // standard error, its beginning
	wait  error
}

// Start starts the program and returns at once. It is killed when the test ends.
func Start(t testing.TB, bin string, args ...string) *Prog {
	t.Helper()
	return StartCmd(t, exec.Command(bin, args...))
}

// StartTarget starts a target of testdata/targets and waits until it says READY.
func StartTarget(t testing.TB, bin string, args ...string) *Prog {
	t.Helper()
	p := Start(t, bin, args...)
	p.Expect(t, "READY", 10*time.Second)
	return p
}

// StartCmd is Start for a command with a directory, an environment or attributes of its own. The command's
// standard streams must not be set, except Stderr.
func StartCmd(t testing.TB, cmd *exec.Cmd) *Prog {
	t.Helper()
	p := &Prog{cmd: cmd, done: make(chan struct{}), news: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("testprog: %v", err)
	}
	stdout, theirs, err := os.Pipe()
	if err != nil {
		t.Fatalf("testprog: %v", err)
	}
	defer theirs.Close()
	cmd.Stdout = theirs
	if cmd.Stderr == nil {
		cmd.Stderr = (*firstBytes)(p)
	}
	cmd.WaitDelay = childrenHold
	if err := cmd.Start(); err != nil {
		stdout.Close()
		t.Fatalf("testprog: %v", err)
	}
	p.Stdin, p.PID = stdin, cmd.Process.Pid
	go p.read(stdout)
	t.Cleanup(func() { p.Kill() })
	return p
}

// childrenHold is for how long children of a program that has ended may keep its output open.
const childrenHold = 2 * time.Second

func (p *Prog) read(stdout *os.File) {
	defer stdout.Close()
	go func() {
		p.awaitEnd()
		_ = stdout.SetReadDeadline(time.Now().Add(childrenHold)) // pipes have deadlines
	}()
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		p.take(scanner.Text())
	}
	p.awaitEnd()
	err := p.cmd.Wait()
	p.mu.Lock()
	p.wait = err
	p.mu.Unlock()
	close(p.done)
}

// awaitEnd waits until the program has ended, and leaves it to be waited for: that wait would be told of stops of a tracer in this process.
func (p *Prog) awaitEnd() {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return // it has ended, and was waited for
	}
	defer unix.Close(fd)
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			return
		}
	}
}

func (p *Prog) take(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasPrefix(line, "BEAT ") {
		p.beats++
	} else if len(p.lines) < maxLines {
		p.lines = append(p.lines, line)
	}
	close(p.news)
	p.news = make(chan struct{})
}

// firstBytes keeps the beginning of standard error.
type firstBytes Prog

func (f *firstBytes) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := 4096 - len(f.err); room > 0 {
		f.err += string(b[:min(room, len(b))])
	}
	return len(b), nil
}

// Say sends one line to the program.
func (p *Prog) Say(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(p.Stdin, line+"\n"); err != nil {
		t.Fatalf("testprog: pid %d does not listen to %q: %v%s", p.PID, line, err, p.story())
	}
}

// Expect waits for the next line that begins with prefix and returns it; lines before it are passed over.
func (p *Prog) Expect(t testing.TB, prefix string, timeout time.Duration) string {
	t.Helper()
	deadline := time.After(timeout)
	ended := false
	for {
		p.mu.Lock()
		for p.taken < len(p.lines) {
			line := p.lines[p.taken]
			p.taken++
			if strings.HasPrefix(line, prefix) {
				p.mu.Unlock()
				return line
			}
		}
		news := p.news
		p.mu.Unlock()
		if ended {
			t.Fatalf("testprog: pid %d ended without a line %q%s", p.PID, prefix, p.story())
		}
		select {
		case <-news:
		case <-p.done:
			ended = true
		case <-deadline:
			t.Fatalf("testprog: no line %q from pid %d within %v%s", prefix, p.PID, timeout, p.story())
		}
	}
}

// Lines returns all lines so far, beats left out.
func (p *Prog) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// Beats returns the number of heartbeats so far.
func (p *Prog) Beats() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beats
}

// MustBeat fails the test unless the program's heart beats at least once within the time.
func (p *Prog) MustBeat(t testing.TB, within time.Duration) {
	t.Helper()
	before, deadline := p.Beats(), time.Now().Add(within)
	for p.Beats() == before {
		if time.Now().After(deadline) {
			t.Fatalf("testprog: no heartbeat of pid %d for %v%s", p.PID, within, p.story())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Counts returns the numbers of the program's COUNT lines so far.
func (p *Prog) Counts() map[string]uint64 {
	counts := map[string]uint64{}
	for _, line := range p.Lines() {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "COUNT" {
			if n, err := strconv.ParseUint(f[2], 10, 64); err == nil {
				counts[f[1]] = n
			}
		}
	}
	return counts
}

// Done is closed when the program has ended.
func (p *Prog) Done() <-chan struct{} { return p.done }

// Alive says whether the program still runs.
func (p *Prog) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Wait waits until the program has ended and returns its exit status, or 128 + N if signal N ended it.
func (p *Prog) Wait(t testing.TB, timeout time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(timeout):
		t.Fatalf("testprog: pid %d still runs after %v%s", p.PID, timeout, p.story())
	}
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Stop tells a target to stop, fails the test unless it ends with OK and ExitOK, and returns the hash of its work.
func (p *Prog) Stop(t testing.TB) string {
	t.Helper()
	p.Say(t, "stop")
	return p.Finish(t, 20*time.Second)
}

// Finish is Stop for a target that ends by itself.
func (p *Prog) Finish(t testing.TB, timeout time.Duration) string {
	t.Helper()
	code := p.Wait(t, timeout)
	lines := p.Lines()
	last := ""
	if len(lines) > 0 {
		last = lines[len(lines)-1]
	}
	hash, ok := strings.CutPrefix(last, "OK ")
	if code != ExitOK || !ok {
		t.Fatalf("testprog: pid %d ended with status %d (want %d) and last line %q%s", p.PID, code, ExitOK, last, p.story())
	}
	return hash
}

// Signal sends a signal to the program, and only to it: the process is known by its handle, not by its number.
func (p *Prog) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("testprog: signal %v to pid %d: %v", sig, p.PID, err)
	}
}

// Kill ends the program if it still runs, and waits for it. It is the cleanup of Start; calling it twice is fine.
func (p *Prog) Kill() {
	if p.Alive() {
		p.cmd.Process.Kill()
		p.Stdin.Close()
		<-p.done
	}
}

// story is what the program said, for the message of a failed test.
func (p *Prog) story() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.lines[max(0, len(p.lines)-10):]
	text := fmt.Sprintf("\n  its last lines: %q", lines)
	if p.err != "" {
		text += fmt.Sprintf("\n  its standard error: %q", p.err)
	}
	if p.wait != nil {
		return text + fmt.Sprintf("\n  it ended: %v", p.wait)
	}
	return text + threads(p.PID)
}

// threads says what each thread of a process is at, as far as the kernel tells.
func threads(pid int) (text string) {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range dirs {
		text += "\n  thread " + filepath.Base(dir) + ":"
		status, _ := os.ReadFile(dir + "/status")
		for line := range strings.SplitSeq(string(status), "\n") {
			for _, name := range []string{"State:", "TracerPid:", "SigPnd:", "SigBlk:", "voluntary_ctxt_switches:"} {
				if strings.HasPrefix(line, name) {
					text += " " + strings.Join(strings.Fields(line), " ")
				}
			}
		}
		for _, name := range []string{"wchan", "syscall"} {
			if b, err := os.ReadFile(dir + "/" + name); err == nil {
				text += " " + name + " " + strings.TrimSpace(string(b))
			}
		}
	}
	return text
}
