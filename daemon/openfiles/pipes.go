package openfiles

import (
	"fmt"
	"slices"
	"time"

	"culprit/daemon/kernel"
)

// A pipe has no name but a number; who is at its other end says more. That is looked up once, when the pipe is first seen in one of the targets,
// and stays its name in all of them: what one process writes to and another reads from is one resource.

// pipeUsers is who had which pipe when all processes were last looked through. The host's lock guards it.
type pipeUsers struct {
	users map[uint64][]int // by inode
	at    time.Time
	names map[uint64]string // by inode
}

// pipesFor is how long what was found is believed of pipes that are not in it.
const pipesFor = time.Second

// of lists the processes that have a pipe.
func (p *pipeUsers) of(inode uint64) []int {
	if _, known := p.users[inode]; !known && time.Since(p.at) > pipesFor {
		p.users = kernel.PipeUsers()
		p.at = time.Now()
	}
	return p.users[inode]
}

// nameOf is the name of a pipe that a process has, with the one that was at its other end when it was first seen. A FIFO has a path.
func (p *pipeUsers) nameOf(to kernel.FD, pid int) string {
	if to.Dev != 0 {
		return to.Name
	}
	name, ok := p.names[to.Inode]
	if !ok {
		if p.names == nil || len(p.names) > maxSeen {
			p.names = map[uint64]string{}
		}
		name = to.Name + withOthers(p.of(to.Inode), pid)
		p.names[to.Inode] = name
	}
	return name
}

// withOthers tells who else than a process has a pipe.
func withOthers(users []int, self int) string {
	others := slices.DeleteFunc(slices.Clone(users), func(pid int) bool { return pid == self })
	if len(others) == 0 {
		return ""
	}
	text := fmt.Sprintf(" with %s[%d]", kernel.Command(others[0]), others[0])
	if len(others) > 1 {
		text += fmt.Sprintf(" and %d more", len(others)-1)
	}
	return text
}
