package sampling

import (
	"encoding/binary"
	"strings"

	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/process"
	"culprit/daemon/stack"
	"culprit/grid"
	"culprit/pcl"
)

// Who holds a lock while others wait for it. glibc writes the thread that has a mutex into it, and the one that writes under an
// rwlock; whenever a waiting thread is looked at, so is that word, and what the thread that it names does at the moment.

// holdEvery is how often it is looked who has a lock, all locks together, in seconds.
const holdEvery = 0.02

// noteHolder looks who has the lock that a thread waits for, at a session time.
func (p *Profile) noteHolder(part string, now float64) {
	elems := strings.SplitN(part, "/", 3)
	if len(elems) != 3 || elems[0] != grid.SyncObject.String() {
		return
	}
	ownerAt, ok := libc.OwnerAt(elems[1])
	if !ok || !p.heldBy.falls(holdEvery, now) {
		return
	}
	addr, ok := p.t.Locks.Address(elems[1], elems[2])
	var b [4]byte
	if !ok || p.t.Proc.ReadMem(process.Addr(addr+ownerAt), b[:]) != nil {
		return
	}
	tid := int(binary.LittleEndian.Uint32(b[:]))
	name := p.t.Threads.Name(tid)
	at := p.ranAt(tid)
	if call, err := kernel.Blocked(p.t.Proc.PID(), tid); name != "" && err == nil && !call.Running {
		w := p.blocked(tid, call)
		at = stack.OwnFunction(p.framesOf(w))
	}
	p.hold(part, name, at)
}

// ranAt is where a thread ran when it was last sampled; 0 if it was not.
func (c *Counts) ranAt(tid int) pcl.FuncID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[tid]
}

// hold counts that a thread had a lock, and where it was.
func (c *Counts) hold(part, thread string, at pcl.FuncID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held.Note(part, thread, uint64(at))
}

// Holders tells which threads had a lock while others waited for it, within the last seconds. part names it as ObjectPart does.
func (c *Counts) Holders(part string) (list []grid.Holder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held.Of(part, func(id uint64) string { return c.functionName(pcl.FuncID(id)) })
}
