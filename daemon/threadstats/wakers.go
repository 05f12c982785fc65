package threadstats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"culprit/internal/kerneltypes"
)

// A blocked thread says little; who ends its wait says more. The kernel tells of each wake-up in the thread that makes it, before the thread
// that is woken is put into a queue, and here they are counted by both, and by what the thread waited in.

// Keys of the sums: where they have what.
const (
	wakeWaiter  = 0  // 32 bits: number of the thread that waited
	wakeWaker   = 4  // 32 bits: of the one that ended the wait
	wakeArg     = 8  // first argument of the system call that it waited in
	wakeCall    = 16 // 32 bits: number of that, -1 if it is none
	wakeKeySize = 24
)

// Values of the sums.
const (
	wakeCount   = 0 // wake-ups
	wakeProcess = 8 // the process of the thread that ended the wait
	wakeSize    = 16

	maxWakers = 1 << 14 // different ones between two readings; what more there are is not seen
)

// kernelThreads is the flag of threads of the kernel (PF_KTHREAD).
const kernelThreads = 0x00200000

// kernelStack is the size of a thread's stack in the kernel. No other stack lies as near: there is a page between any two.
const kernelStack = 16 << 10

// rEvent has what the program was called with, which lies on the stack that it runs on.
const rEvent = rThread

// A Waking is what one thread did for another since the last reading.
type Waking struct {
	Waiter  int    // thread of a process that is summed
	Call    int    // number of the system call that it waited in, -1 if it was none
	Arg     uint64 // first argument of that: a descriptor, the address of a lock
	Waker   int    // thread that ended its waits; 0 for the kernel: a device, the network, a timer
	Process int    // that the waker is a thread of; 0 for the kernel
	Count   uint64
}

// Wakers sums who ends the waits of the threads of some processes. Without Close it goes on until this process ends, however it ends. Its methods
// may be called from any goroutine.
type Wakers struct {
	mu     sync.Mutex
	maps   *maps
	filter []byte // mapped
	all    []*attached
	pids   []int
	closed bool
}

// OpenWakers loads the program that sums, for no process yet. It takes some 30 ms of CPU time: the kernel's description of its types is read. From
// then on each wake-up on the machine costs some nanoseconds. Its errors are those of [Open]; from inside a pid namespace the numbers of threads
// are not known, which is ErrUnsupported.
func OpenWakers() (*Wakers, error) {
	if err := permitted(); err != nil {
		return nil, err
	}
	if first, err := inFirstNamespace(); err != nil || !first {
		return nil, errors.Join(err, unsupported("who wakes threads cannot be told from inside a pid namespace"))
	}
	types := kerneltypes.Cache()
	s, err := readShape(types)
	if err != nil {
		return nil, err
	}
	w := &Wakers{}
	if w.maps, err = newWakerMaps(); err != nil {
		return nil, err
	}
	if w.filter, err = mapWhole(w.maps.filter.FD(), filterSize); err != nil {
		w.Close()
		return nil, explain("mapping the filter", err)
	}
	k := &Keeper{shape: s, maps: w.maps, types: types}
	if w.all, err = k.attach([]hook{{name: "culprit_waker", points: []string{"sched_waking"}, make: wakers}}); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// newWakerMaps makes the maps of a Wakers.
func newWakerMaps() (m *maps, err error) {
	m = &maps{}
	if m.filter, err = ebpf.NewMap(filterSpec); err == nil {
		m.wakers, err = ebpf.NewMap(&ebpf.MapSpec{Name: "culprit_wakers", Type: ebpf.Hash, KeySize: wakeKeySize, ValueSize: wakeSize, MaxEntries: maxWakers, Flags: unix.BPF_F_NO_PREALLOC})
	}
	if err != nil {
		m.close()
		return nil, explain("making a map", err)
	}
	return m, nil
}

// Places in the frame of the program of wake-ups: a key, and a value.
const (
	atWakeKey   = -40
	atWakeValue = -56
)

// wakers is the program of each wake-up, in the thread that wakes. What an interrupt wakes is put down to the kernel.
func wakers(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.add(asm.Mov.Reg(rEvent, asm.R1), load(rTask, asm.R1, 0, asm.DWord))
	c.leaveUnlessWatched("end")
	c.add(
		load(asm.R1, rTask, int(s.pid), asm.Word),
		store(asm.R10, atWakeKey+wakeWaiter, asm.R1, asm.Word),
		asm.StoreImm(asm.R10, atWakeKey+wakeWaker, 0, asm.Word),
		zero(asm.R10, atWakeKey+wakeArg),
		number(asm.R10, atWakeKey+wakeCall, 0xffffffff),
		number(asm.R10, atWakeValue+wakeCount, 1),
		zero(asm.R10, atWakeValue+wakeProcess),
	)
	c.waiting("end")
	c.waker()
	c.lookup(m.wakers, atWakeKey)
	c.add(asm.JEq.Imm(asm.R0, 0, "new"), asm.Mov.Reg(asm.R2, asm.R0))
	c.count(asm.R2, wakeCount, 1)
	c.add(asm.Ja.Label("end"))
	c.at("new")
	c.add(
		asm.LoadMapPtr(asm.R1, m.wakers.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, atWakeKey),
		asm.Mov.Reg(asm.R3, asm.R10),
		asm.Add.Imm(asm.R3, atWakeValue),
		asm.Mov.Imm(asm.R4, int32(ebpf.UpdateNoExist)),
		asm.FnMapUpdateElem.Call(),
	)
	c.leave("end")
	return c.list
}

// waiting puts into the key what the thread in rTask waits in. It stays -1 where that is no system call.
func (c *code) waiting(end string) {
	c.add(
		asm.Mov.Reg(asm.R1, rTask),
		asm.FnTaskPtRegs.Call(),
		asm.JEq.Imm(asm.R0, 0, end),
		load(asm.R1, asm.R0, int(c.shape.origAX), asm.DWord),
		asm.JSLT.Imm(asm.R1, 0, "waits"),
		store(asm.R10, atWakeKey+wakeCall, asm.R1, asm.Word),
		asm.StoreImm(asm.R10, atWakeKey+wakeCall+4, 0, asm.Word),
		load(asm.R2, asm.R0, int(c.shape.di), asm.DWord),
		store(asm.R10, atWakeKey+wakeArg, asm.R2, asm.DWord),
		asm.JEq.Imm(asm.R1, unix.SYS_NANOSLEEP, "sum"), // only a timer ends it, whomever its interrupt comes upon
		asm.JEq.Imm(asm.R1, unix.SYS_CLOCK_NANOSLEEP, "sum"),
	)
	c.at("waits")
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// waker puts the number of the thread that wakes into the key, and its process into the value; nothing where it is the kernel: while the thread
// computes there is a number below 0 in the place of that of a system call, and an interrupt that comes in a call does not run on the thread's stack.
func (c *code) waker() {
	c.add(
		asm.FnGetCurrentTaskBtf.Call(),
		asm.Mov.Reg(rContext, asm.R0),
		load(asm.R1, rContext, int(c.shape.flags), asm.Word),
		asm.And.Imm(asm.R1, kernelThreads),
		asm.JNE.Imm(asm.R1, 0, "sum"),
		asm.Mov.Reg(asm.R1, rContext),
		asm.FnTaskPtRegs.Call(),
		asm.JEq.Imm(asm.R0, 0, "sum"),
		load(asm.R1, asm.R0, int(c.shape.origAX), asm.DWord),
		asm.JSLT.Imm(asm.R1, 0, "sum"),
		asm.Sub.Reg(asm.R0, rEvent), // the registers of a call lie at the top of its thread's stack
		asm.JLT.Imm(asm.R0, kernelStack, "thread"),
	)
	c.sends("thread", "sum")
	c.at("thread")
	c.add(
		load(asm.R1, rContext, int(c.shape.pid), asm.Word),
		store(asm.R10, atWakeKey+wakeWaker, asm.R1, asm.Word),
		load(asm.R1, rContext, int(c.shape.tgid), asm.Word),
		store(asm.R10, atWakeValue+wakeProcess, asm.R1, asm.DWord),
	)
	c.at("sum")
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// sends goes to thread if an interrupt that came upon a call, whose number R1 has, may be the thread's own doing, and to kernel if not. A packet that
// a thread sends to this machine arrives in such an interrupt, at once. It ends no wait for a disk, and none for a futex.
func (c *code) sends(thread, kernel string) {
	c.add(
		load(asm.R2, rTask, int(c.shape.iowait), asm.Byte),
		asm.And.Imm(asm.R2, c.shape.iowaitMask),
		asm.JNE.Imm(asm.R2, 0, kernel),
		load(asm.R2, asm.R10, atWakeKey+wakeCall, asm.Word),
		asm.JEq.Imm(asm.R2, unix.SYS_FUTEX, kernel),
	)
	for _, call := range sending {
		c.add(asm.JEq.Imm(asm.R1, call, thread))
	}
	c.add(asm.Ja.Label(kernel))
}

// sending are the system calls in which a thread may send something to this machine: who reads tells the sender that there is room again.
var sending = []int32{
	unix.SYS_READ, unix.SYS_READV, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM,
	unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_CONNECT, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_SHUTDOWN,
	unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_DUP2, unix.SYS_DUP3, unix.SYS_SETSOCKOPT, unix.SYS_IO_URING_ENTER, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// Sum has the waits of the threads of these processes summed from now on, and of no others.
func (w *Wakers) Sum(pids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || slices.Equal(pids, w.pids) {
		return
	}
	watched := make([]byte, filterSize)
	for _, pid := range pids {
		watched[pid&(filterSize-1)] = 1
	}
	for i, b := range watched {
		if w.filter[i] != b {
			w.filter[i] = b
		}
	}
	w.pids = slices.Clone(pids)
}

// Take takes what was summed since the last call, in no order. Processes whose numbers have their lowest 16 bits in common with one
// that is summed may be in it.
func (w *Wakers) Take() (list []Waking, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errClosed
	}
	keys, values := make([][wakeKeySize]byte, maxWakers), make([][wakeSize]byte, maxWakers)
	var at ebpf.MapBatchCursor
	n, err := w.maps.wakers.BatchLookupAndDelete(&at, keys, values, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil, fmt.Errorf("reading who woke whom: %w", err)
	}
	word := binary.LittleEndian
	for i := range n {
		key, value := keys[i], values[i]
		list = append(list, Waking{
			Waiter: int(word.Uint32(key[wakeWaiter:])), Waker: int(word.Uint32(key[wakeWaker:])),
			Call: int(int32(word.Uint32(key[wakeCall:]))), Arg: word.Uint64(key[wakeArg:]),
			Process: int(word.Uint64(value[wakeProcess:])), Count: word.Uint64(value[wakeCount:]),
		})
	}
	return list, nil
}

// Close takes the program away.
func (w *Wakers) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	errs := []error{closeAll(w.all)}
	if w.filter != nil {
		errs = append(errs, unmap(w.filter))
	}
	w.maps.close()
	return errors.Join(errs...)
}
