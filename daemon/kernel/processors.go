package kernel

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// A ProcessSampler is what a Sampler is, of all threads that a process ever has, and costs nothing when a thread is switched: events
// sample what each processor runs, whoever's it is, and a program of the kernel (eBPF) keeps the samples of the processes that were
// asked for. It takes CAP_PERFMON and CAP_BPF. Without Close the process goes on to be sampled until the rings are closed.
// It belongs to one goroutine at a time, together with all others of the same Rings.
type ProcessSampler struct {
	p   *processors
	pid int
}

// ProcessSampler has a process sampled hz times per second of processor time (1 to MaxHz), or more often where another that
// shares the rings is. Errors say why that cannot be here, or wrap ErrGone.
func (r *Rings) ProcessSampler(pid, hz int) (*ProcessSampler, error) {
	if err := checkRate(hz); err != nil {
		return nil, err
	}
	if r.everywhere == nil && r.nowhere == nil {
		r.everywhere, r.nowhere = newProcessors(r.rings)
	}
	if r.nowhere != nil {
		return nil, r.nowhere
	}
	if _, err := ListThreads(pid); err != nil {
		return nil, err
	}
	return &ProcessSampler{r.everywhere, pid}, r.everywhere.ask(pid, hz)
}

// Refresh does nothing: all threads are followed.
func (s *ProcessSampler) Refresh([]int) error { return nil }

// Close ends the sampling of the process. It may be called twice.
func (s *ProcessSampler) Close() error {
	s.p.forget(s.pid)
	return nil
}

// processors are the events of all processors, with one program.
type processors struct {
	asked   *ebpf.Map // numbers of processes
	program *ebpf.Program
	events  []int
	hz      map[int]int // by process: how often a second
	rate    int         // the highest of them, which all have
}

// mostAsked is how many processes can be sampled at once.
const mostAsked = 1 << 16

// firstPIDNamespace is the inode of the first pid namespace (PROC_PID_INIT_INO of linux/proc_ns.h), whose numbers programs see.
const firstPIDNamespace = 0xEFFFFFFC

var errNamespace = errors.New("processes have other numbers in the kernel than in this pid namespace")

// newProcessors opens an event on every ring's processor. Nothing is sampled before ask.
func newProcessors(rings []*ring) (*processors, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return nil, fmt.Errorf("which pid namespace this is: %w", err)
	}
	if st.Ino != firstPIDNamespace {
		return nil, errNamespace
	}
	p := &processors{hz: map[int]int{}}
	if err := p.open(rings); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *processors) open(rings []*ring) (err error) {
	p.asked, err = ebpf.NewMap(&ebpf.MapSpec{Name: "culprit_asked", Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: mostAsked, Flags: unix.BPF_F_NO_PREALLOC})
	if err != nil {
		return err
	}
	p.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "culprit_sample", Type: ebpf.PerfEvent, Instructions: ifAsked(p.asked), License: "GPL"})
	if err != nil {
		return err
	}
	for _, r := range rings {
		fd, err := p.openEvent(r)
		if err != nil {
			return err
		}
		p.events = append(p.events, fd)
	}
	return nil
}

// ifAsked is the program: 1, which keeps the sample, if the running process is in the map.
func ifAsked(asked *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32),
		asm.StoreMem(asm.R10, -4, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, asked.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.Mov.Imm(asm.R0, 1),
		asm.Return().WithSymbol("end"),
	}
}

// openEvent opens the event of a ring's processor, which does not count yet.
func (p *processors) openEvent(r *ring) (int, error) {
	attr := clockEvent()
	attr.Sample = uint64(time.Second)
	attr.Bits |= unix.PerfBitDisabled | unix.PerfBitExcludeIdle
	fd, err := unix.PerfEventOpen(&attr, -1, r.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, p.program.FD())
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// ask has a process sampled, at least hz times a second.
func (p *processors) ask(pid, hz int) error {
	if err := p.asked.Put(uint32(pid), uint32(1)); err != nil {
		return fmt.Errorf("sampling process %d: %w", pid, err)
	}
	p.hz[pid] = hz
	return p.setRate()
}

// forget ends that. A process that is not sampled is no error.
func (p *processors) forget(pid int) {
	if _, ok := p.hz[pid]; ok {
		delete(p.hz, pid)
		_ = p.asked.Delete(uint32(pid)) // it is there
		_ = p.setRate()                 // slower, or not at all: where that fails samples come too often, or are thrown away
	}
}

// setRate gives all events the highest rate that somebody wants; none, if nobody does.
func (p *processors) setRate() error {
	rate := 0
	for _, hz := range p.hz {
		rate = max(rate, hz)
	}
	if rate == p.rate {
		return nil
	}
	for _, fd := range p.events {
		if err := setEventRate(fd, rate); err != nil {
			return err
		}
	}
	p.rate = rate
	return nil
}

// setEventRate has an event count, so many times a second, or, for 0, not.
func setEventRate(fd, hz int) error {
	if hz == 0 {
		return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
	}
	period := uint64(time.Second) / uint64(hz)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_PERIOD, uintptr(unsafe.Pointer(&period))); errno != 0 {
		return errno
	}
	return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
}

func (p *processors) close() {
	for _, fd := range p.events {
		unix.Close(fd)
	}
	p.events = nil
	if p.program != nil {
		p.program.Close()
	}
	if p.asked != nil {
		p.asked.Close()
	}
}
