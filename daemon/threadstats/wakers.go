package threadstats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// A blocked thread says little; who ends its wait says more. The kernel tells of each wake-up in the thread that makes it, before the thread
// that is woken is put into a queue, and here they are summed by both.

// Entries of maps.wakers: the numbers of the thread that waited and of the one that ended the wait, 32 bits each.
const (
	wakeKeySize = 8
	wakeCount   = 0  // wake-ups
	wakeTime    = 8  // ns that was waited until then
	wakeProcess = 16 // the process of the thread that ended the wait
	wakeSize    = 24

	maxWakers = 1 << 14 // pairs between two readings; what more there are is not seen
)

// kernelThreads is the flag of threads of the kernel (PF_KTHREAD).
const kernelThreads = 0x00200000

// A Waking is what one thread did for another since the last reading.
type Waking struct {
	Waiter  int // thread of a watched process
	Waker   int // thread that ended its waits; 0 for the kernel: a device, the network, a timer
	Process int // that the waker is a thread of; 0 for the kernel
	Count   uint64
	Waited  time.Duration // until it was woken, all together
}

// wakers is the program of each wake-up, in the thread that wakes. What an interrupt wakes is put down to the kernel, as far as it can be
// told: an interrupt that comes while the program computes leaves a number below 0 where that of a system call stands. One that comes in
// a system call is taken for the thread: so is a packet that the thread sends to this machine itself.
func wakers(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.wakened("end")
	c.add(
		store(asm.R10, atSince, asm.R1, asm.DWord),
		load(asm.R1, rTask, int(s.pid), asm.Word),
		store(asm.R10, atKey, asm.R1, asm.Word),
		asm.StoreImm(asm.R10, atKey+4, 0, asm.Word),
		zero(asm.R10, atTask),
	)
	c.waker()
	c.add(
		asm.FnKtimeGetNs.Call(),
		load(asm.R1, asm.R10, atSince, asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1),
		asm.Mov.Reg(rRow, asm.R0),
		asm.JSGE.Imm(rRow, 0, "sum"),
		asm.Mov.Imm(rRow, 0), // clocks of two processors may differ
	)
	c.at("sum")
	c.lookup(m.wakers, atKey)
	c.add(asm.JEq.Imm(asm.R0, 0, "new"), asm.Mov.Reg(asm.R2, asm.R0))
	c.count(asm.R2, wakeCount, 1)
	c.add(indivisible(asm.AddAtomic, asm.R2, wakeTime, rRow), asm.Ja.Label("end"))
	c.at("new")
	c.add(
		number(asm.R10, atTask-16, 1),
		store(asm.R10, atTask-8, rRow, asm.DWord),
		asm.LoadMapPtr(asm.R1, m.wakers.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, atKey),
		asm.Mov.Reg(asm.R3, asm.R10),
		asm.Add.Imm(asm.R3, atTask-16),
		asm.Mov.Imm(asm.R4, int32(ebpf.UpdateNoExist)),
		asm.FnMapUpdateElem.Call(),
	)
	c.leave("end")
	return c.list
}

// waker puts the number of the thread that wakes behind that of the one that is woken, and its process into the value; nothing where it is the
// kernel.
func (c *code) waker() {
	c.add(
		load(asm.R1, rRow, ownerOff, asm.Word),
		asm.And.Imm(asm.R1, reasonMask),
		asm.JEq.Imm(asm.R1, int32(BlockedSleep), "kernel"), // only a timer ends it, whomever its interrupt comes upon
		asm.FnGetCurrentTaskBtf.Call(),
		asm.Mov.Reg(rContext, asm.R0),
		load(asm.R1, rContext, int(c.shape.flags), asm.Word),
		asm.And.Imm(asm.R1, kernelThreads),
		asm.JNE.Imm(asm.R1, 0, "kernel"),
		asm.Mov.Reg(asm.R1, rContext),
		asm.FnTaskPtRegs.Call(),
		asm.JEq.Imm(asm.R0, 0, "kernel"),
		load(asm.R1, asm.R0, int(c.shape.origAX), asm.DWord),
		asm.JSLT.Imm(asm.R1, 0, "kernel"),
		load(asm.R1, rContext, int(c.shape.pid), asm.Word),
		store(asm.R10, atKey+4, asm.R1, asm.Word),
		load(asm.R1, rContext, int(c.shape.tgid), asm.Word),
		store(asm.R10, atTask, asm.R1, asm.DWord),
	)
	c.at("kernel")
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// NeedWakers has it kept who ends the waits of watched threads. It costs each wake-up of the machine some nanoseconds, and one of a watched
// thread some hundred. Each NeedWakers wants its ReleaseWakers. From inside a pid namespace the numbers of threads are not known, which is
// ErrUnsupported.
func (k *Keeper) NeedWakers() error {
	if first, err := inFirstNamespace(); err != nil || !first {
		return errors.Join(err, unsupported("who wakes threads cannot be told from inside a pid namespace"))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return errClosed
	}
	return k.needPrograms(needWakers)
}

// ReleaseWakers ends a NeedWakers.
func (k *Keeper) ReleaseWakers() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.release(needWakers)
}

// Wakings takes what was summed since the last call, in no order.
func (k *Keeper) Wakings() (list []Waking, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	keys, values := make([][wakeKeySize]byte, maxWakers), make([][wakeSize]byte, maxWakers)
	var at ebpf.MapBatchCursor
	n, err := k.maps.wakers.BatchLookupAndDelete(&at, keys, values, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil, fmt.Errorf("reading who woke whom: %w", err)
	}
	for i := range n {
		key, value := keys[i], values[i]
		list = append(list, Waking{
			Waiter: int(binary.LittleEndian.Uint32(key[:])), Waker: int(binary.LittleEndian.Uint32(key[4:])),
			Process: int(binary.LittleEndian.Uint64(value[wakeProcess:])), Count: binary.LittleEndian.Uint64(value[wakeCount:]),
			Waited: time.Duration(binary.LittleEndian.Uint64(value[wakeTime:])),
		})
	}
	return list, nil
}
