package daemon

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/grid"
	"culprit/pcl"
)

// Probes that read a clock of processor time, or memory behind a pointer, make system calls in the target. Where a filter
// (seccomp(2)) may end the target for that, there are none. A program that puts itself under one later is seen at the next pass.

// What probes make system calls for.
const (
	timingCPU     = "timing CPU time"
	readingMemory = "reading memory behind pointers"
)

// asksKernel tells what of the part's probes makes system calls; "" if nothing does.
func (p *part) asksKernel() string {
	plan := p.plan
	for _, v := range plan.Vars {
		if v.Kind == pcl.ProcessTimer && !p.rows {
			return timingCPU
		}
	}
	for i := range plan.Requests {
		for _, in := range plan.Requests[i].Code {
			if reads(in.Expr)+reads(in.Cond) > 0 {
				return readingMemory
			}
		}
	}
	return ""
}

// reads is how often evaluating an expression asks the kernel for memory.
func reads(e *pcl.Expr) (n int) {
	if e == nil {
		return 0
	}
	if e.Op == pcl.ExLoad || e.Op == pcl.ExMatch {
		n = 1
	}
	for _, a := range e.Args {
		n += reads(a)
	}
	return n + reads(e.L) + reads(e.R)
}

// manyThreads and someThreads are of how many threads it is looked whether they are under a filter: when a probe is inserted,
// and five times a second.
const (
	manyThreads = 4096
	someThreads = 16
)

// allowed refuses probes that make system calls in a target that is under a filter, or on a kernel without the call.
func (p *part) allowed() error { return p.t.mayAsk(p.asksKernel()) }

// mayAsk is why probes of the target may not do what makes system calls; what is what asksKernel tells.
func (t *measured) mayAsk(what string) error {
	if what == "" {
		return nil
	}
	if filtered, err := t.Proc.Filtered(manyThreads); t.Seccomp != 0 || filtered || err != nil {
		if err != nil {
			return err
		}
		needs := "a clock without system calls"
		if what != timingCPU {
			needs = "a target whose system calls are not filtered"
		}
		return grid.ErrUnsupported{What: what + " in a program under a seccomp filter", Needs: needs}
	}
	if err := selfRead(); err != nil && what != timingCPU {
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

// watchFilters takes out the probes that make system calls where a target has put itself under a filter since.
func (d *Daemon) watchFilters() {
	filtered := map[*measured]bool{}
	for _, p := range d.pairs {
		kept := p.parts[:0]
		for _, pt := range p.parts {
			if pt.t.keyless != 0 {
				d.switchOut(pt)
				d.logf("%s: %v is no longer measured: thread %d of the program has given up its thread pointer", pt.t.Name, pt.plan.Pair, pt.t.keyless)
				continue
			}
			if s := pt.disturbs(); s != nil {
				d.switchOut(pt)
				pt.goneAt -= lingerTime
				d.hurry.Store(true)
				d.logf("%s: %v is no longer measured: %v", pt.t.Name, pt.plan.Pair, sequenceError(s))
				continue
			}
			if pt.asks && pt.t.filteredSince(filtered) {
				d.giveUp(pt)
				continue
			}
			kept = append(kept, pt)
		}
		p.parts = kept
	}
}

// filteredSince looks once a round.
func (t *measured) filteredSince(seen map[*measured]bool) bool {
	is, ok := seen[t]
	if !ok {
		f, err := t.Proc.Filtered(someThreads)
		is = err == nil && f
		seen[t] = is
	}
	return is
}

// giveUp switches a part off at once; it is taken out within the next seconds. What rows can tell is measured by them from then on.
func (d *Daemon) giveUp(pt *part) {
	d.switchOut(pt)
	if pt.asksKernel() == timingCPU && pt.t.watchRows() == nil {
		pt.t.incomplete = time.Now()
		return
	}
	d.logf("%s: %v is no longer measured: %s makes system calls, and the program has put itself under a seccomp filter", pt.t.Name, pt.plan.Pair, pt.asksKernel())
}
