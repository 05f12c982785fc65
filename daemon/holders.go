package daemon

import (
	"encoding/binary"
	"sort"
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
func (p *profile) noteHolder(part string, now float64) {
	elems := strings.SplitN(part, "/", 3)
	if len(elems) != 3 || elems[0] != grid.SyncObject.String() {
		return
	}
	ownerAt, ok := libc.OwnerAt(elems[1])
	if !ok || now-p.heldAt < holdEvery {
		return
	}
	p.heldAt = now
	addr, ok := p.t.Locks.Address(elems[1], elems[2])
	var b [4]byte
	if !ok || p.t.Proc.ReadMem(process.Addr(addr+ownerAt), b[:]) != nil {
		return
	}
	tid := int(binary.LittleEndian.Uint32(b[:]))
	name := p.t.Threads.Name(tid)
	p.mu.Lock()
	at := p.runs[tid]
	p.mu.Unlock()
	if call, err := kernel.Blocked(p.t.Proc.PID(), tid); name != "" && err == nil && !call.Running {
		w := p.blocked(call)
		at = stack.OwnFunction(w.Stack.Frames(p.t.Walker))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held.Note(part, name, uint64(at))
}

// Holders tells which threads had the lock that a focus chooses while others waited for it, within the last seconds, the one that had
// it most often first; nil where the focus chooses no POSIX mutex or rwlock, or nobody was seen waiting for it.
func (d *Daemon) Holders(f grid.Focus) (list []grid.Holder) {
	e := f.Elements(grid.SyncObject)
	if len(e) != 2 {
		return nil
	}
	if _, ok := libc.OwnerAt(e[0]); !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		if t.Covers(f) {
			list = append(list, t.profile.holders(grid.SyncObject.String()+"/"+e[0]+"/"+e[1])...)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Share != list[j].Share {
			return list[i].Share > list[j].Share
		}
		return list[i].Thread < list[j].Thread
	})
	return list
}

func (p *profile) holders(part string) (list []grid.Holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held.Of(part, func(id uint64) string {
		if f := p.t.Func(pcl.FuncID(id)); f != nil {
			return f.Fn.Module + "/" + f.Fn.Name
		}
		return ""
	})
}
