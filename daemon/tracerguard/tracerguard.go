// Package tracerguard keeps a tracer that somebody stops from holding its targets.
//
// A tracer that is stopped (SIGSTOP) while it holds a target would hold it until it is continued. Nobody can refuse to be stopped, so another
// process watches: it is told when the tracer begins and ends to hold a target, continues a tracer that was stopped in between, and stops it
// again as soon as the target runs. It kills a tracer that it has continued in vain for 5 s: the kernel lets the target go then.
package tracerguard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// What a guard is told.
const (
	begin = 'b'
	end   = 'e'
)

const (
	look    = 100 * time.Millisecond // between two looks at a tracer that holds a target
	patient = 5 * time.Second        // after which a tracer that was continued in vain is killed
)

// A Guard is the tracer's end. A nil one guards nothing. Close ends the process that watches; without it that process ends with the tracer.
type Guard struct {
	mu    sync.Mutex
	holds int // targets that may be held
	pipe  int
	cmd   *exec.Cmd
}

// Start starts the process that watches this one: a command that does Watch.
func Start(cmd *exec.Cmd) (*Guard, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("starting the guard: %w", err)
	}
	theirs := os.NewFile(uintptr(p[0]), "guard")
	defer theirs.Close()
	cmd.Stdin = theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what stops our group must not stop it
	err := unix.SetNonblock(p[1], true)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		unix.Close(p[1])
		return nil, fmt.Errorf("starting the guard: %w", err)
	}
	return &Guard{pipe: p[1], cmd: cmd}, nil
}

// Begin and End enclose the time in which one target may be held; several may be at once.
func (g *Guard) Begin() { g.tell(begin, +1) }
func (g *Guard) End()   { g.tell(end, -1) }

func (g *Guard) tell(what byte, by int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.holds
	g.holds += by
	if (before == 0) != (g.holds == 0) && g.pipe >= 0 {
		unix.Write(g.pipe, []byte{what}) // a guard that was killed guards nothing: no reason not to go on
	}
}

// Close ends the process that watches. It may be called twice.
func (g *Guard) Close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe >= 0 {
		unix.Close(g.pipe)
		g.pipe = -1
		g.cmd.Wait()
	}
}

// Watch watches the parent of this process, by what it reads from standard input, until that ends. It returns the exit status.
func Watch() int {
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	pid := os.Getppid()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 1
	}
	w := watcher{pid: pid, pidfd: fd}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, w.timeout())
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1
		case n == 0:
			w.look()
		case !w.read():
			return 0
		}
	}
}

// A watcher is the guard's end.
type watcher struct {
	pid, pidfd int
	holding    bool      // a target
	since      time.Time // when it was continued first in this stop; zero if it was not
	stopping   bool      // it was stopped between two stops of a target, and may have begun the second before that took effect
}

func (w *watcher) timeout() int {
	switch {
	case !w.holding:
		return -1
	case w.stopping:
		return 1
	}
	return int(look.Milliseconds())
}

// read takes what there is to read; false at its end.
func (w *watcher) read() bool {
	var buf [512]byte
	n, err := unix.Read(0, buf[:])
	if n <= 0 {
		return errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN)
	}
	w.holding = buf[n-1] == begin
	if !w.since.IsZero() && (!w.holding || n > 1) {
		w.since = time.Time{}
		w.stopping = true
		w.signal(unix.SIGSTOP) // as somebody wanted it
	}
	return true
}

// look continues a tracer that is stopped and holds a target.
func (w *watcher) look() {
	if !stopped(w.pid) {
		w.stopping = false
		return
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	if time.Since(w.since) > patient {
		w.signal(unix.SIGKILL)
		return
	}
	w.signal(unix.SIGCONT)
}

func (w *watcher) signal(s unix.Signal) { unix.PidfdSendSignal(w.pidfd, s, nil, 0) }

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	st, err := procfs.ReadStat(pid)
	return err == nil && st.State == 'T'
}
