package kernel

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// StackBytes is how much of the user stack each sample carries, from the stack pointer upwards.
// Together with the registers it must stay below 64 KiB, the largest record that perf knows.
const StackBytes = 16 << 10

// Regs are the user-mode registers of a sampled thread.
type Regs struct {
	AX, BX, CX, DX, SI, DI, BP, SP, IP, Flags, CS, SS uint64
	R8, R9, R10, R11, R12, R13, R14, R15              uint64
}

// A Sample is one moment of a thread that used a processor.
type Sample struct {
	PID, TID int
	CPU      int
	Time     uint64 // CLOCK_MONOTONIC, ns
	Regs     Regs   // in user mode; where the thread was in the kernel, those with which it entered
	Mode     Mode
	// Stack is the memory from StackAddr (the stack pointer) upwards, at most StackBytes, less where the stack ends.
	// It is valid during the call of Read's function only.
	Stack     []byte
	StackAddr uint64
}

// A Sampler takes samples of the registers and stacks of a process's threads while they use a processor (the software
// event cpu-clock, so it works in virtual machines too). Threads that are blocked cost and give nothing.
//
// Every thread has one event per processor, because one ring per processor is shared by all threads; events open
// as Refresh names threads. Without Close the events stay open and go on costing the target.
// It belongs to one goroutine at a time, together with all others of the same Rings.
type Sampler struct {
	*Rings
	own       bool // the rings are its own
	pid       int
	attr      unix.PerfEventAttr
	userOnly  bool
	paused    bool
	threads   map[int][]int // descriptors by thread
	unsampled int
}

// regsMask asks for AX to SS (bits 0-11) and R8 to R15 (bits 16-23): arch/x86/include/uapi/asm/perf_regs.h.
// DS, ES, FS, GS (bits 12-15) are refused by the kernel in 64-bit mode.
const regsMask = 0xff0fff

const sampleType = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU |
	unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER

// MaxHz bounds the rate of samples: each copies StackBytes.
const MaxHz = 4000

// NewSampler prepares to sample all present threads of the process, each hz times per second of processor time
// (1 to MaxHz). Samples wait in rings until Read. Errors: *NotPermitted, *Unsupported, or one that wraps ErrGone.
func NewSampler(pid, hz int) (*Sampler, error) {
	rings, err := NewRings()
	if err != nil {
		return nil, ExplainSampling(pid, err)
	}
	s, err := rings.Sampler(pid, hz)
	if err != nil {
		rings.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

// Sampler is NewSampler with rings that are shared: all their samples come from Rings.Read, and the rings stay open when the
// sampler is closed.
func (r *Rings) Sampler(pid, hz int) (*Sampler, error) {
	if err := checkRate(hz); err != nil {
		return nil, err
	}
	s := &Sampler{Rings: r, pid: pid, threads: map[int][]int{}}
	s.attr = clockEvent()
	s.attr.Sample = uint64(hz)
	s.attr.Bits |= unix.PerfBitFreq
	err := s.start(r.userOnly)
	if errors.Is(err, os.ErrPermission) && !s.userOnly {
		err = s.start(true) // kernel.perf_event_paranoid = 2 allows to sample user mode only
	}
	if err != nil {
		s.closeEvents()
		return nil, s.explain(err)
	}
	return s, nil
}

func checkRate(hz int) error {
	if hz < 1 || hz > MaxHz {
		return fmt.Errorf("sampling %d times a second: choose 1 to %d", hz, MaxHz)
	}
	return nil
}

// clockEvent is what all events that sample have in common: after so much of a processor's time, registers and stack of the thread.
func clockEvent() unix.PerfEventAttr {
	return unix.PerfEventAttr{
		Type:              unix.PERF_TYPE_SOFTWARE,
		Config:            unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:              uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type:       sampleType,
		Sample_regs_user:  regsMask,
		Sample_stack_user: StackBytes,
		Bits:              unix.PerfBitUseClockID | unix.PerfBitExcludeHv,
		Clockid:           unix.CLOCK_MONOTONIC,
	}
}

func (s *Sampler) start(userOnly bool) error {
	s.closeEvents()
	if s.userOnly = userOnly; userOnly {
		s.attr.Bits |= unix.PerfBitExcludeKernel
	}
	return s.refresh(nil)
}

// UserOnly says that the kernel allows samples in user mode only: time in system calls is not seen.
func (s *Sampler) UserOnly() bool { return s.userOnly }

// Refresh makes the sampler follow exactly these threads of the process, or, with nil, all that it has now. Threads that
// have ended are let go. Where descriptors run out the rest is not sampled; Unsampled tells how many.
func (s *Sampler) Refresh(tids []int) error {
	return s.explain(s.refresh(tids))
}

func (s *Sampler) refresh(tids []int) error {
	if tids == nil {
		var err error
		if tids, err = ListThreads(s.pid); err != nil {
			return err
		}
	}
	wanted := make(map[int]bool, len(tids))
	for _, tid := range tids {
		wanted[tid] = true
	}
	for tid := range s.threads {
		if !wanted[tid] {
			s.drop(tid)
		}
	}
	s.unsampled = 0
	for _, tid := range tids {
		if err := s.follow(tid); err != nil {
			return err
		}
	}
	return nil
}

// follow opens the events of one thread. A thread that ends meanwhile is no error.
func (s *Sampler) follow(tid int) error {
	if s.threads[tid] != nil {
		return nil
	}
	if s.open+len(s.rings) > s.maxOpen {
		s.unsampled++
		return nil
	}
	for _, r := range s.rings {
		fd, err := s.openEvent(tid, r)
		switch err {
		case nil:
			s.threads[tid] = append(s.threads[tid], fd)
			s.open++
		case unix.ESRCH, unix.ENODEV:
		case unix.EMFILE, unix.ENFILE, unix.ENOMEM:
			s.drop(tid)
			s.unsampled++
			return nil
		default:
			s.drop(tid)
			return err
		}
	}
	return nil
}

func (s *Sampler) openEvent(tid int, r *ring) (int, error) {
	s.attr.Bits &^= unix.PerfBitDisabled
	if s.paused {
		s.attr.Bits |= unix.PerfBitDisabled
	}
	fd, err := unix.PerfEventOpen(&s.attr, tid, r.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("sending samples to the ring of CPU %d: %w", r.cpu, err)
	}
	return fd, nil
}

// Pause stops the taking of samples until Resume. A thread with an event that samples costs a timer to be set at each switch
// to it, some microseconds in a virtual machine: for a thread that waits and wakes ten thousand times a second that is a
// lot, however few samples are taken. Threads that Refresh adds meanwhile are not sampled either.
func (s *Sampler) Pause() { s.setPaused(true, unix.PERF_EVENT_IOC_DISABLE) }

// Resume undoes Pause.
func (s *Sampler) Resume() { s.setPaused(false, unix.PERF_EVENT_IOC_ENABLE) }

func (s *Sampler) setPaused(paused bool, request uint) {
	if s.paused == paused {
		return
	}
	s.paused = paused
	for _, fds := range s.threads {
		for _, fd := range fds {
			_ = unix.IoctlSetInt(fd, request, 0) // it cannot fail for an event that is open
		}
	}
}

func (s *Sampler) drop(tid int) {
	for _, fd := range s.threads[tid] {
		unix.Close(fd)
		s.open--
	}
	delete(s.threads, tid)
}

// Unsampled returns how many threads of the last Refresh have no events for want of descriptors.
func (s *Sampler) Unsampled() int { return s.unsampled }

// Threads returns how many threads are followed.
func (s *Sampler) Threads() int { return len(s.threads) }

// Close ends all sampling and gives the rings back, unless they are shared. It may be called twice.
func (s *Sampler) Close() error {
	s.closeEvents()
	if s.own {
		s.Rings.Close()
	}
	return nil
}

func (s *Sampler) closeEvents() {
	for tid := range s.threads {
		s.drop(tid)
	}
}

func (s *Sampler) explain(err error) error { return ExplainSampling(s.pid, err) }

// ExplainSampling says what keeps samples of a process from being taken, and what would help: *NotPermitted, *Unsupported, or the error.
func ExplainSampling(pid int, err error) error {
	what := fmt.Sprintf("sampling the stacks of process %d", pid)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP):
		return &Unsupported{What: what, Needs: "a kernel with CONFIG_PERF_EVENTS and user stack dumps"}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return &NotPermitted{What: what, Remedy: paranoidRemedy(), Err: err}
	}
	return explain(what, err)
}

// paranoidRemedy says what would let this user sample, with the present setting.
func paranoidRemedy() string {
	const remedy = "run as root or with CAP_PERFMON, or for your own processes: sysctl kernel.perf_event_paranoid=1"
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return remedy
	}
	return remedy + " (it is " + strings.TrimSpace(string(text)) + "); in a container, allow perf_event_open in its seccomp profile"
}
