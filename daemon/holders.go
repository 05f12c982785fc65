package daemon

import (
	"encoding/binary"
	"sort"
	"strings"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/pcl"
)

// Who holds a lock while others wait for it. glibc writes the thread that has a mutex into it, and the one that writes under an
// rwlock; whenever a waiting thread is looked at, so is that word, and what the thread that it names does at the moment.

// holdEvery is how often it is looked who has a lock, all locks together.
const holdEvery = 20 * time.Millisecond

// A heldBy counts looks at the threads that wait for one lock; counts fade as those of stack samples do.
type heldBy struct {
	looks     float64
	threads   map[string]float64 // by name: they may have ended when somebody asks
	functions map[string]map[pcl.FuncID]float64
}

// noteHolder looks who has the lock that a thread waits for.
func (p *profile) noteHolder(part string) {
	o := p.t.locks
	elems := strings.SplitN(part, "/", 3)
	if len(elems) != 3 || elems[0] != grid.SyncObject.String() {
		return
	}
	ownerAt, ok := libc.OwnerAt(elems[1])
	if !ok || time.Since(o.lookedAtHolder) < holdEvery {
		return
	}
	o.lookedAtHolder = time.Now()
	o.mu.Lock()
	addr, ok := o.values[part]
	o.mu.Unlock()
	var b [4]byte
	if !ok || p.t.proc.ReadMem(process.Addr(addr+ownerAt), b[:]) != nil {
		return
	}
	tid := int(binary.LittleEndian.Uint32(b[:]))
	name := p.t.threads.Name(tid)
	p.mu.Lock()
	at := p.runs[tid]
	p.mu.Unlock()
	if call, err := kernel.Blocked(p.t.proc.PID(), tid); name != "" && err == nil && !call.Running {
		st := p.blockedStack(call)
		at = ownFunction(p.t.walk(st.regs, st.mem))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heldLook(part, name, at)
}

// heldLook counts a look. p.mu is held.
func (p *profile) heldLook(part, name string, at pcl.FuncID) {
	h := p.held[part]
	if h == nil {
		h = &heldBy{threads: map[string]float64{}, functions: map[string]map[pcl.FuncID]float64{}}
		p.held[part] = h
	}
	h.looks++
	if name == "" {
		return // let go of in between, or the number of a thread in another namespace
	}
	h.threads[name]++
	if h.functions[name] == nil {
		h.functions[name] = map[pcl.FuncID]float64{}
	}
	if at != 0 {
		h.functions[name][at]++
	}
}

// ownFunction is the innermost function of a stack that is not the C library's; 0 if there is none.
func ownFunction(frames []frame) pcl.FuncID {
	for _, fr := range frames {
		if fr.f != nil && !libc.IsC(fr.f.Obj.Name) {
			return fr.f.ID
		}
	}
	return 0
}

// fadeHeld lets old looks fade. p.mu is held.
func (p *profile) fadeHeld() {
	for part, h := range p.held {
		if h.looks *= fade; h.looks < 0.01 {
			delete(p.held, part)
			continue
		}
		fadeAll(h.threads)
		for name, at := range h.functions {
			if fadeAll(at); h.threads[name] == 0 {
				delete(h.functions, name)
			}
		}
	}
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
		if t.selected(f) {
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
	h := p.held[part]
	if h == nil {
		return nil
	}
	for name, n := range h.threads {
		one := grid.Holder{Thread: name, Share: n / h.looks}
		most := 0.0
		for id, n := range h.functions[name] {
			if f := p.t.Func(id); f != nil && n > most {
				one.Function, most = f.Fn.Module+"/"+f.Fn.Name, n
			}
		}
		list = append(list, one)
	}
	return list
}
