package threadstats

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// extraHooks are the programs that are there while a quantity needs them, in the order in which they are attached.
var extraHooks = [needCount][]hook{
	needFaults: {
		{name: "culprit_trap", points: []string{"page_fault_user", "page_fault_kernel"}, make: trapped},
		{name: "culprit_faulted", events: []uint64{unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ}, make: faulted},
	},
	needCalls: {
		{name: "culprit_call", points: []string{"sys_enter"}, make: calling},
		{name: "culprit_called", points: []string{"sys_exit"}, make: called},
	},
	needAccount: {
		{name: "culprit_account", points: []string{"sched_stat_runtime"}, make: accountedFor},
	},
	needWakeups: {
		{name: "culprit_wakeup", points: []string{"sched_wakeup"}, make: woken},
	},
	needNet: {
		{name: "culprit_sent", points: []string{"sock_send_length"}, make: sent},
		{name: "culprit_received", points: []string{"sock_recv_length"}, make: received},
	},
}

// Need has the programs that the quantity takes attached, if they are not: system calls, faults or sockets then cost every
// process of the machine up to half a microsecond each; wake-ups likewise. The quantities of switches need
// nothing more than a Keeper that does not [Keeper.Rest]. Each Need wants its Release. ErrUnsupported says that this kernel does not know
// the quantity. Faults on processors that come online afterwards are counted at switches only.
func (k *Keeper) Need(q Quantity) error {
	if q >= quantityCount {
		return fmt.Errorf("there is no quantity %d", q)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return errClosed
	}
	if err := k.shape.knows(q); err != nil {
		return err
	}
	return k.needPrograms(quantities[q].need)
}

// NeedAccount has the time off the processor brought up to date whenever the scheduler accounts for a thread that runs, at each tick
// for example, and not only when it is switched: what a hypervisor takes shows within a few milliseconds. It costs every account of
// the scheduler some ten nanoseconds, and one of a watched thread that has run for a while some fifty. Each NeedAccount wants its
// ReleaseAccount.
func (k *Keeper) NeedAccount() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return errClosed
	}
	return k.needPrograms(needAccount)
}

// ReleaseAccount ends a NeedAccount.
func (k *Keeper) ReleaseAccount() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.release(needAccount)
}

// needPrograms attaches the programs of a need, if they are not, and those of switches. k.mu is held.
func (k *Keeper) needPrograms(n need) error {
	if k.resting {
		if err := k.rise(); err != nil {
			return err
		}
	}
	if k.needed[n] == 0 {
		if err := k.attachFor(n); err != nil {
			return err
		}
	}
	k.needed[n]++
	return nil
}

// attachFor attaches the programs of a need, which stay loaded from the first time on. What the rows say of a system call or fault that
// was under way when the programs were detached is wiped out first.
func (k *Keeper) attachFor(n need) (err error) {
	for t := range k.tables {
		t.wipe(n)
	}
	switch {
	case k.extra[n] != nil:
		return attachAgain(k.extra[n])
	case len(extraHooks[n]) > 0:
		k.extra[n], err = k.attach(extraHooks[n])
	}
	return err
}

// wipe forgets the beginnings that belong to a need.
func (t *Table) wipe(n need) {
	off := map[need]int{needCalls: callOff, needFaults: faultOff}[n]
	if off == 0 {
		return
	}
	for i := range t.slots {
		if t.Key(i) != 0 {
			atomic.StoreUint64(word(t.mem, i*RowSize+off), 0)
		}
	}
}

// Release takes the programs of a quantity away when nobody needs them any more. Sums stay as they are.
func (k *Keeper) Release(q Quantity) {
	if q >= quantityCount {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.release(quantities[q].need)
}

// release takes the programs of a need away when nobody has it any more. k.mu is held.
func (k *Keeper) release(n need) {
	if k.closed || k.needed[n] == 0 {
		return
	}
	k.needed[n]--
	k.left = time.Now()
	if k.needed[n] > 0 {
		return
	}
	detachAll(k.extra[n])
	for t := range k.tables {
		t.wipe(n)
	}
}

// knows says why this kernel does not know a quantity.
func (s *shape) knows(q Quantity) error {
	switch {
	case q == BlockBytes && !s.hasIO:
		return unsupported("%s: the kernel does not count them (CONFIG_TASK_IO_ACCOUNTING)", q)
	case (q == NetBytesSent || q == NetBytesReceived) && !s.hasSockets:
		return unsupported("%s: the trace points of sockets came with Linux 6.3", q)
	}
	return nil
}
