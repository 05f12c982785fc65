package attach

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"culprit/daemon/process"
)

const (
	turnWait  = 500 * time.Millisecond // for another culprit that has a process stopped: it maps its segment, or it is about to leave
	againWait = 5 * time.Second        // for tracers that have let go when they are looked at: who has come in between tries is gone, and on a busy machine a try takes long
)

// InTurn attaches to a process that another culprit may have stopped at this moment. Whose it is shows when that one has mapped its segment.
func InTurn(pid int, attach func(pid int) error) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := attach(pid)
		var traced *process.Traced
		if !errors.As(err, &traced) {
			return err
		}
		other, ends := culpritOf(traced.Tracer)
		switch waited := time.Since(began); {
		case other == 0 && (waited > againWait || !ends && traced.Still()):
			return err
		case other != 0 && waited > turnWait:
			return &Taken{PID: pid, Owner: other}
		}
	}
}

// culpritOf is the culprit that a tracer is a thread of: it runs the program that we run. 0 if it is none; ends says that it runs no program any
// more, since it is about to end.
func culpritOf(tracer int) (pid int, ends bool) {
	mine, err := os.Stat("/proc/self/exe")
	if err != nil {
		return 0, false
	}
	theirs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", tracer))
	if err != nil {
		return 0, errors.Is(err, os.ErrNotExist)
	}
	if !os.SameFile(mine, theirs) {
		return 0, false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tracer))
	if err != nil {
		return 0, errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(text), "\nTgid:")
	number, _, _ := strings.Cut(rest, "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(number)) // of what is none 0
	return pid, false
}
