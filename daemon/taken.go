package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// A Taken says that probes are in a process already.
type Taken struct {
	PID   int
	Owner int  // the culprit that lives and has it; 0: there is none
	own   bool // this one has left them
}

// Error says whose they are, and what to do.
func (o *Taken) Error() string {
	const already = "probes are in it already: "
	switch {
	case o.Owner != 0:
		return fmt.Sprintf(already+"culprit with pid %d is attached to it; detach that one first (culprit detach %d)", o.Owner, o.PID)
	case o.own:
		return fmt.Sprintf(already+"this culprit inserted them and could not remove them; run culprit restore %d first", o.PID)
	}
	return fmt.Sprintf(already+"an earlier culprit was killed, or could not remove them; run culprit restore %d first", o.PID)
}

// Alive reports whether a culprit that lives has the process.
func (o *Taken) Alive() bool { return o.Owner != 0 }

// occupied says whose segment is in a process already.
func occupied(p *process.Process) error {
	pid, alive, _, err := segment.OwnerOf(p)
	switch {
	case err != nil:
		return &Taken{PID: p.PID()}
	case alive:
		return &Taken{PID: p.PID(), Owner: pid}
	}
	return &Taken{PID: p.PID(), own: pid == os.Getpid()}
}

// turnWait is for how long another culprit is waited for that has a process stopped: it maps its segment, or it is about to leave.
const turnWait = 500 * time.Millisecond

// attachInTurn is attachProbed for a process that another culprit may have stopped at this moment. Whose it is shows when that one has mapped its
// segment.
func (d *Daemon) attachInTurn(pid int) error {
	for end := time.Now().Add(turnWait); ; time.Sleep(5 * time.Millisecond) {
		err := d.attachProbed(pid)
		var traced *process.Traced
		if !errors.As(err, &traced) {
			return err
		}
		other := culpritOf(traced.Tracer)
		switch late := time.Since(end); {
		case other == 0 && (late > turnWait || traced.Still()):
			return err
		case other != 0 && late > 0:
			return &Taken{PID: pid, Owner: other}
		}
	}
}

// culpritOf is the culprit that a tracer is a thread of: it runs the program that we run. 0 if it is none.
func culpritOf(tracer int) (pid int) {
	mine, err := os.Stat("/proc/self/exe")
	if err != nil {
		return 0
	}
	theirs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", tracer))
	if err != nil || !os.SameFile(mine, theirs) {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tracer))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nTgid:")
	number, _, _ := strings.Cut(rest, "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(number)) // of what is none 0
	return pid
}

// whyNot says in a report for what reason a process is only looked at.
func whyNot(err error) string {
	var taken *Taken
	if errors.As(err, &taken) && taken.Alive() {
		return fmt.Sprintf("culprit with pid %d measures it", taken.Owner)
	}
	return err.Error()
}
