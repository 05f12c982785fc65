package attach

import (
	"fmt"
	"os"

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

// TakenBy says whose segment is in a process already. It is for one that has a segment.
func TakenBy(p *process.Process) *Taken {
	pid, alive, _, err := segment.OwnerOf(p)
	switch {
	case err != nil:
		return &Taken{PID: p.PID()}
	case alive:
		return &Taken{PID: p.PID(), Owner: pid}
	}
	return &Taken{PID: p.PID(), own: pid == os.Getpid()}
}

// Occupied says why Attach would refuse a process: a culprit has its probes in it, or was killed and has left them. It is nil where Attach
// would not refuse it for that, and where the process cannot be looked at. Nothing is disturbed: only the memory of the process is read.
func Occupied(pid int) error {
	p, err := process.Look(pid)
	if err != nil {
		return nil
	}
	defer p.Close()
	if ours, err := segment.Mappings(p); err != nil || len(ours) == 0 || segment.Forked(p) {
		return nil
	}
	return TakenBy(p)
}

// Owned says which culprit that lives has a process; nil if none has, or the process cannot be looked at: to open it for more will say why.
// Asked before anything is done to the process that would disturb that culprit's passes.
func Owned(pid int) error {
	p, err := process.Look(pid)
	if err != nil {
		return nil
	}
	defer p.Close()
	if _, alive, _, err := segment.OwnerOf(p); err != nil || !alive || segment.Forked(p) {
		return nil
	}
	return TakenBy(p)
}
