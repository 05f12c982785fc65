package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// ending are the signals that end a session as it ends by itself, with all probes removed: whatever would end a program at once when
// somebody sends it. Those that a processor's fault sends are among them: from a fault of our own they never come this way (package
// os/signal). What is missing cannot be caught (SIGKILL, SIGSTOP), does nothing to a Go program (SIGALRM, SIGUSR1 and so on), or stops it
// for a while only, which a guard sees to (SIGTSTP, SIGTTIN, SIGTTOU).
var ending = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGXCPU, syscall.SIGABRT, syscall.SIGSYS,
	syscall.SIGTRAP, syscall.SIGSTKFLT, syscall.SIGILL, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV}

// sameGesture is how long after the first signal others are taken for the same wish: a closed terminal, `timeout` and systemd send several.
const sameGesture = time.Second

// interruptible gives a context that ends at the first signal that ends a program; then the session ends as usual, with all
// probes removed. At one that comes later the program ends at once; what it left in the targets is harmless, and the message says
// how to remove it. A closed pipe on the output is an error of the write, not the end of the program: probes come first.
func interruptible(ctx context.Context, pids []int) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	sigs := make(chan os.Signal, 4)
	done := make(chan struct{})
	signal.Notify(sigs, ending...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case s := <-sigs:
				switch {
				case first.IsZero():
					first = time.Now()
				case time.Since(first) > sameGesture:
					forced(s, pids)
				}
				cancel()
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(done)
		cancel()
		time.AfterFunc(sameGesture, func() { signal.Stop(sigs) }) // what is to be said of the session is not lost to its last signal
	})
}

// forced ends the program without waiting for the probes to be removed.
func forced(s os.Signal, pids []int) {
	text := "nothing is left in the measured processes"
	var list []string
	for _, p := range pids {
		if _, _, found, err := segment.Owner(p); found || err != nil && !errors.Is(err, process.ErrNotFound) {
			list = append(list, "culprit restore "+strconv.Itoa(p))
		}
	}
	if len(list) > 0 {
		text = "probes may be left: " + strings.Join(list, "; ")
	}
	warnf("culprit: forced to end by a second signal (%v); %s", s, text)
	warnings.flush()
	os.Exit(exitFailed)
}
