package kernel

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A ProcessSampler is what a Sampler is, of all threads that a process ever has, and costs nothing when a thread is switched: what
// each processor runs is sampled, whoever's it is, and a program of the kernel (eBPF) keeps the samples of the processes that were
// asked for. It takes CAP_PERFMON and CAP_BPF. Without Close the process goes on to be sampled until the rings are closed.
// It belongs to one goroutine at a time, together with all others of the same Rings.
type ProcessSampler struct {
	of  everywhere
	pid int
}

// everywhere samples what all processors run, by a clock or by ticks.
type everywhere interface {
	ask(pid, hz int) error                  // has a process sampled
	forget(pid int)                         // ends that; a process that is not sampled is no error
	read(func(Sample)) (n int, lost uint64) // what does not come through the rings
	close()
}

// ProcessSampler has a process sampled about hz times per second of processor time (1 to MaxHz): more often where another that shares
// the rings is, less often where the processors' ticks are fewer. Errors say why that cannot be here, or wrap ErrGone.
func (r *Rings) ProcessSampler(pid, hz int) (*ProcessSampler, error) {
	if err := checkRate(hz); err != nil {
		return nil, err
	}
	if r.everywhere == nil && r.nowhere == nil {
		r.everywhere, r.nowhere = newEverywhere(r.rings)
	}
	if r.nowhere != nil {
		return nil, r.nowhere
	}
	if _, err := ListThreads(pid); err != nil {
		return nil, err
	}
	if err := r.everywhere.ask(pid, hz); err != nil {
		r.everywhere.forget(pid)
		return nil, err
	}
	return &ProcessSampler{r.everywhere, pid}, nil
}

// SetRate has the process sampled about hz times a second from now on. Errors are as those of Rings.ProcessSampler.
func (s *ProcessSampler) SetRate(hz int) error {
	if err := checkRate(hz); err != nil {
		return err
	}
	return s.of.ask(s.pid, hz)
}

// Refresh does nothing: all threads are followed.
func (s *ProcessSampler) Refresh([]int) error { return nil }

// Close ends the sampling of the process. It may be called twice.
func (s *ProcessSampler) Close() error {
	s.of.forget(s.pid)
	return nil
}

// firstPIDNamespace is the inode of the first pid namespace (PROC_PID_INIT_INO of linux/proc_ns.h), whose numbers programs see.
const firstPIDNamespace = 0xEFFFFFFC

var errNamespace = errors.New("processes have other numbers in the kernel than in this pid namespace")

// newEverywhere chooses. A clock of perf has no rhythm of the kernel's, but is an interrupt of its own, each of which costs a program
// 100 to 200 us where processors are virtual: there the ticks are taken, which come anyway.
func newEverywhere(rings []*ring) (everywhere, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return nil, fmt.Errorf("which pid namespace this is: %w", err)
	}
	if st.Ino != firstPIDNamespace {
		return nil, errNamespace
	}
	if virtual() {
		if t, err := newTicks(len(rings)); err == nil {
			return t, nil
		}
	}
	p, err := newClocks(rings)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// virtual reports whether the processors are a hypervisor's.
func virtual() bool {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, flags, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "flags" {
			return strings.Contains(flags+" ", " hypervisor ")
		}
	}
	return false
}

// mostAsked is how many processes can be sampled at once.
const mostAsked = 1 << 16
