package kernel

import "golang.org/x/sys/unix"

// A Mode is whose code a thread ran when a sample of it was taken.
type Mode uint8

// The modes. A fault that the kernel takes while it carries out a system call belongs to the call.
const (
	UnknownMode Mode = iota // the kernel does not tell
	UserMode                // the program's own
	CallMode                // the kernel's, in a system call
	FaultMode               // the kernel's, and in no system call: in a page fault, but for a few in what an interrupt left to do
)

// kernelMode is the mode of a thread that was in the kernel.
func kernelMode(r *Regs) Mode {
	if r.inCall() {
		return CallMode
	}
	return FaultMode
}

// inCall tells whether these are the registers with which a thread entered a system call. The kernel has put -ENOSYS there for the result until
// it has one, and the instruction syscall leaves the address behind it in RCX and the flags in R11 (arch/x86/entry/entry_64.S). A fault
// keeps what the program had in them.
func (r *Regs) inCall() bool {
	return int64(r.AX) == -int64(unix.ENOSYS) || r.CX == r.IP && r.R11 == r.Flags
}

// modeOfMisc is the mode that a record's misc field tells of (PERF_RECORD_MISC_CPUMODE_MASK of linux/perf_event.h).
func modeOfMisc(misc uint16, r *Regs) Mode {
	switch misc & unix.PERF_RECORD_MISC_CPUMODE_MASK {
	case unix.PERF_RECORD_MISC_USER:
		return UserMode
	case unix.PERF_RECORD_MISC_KERNEL:
		return kernelMode(r)
	}
	return UnknownMode
}

// threadStack is the size of a thread's stack in the kernel (THREAD_SIZE of arch/x86/include/asm/page_64_types.h).
const threadStack = 16 << 10

// modeOfStack is the mode of a thread that was interrupted, by how far below the registers with which it had entered the kernel the interrupt is
// handled, modulo 2^64. These lie at the top of the thread's stack. An interrupt of user mode is handled on that stack, which is empty
// else. One of kernel mode is handled on a stack of the processor's (call_on_irqstack_cond of arch/x86/include/asm/irq_stack.h, since Linux 5.8).
func modeOfStack(below uint64, r *Regs) Mode {
	if below < threadStack {
		return UserMode
	}
	return kernelMode(r)
}
