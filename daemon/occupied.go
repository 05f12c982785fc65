package daemon

import (
	"culprit/daemon/process"
	"culprit/daemon/segment"
)

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
	return occupied(p)
}
