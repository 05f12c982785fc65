package resume

import (
	"sync/atomic"
	"time"

	"culprit/daemon/process/raw"
)

// Calls knows the system calls that threads of one process were broken out of.
type Calls struct {
	pid  int
	mem  *raw.File
	take func(fd int) (own int, err error)

	Alone bool // threads are stopped one by one, to end their calls: files may be read and memory written meanwhile

	deadlines atomic.Pointer[Deadlines] // nil: nobody knows
	waits     map[int]brokenWait        // by thread, of those that go on with restart_syscall
	endings   map[int]time.Duration     // by thread, when waits are over that go on too long
	spent     spentPlaces
}

// New is for a process whose memory is mem. take takes over one of its descriptors.
func New(pid int, mem *raw.File, take func(fd int) (own int, err error)) *Calls {
	return &Calls{pid: pid, mem: mem, take: take, waits: map[int]brokenWait{}, endings: map[int]time.Duration{}}
}
