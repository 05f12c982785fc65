package process

import (
	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
)

// What a culprit that was killed may have left in a target.

// Leftovers are the mappings that tracers which were killed have left: harmless, but ours.
func Leftovers(maps []raw.Mapping) (left []raw.Mapping) { return remote.Leftovers(maps) }

// PassingSockets are the descriptors, among those that the target has open, of sockets that a culprit has left there which was killed
// while it passed a descriptor.
func (p *Process) PassingSockets(open map[int]string) (fds []int) {
	maps, _ := p.Maps() // without them what has names is found
	return remote.PassingSockets(p.pid, &p.mem, maps, open)
}
