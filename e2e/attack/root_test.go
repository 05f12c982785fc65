package attack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	// patience is for how long a command may run, apart from what it waits for a processor: it measures for 20 s, and tries for 10 s to leave,
	// and then for 10 s once more from what the target carries.
	patience = 45 * time.Second
	memory   = 1 << 30 // bytes that it may use
)

// A command is one culprit that root has started.
type command struct {
	w     *worker
	cmd   *exec.Cmd
	out   bytes.Buffer // standard output and error
	began time.Time
	done  chan struct{}
	ended syscall.Signal // with which this test has asked it to end
	most  int64          // memory seen, in bytes
}

// root starts culprit.
func (w *worker) root(fault string, args ...string) *command {
	c := &command{w: w, cmd: exec.Command(w.culprit, args...), began: time.Now(), done: make(chan struct{})}
	c.cmd.Dir = w.empty
	c.cmd.Env = append(os.Environ(), "HOME="+w.home, "XDG_CONFIG_HOME="+w.home, "XDG_CACHE_HOME="+w.home, "TMPDIR="+w.tmp)
	if fault != "" {
		c.cmd.Env = append(c.cmd.Env, "CULPRIT_FAULT="+fault)
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	c.cmd.WaitDelay = 2 * time.Second // a child of the attacker may have the pipe
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // what it was is in the state
		close(c.done)
	}()
	return c
}

// end waits for the command's end, and sees to its memory and time. A culprit that a fault point has stopped is told to go on, as its
// user would.
func (c *command) end() {
	for looked := 0; ; looked++ {
		select {
		case <-c.done:
			c.judge()
			return
		case <-time.After(50 * time.Millisecond):
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid)) // gone, if it has ended just now
		c.most = max(c.most, kib(status, "VmHWM"))
		if bytes.Contains(status, []byte("State:\tT (stopped)")) && looked%10 == 9 {
			_ = c.cmd.Process.Signal(syscall.SIGCONT)
		}
		if c.most > memory {
			c.w.harm("memory", "%v used %d MiB after %v: %s", c.cmd.Args[1:], c.most>>20, time.Since(c.began), c.tail())
			c.kill()
		} else if took := time.Since(c.began); took > patience && took-c.waited() > patience && c.ended != syscall.SIGKILL {
			said := c.tail()
			c.w.harm("time", "%v still runs after %v: %s\nit is in\n%s", c.cmd.Args[1:], took, said, c.frames())
		}
	}
}

// waited is how long the command has waited for a processor that others had: what its thread did that waited most.
func (c *command) waited() (most time.Duration) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.cmd.Process.Pid))
	for _, stat := range stats {
		text, _ := os.ReadFile(stat) // gone, if the thread has ended
		if fields := strings.Fields(string(text)); len(fields) == 3 {
			ns, _ := strconv.ParseInt(fields[1], 10, 64)
			most = max(most, time.Duration(ns))
		}
	}
	return most
}

// interrupt asks the command to end. One that is about to end anyway may end by the signal.
func (c *command) interrupt() {
	c.ended = syscall.SIGINT
	_ = c.cmd.Process.Signal(syscall.SIGINT)
}

func (c *command) kill() {
	c.ended = syscall.SIGKILL
	_ = c.cmd.Process.Kill() // fails if it has just ended
	<-c.done
}

// frames ends the command and says which functions of its own it was in, as the Go runtime tells it.
func (c *command) frames() string {
	c.ended = syscall.SIGKILL // it ends with status 2 or is killed
	_ = c.cmd.Process.Signal(syscall.SIGABRT)
	select {
	case <-c.done:
	case <-time.After(5 * time.Second):
		c.kill()
	}
	text := c.out.String()
	frames := regexp.MustCompile(`(?m)^(goroutine .*|culprit/.*)$`).FindAllString(text, 200)
	c.out.Reset() // it is no crash
	return strings.Join(frames, "\n")
}

func kib(status []byte, field string) int64 {
	_, rest, _ := bytes.Cut(status, []byte(field+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(line)), " kB"), 10, 64)
	return n << 10
}

func (c *command) tail() string {
	text := c.out.String()
	return fmt.Sprintf("%.600q", text[max(0, len(text)-600):])
}

var crash = regexp.MustCompile(`(?m)^panic:|^fatal error:|BUG:|^goroutine \d+ \[|SIGSEGV: |SIGBUS: |unexpected fault address`)

// long finds pauses of three seconds and more. None may last longer than half a second; a fault point adds a second.
var long = regexp.MustCompile(`(?:were paused for|stopped within) (?:(?:[3-9]|\d\d+)(?:\.\d+)?s|\d+m\d).*`)

// raw finds what must not come to a terminal: control bytes, and characters that turn the text around.
var raw = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069]")

// loader finds what the C library's loader writes for a child of the attacker that it cannot start: it names the child by its argv[0]. "run" shares
// its terminal with the program that it starts, so this is the program's own output.
var loader = regexp.MustCompile(`(?m)^.*: error while loading shared libraries: .*$`)

// judge looks at how the command ended and at what it said.
func (c *command) judge() {
	text := loader.ReplaceAllString(c.out.String(), "")
	state := c.cmd.ProcessState
	if *onlyFlag >= 0 {
		c.w.t.Logf("%v ended with %v after %v:\n%q", c.cmd.Args[1:], state, time.Since(c.began), text)
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() != c.ended && !(ws.Signal() == syscall.SIGKILL && c.faultKills()) {
		c.w.harm("signal", "%v was ended by signal %v: %s", c.cmd.Args[1:], ws.Signal(), c.tail())
	}
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok && ru.Maxrss<<10 > memory && c.ended != syscall.SIGKILL {
		c.w.harm("memory", "%v used %d MiB", c.cmd.Args[1:], ru.Maxrss>>10)
	}
	if m := crash.FindString(text); m != "" {
		at := strings.Index(text, m)
		c.w.harm("crash", "%v: %.1500s", c.cmd.Args[1:], text[at:])
	}
	if m := long.FindString(text); m != "" {
		c.w.harm("pause", "%v: %.500s", c.cmd.Args[1:], m)
	}
	if m := raw.FindStringIndex(text); m != nil {
		c.w.harm("terminal", "%v: %.200q", c.cmd.Args[1:], text[max(0, m[0]-100):])
	} else if !utf8.ValidString(text) {
		c.w.harm("terminal", "%v: bytes that are no UTF-8 in %.500q", c.cmd.Args[1:], text)
	}
}

func (c *command) faultKills() bool {
	for _, v := range c.cmd.Env {
		if strings.HasPrefix(v, "CULPRIT_FAULT=") {
			return strings.HasSuffix(v, ":kill-self")
		}
	}
	return false
}
