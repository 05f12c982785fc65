package probe

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/daemon/target"
	"culprit/grid"
	"culprit/pcl"
)

// Probes that read a clock of processor time, or memory behind a pointer, make system calls in the target. Where a filter (seccomp(2)) may end
// the target for that, there are none.

// What probes make system calls for.
const (
	TimingCPU     = "timing CPU time"
	ReadingMemory = "reading memory behind pointers"
)

// AsksKernel tells what of the probes makes system calls; "" if nothing does.
func (l *Layout) AsksKernel() string {
	for _, v := range l.Plan.Vars {
		if v.Kind == pcl.ProcessTimer && !l.Rows {
			return TimingCPU
		}
	}
	for i := range l.Plan.Requests {
		for _, in := range l.Plan.Requests[i].Code {
			if Reads(in.Expr)+Reads(in.Cond) > 0 {
				return ReadingMemory
			}
		}
	}
	return ""
}

// Reads is how often evaluating an expression asks the kernel for memory.
func Reads(e *pcl.Expr) (n int) {
	if e == nil {
		return 0
	}
	if e.Op == pcl.ExLoad || e.Op == pcl.ExMatch || e.Op == pcl.ExPath {
		n = 1
	}
	for _, a := range e.Args {
		n += Reads(a)
	}
	return n + Reads(e.L) + Reads(e.R)
}

// manyThreads is of how many threads it is looked whether they are under a filter before a probe is inserted.
const manyThreads = 4096

// MayAsk is why probes of the target may not do what makes system calls: it is under a filter, or the kernel lacks the call. what is what
// AsksKernel tells.
func MayAsk(t *target.Target, what string) error {
	if what == "" {
		return nil
	}
	if filtered, err := t.Proc.Filtered(manyThreads); t.Seccomp != 0 || filtered || err != nil {
		if err != nil {
			return err
		}
		needs := "a clock without system calls"
		if what != TimingCPU {
			needs = "a target whose system calls are not filtered"
		}
		return grid.ErrUnsupported{What: what + " in a program under a seccomp filter", Needs: needs}
	}
	if err := selfRead(); err != nil && what != TimingCPU {
		return grid.ErrUnsupported{What: what, Needs: "a kernel with process_vm_readv (CONFIG_CROSS_MEMORY_ATTACH): " + err.Error()}
	}
	return nil
}

// selfRead is whether the system call works by which probes read memory.
var selfRead = sync.OnceValue(readSelf)

// selfReadFrom does not move, as what is on a stack may.
var selfReadFrom [8]byte

// readSelf makes the call of one probe.
func readSelf() error {
	var to [8]byte
	_, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &to[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&selfReadFrom[0])), Len: 8}}, 0)
	return err
}
