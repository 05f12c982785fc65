package daemon

import (
	"fmt"
	"sync"

	"culprit/daemon/kernel"
	"culprit/grid"
)

// An objectTable knows the locks that threads of a target were seen waiting for, and what PCL's $constraint[0] stands for in each: an
// address. What descriptors stand for is the business of the target's fileTable.
type objectTable struct {
	t      *target
	mu     sync.Mutex
	values map[string]uint64 // "SyncObject/Mutex/cache_lock" -> address
	names  map[uint64]string // address of a lock -> its part
}

func newObjectTable(t *target) *objectTable {
	return &objectTable{t: t, values: map[string]uint64{}, names: map[uint64]string{}}
}

// value returns what an object's name stands for. Locks with a symbol need not have been seen waiting.
func (o *objectTable) value(h grid.Hierarchy, elems []string) (uint64, bool) {
	if h == grid.SyncObject && len(elems) > 0 && elems[0] == "Message" {
		return o.message(elems[1:])
	}
	if len(elems) != 2 {
		return 0, false
	}
	if h == grid.IO {
		return o.t.files.number(elems)
	}
	o.mu.Lock()
	v, ok := o.values[h.String()+"/"+elems[0]+"/"+elems[1]]
	o.mu.Unlock()
	if ok || h != grid.SyncObject {
		return v, ok
	}
	return o.t.dataNamed(elems[1])
}

// dataNamed is the address of a variable with a symbol.
func (t *target) dataNamed(name string) (uint64, bool) {
	for _, obj := range t.objects {
		if s, ok := obj.DataNamed(name); ok {
			return s.Addr + obj.bias, true
		}
	}
	return 0, false
}

// A syncKind is a kind of lock: where in it threads wait, by the function that waits.
type syncKind struct {
	name    string
	offsets []uint64 // of the futex words in the object (glibc's nptl/ and sysdeps/nptl/bits)
}

// syncKinds maps the waiting function to what it waits for.
var syncKinds = map[string]syncKind{}

func init() {
	add := func(k syncKind, names ...string) {
		for _, n := range names {
			syncKinds[n] = k
		}
	}
	add(syncKind{"Mutex", []uint64{0}}, "pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "__pthread_mutex_lock", "___pthread_mutex_lock")
	add(syncKind{"RWLock", []uint64{0, 8, 12}}, "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timedrdlock",
		"pthread_rwlock_timedwrlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock")
	add(syncKind{"CondVar", []uint64{40, 44, 36}}, "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait")
	add(syncKind{"Barrier", []uint64{4, 0}}, "pthread_barrier_wait")
	add(syncKind{"Semaphore", []uint64{0, 4}}, "sem_wait", "sem_timedwait", "sem_clockwait")
	add(syncKind{"Thread", nil}, "pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np")
}

// waitedFor names what a blocked thread waits for, and makes it a resource when it is first seen. kind says whether it is
// another thread or a device.
func (o *objectTable) waitedFor(call kernel.BlockedCall, frames []frame, now float64) (part string, kind int) {
	if call.NR == sysFutex {
		return o.lock(call.Args[0], frames), kindSync
	}
	if fdCalls[call.NR] {
		return o.file(int(int32(call.Args[0]))), kindIO
	}
	return "", kindIO
}

// fdCalls are the system calls whose first argument is the descriptor that they wait for.
var fdCalls = map[int]bool{0: true, 1: true, 17: true, 18: true, 19: true, 20: true, 295: true, 296: true, 44: true, 45: true, 46: true, 47: true,
	74: true, 75: true, 277: true, 40: true, 327: true, 328: true}

// lock names the lock that a futex word belongs to.
func (o *objectTable) lock(word uint64, frames []frame) string {
	k, user := waitingIn(frames)
	o.mu.Lock()
	defer o.mu.Unlock()
	if n, ok := o.names[word]; ok {
		return n
	}
	addr, name := o.nameLock(word, k)
	if name == "" {
		name = fmt.Sprintf("%#x", addr)
		if user != nil {
			name += " (" + user.fn.Name + ")"
		}
	}
	return o.learn(grid.SyncObject, k.name, name, addr, word)
}

// waitingIn finds the waiting function on a stack and who called it.
func waitingIn(frames []frame) (k syncKind, user *function) {
	for i, fr := range frames {
		if fr.f == nil {
			continue
		}
		for _, n := range append([]string{fr.f.fn.Name, fr.f.fn.Linkage}, fr.f.fn.Aliases...) {
			if k, ok := syncKinds[n]; ok {
				for _, up := range frames[i+1:] {
					if up.f != nil {
						return k, up.f
					}
				}
				return k, nil
			}
		}
	}
	return syncKind{name: "Futex", offsets: []uint64{0}}, nil
}

// nameLock finds the variable that holds the futex word, and the address of the lock in it.
func (o *objectTable) nameLock(word uint64, k syncKind) (addr uint64, name string) {
	addr = word
	if len(k.offsets) > 0 {
		addr = word - k.offsets[0]
	}
	obj := o.t.dataObjectAt(word)
	if obj == nil {
		return addr, ""
	}
	s, ok := obj.DataAt(word - obj.bias)
	if !ok {
		return addr, ""
	}
	base := s.Addr + obj.bias
	for _, off := range k.offsets {
		if word == base+off {
			return base, s.Name
		}
	}
	return addr, fmt.Sprintf("%s+%#x", s.Name, addr-base)
}

// learn makes an object a resource.
func (o *objectTable) learn(h grid.Hierarchy, kind, name string, value, word uint64) string {
	part := h.String() + "/" + kind + "/" + name
	o.values[part] = value
	if h == grid.SyncObject {
		o.names[word] = part
	}
	o.t.d.tree.Add(h, kind, name)
	return part
}

// file names what a descriptor refers to.
func (o *objectTable) file(fd int) string { return o.t.files.at(fd) }

// dataObjectAt finds the object whose data covers an address.
func (t *target) dataObjectAt(addr uint64) *object { return t.objectAt(addr) }
