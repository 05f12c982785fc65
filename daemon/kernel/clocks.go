package kernel

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// clocks are an event of perf on each processor, with one program.
type clocks struct {
	asked   *ebpf.Map // numbers of processes
	program *ebpf.Program
	events  []int
	hz      map[int]int // by process: how often a second
	rate    int         // the highest of them, which all have
}

// newClocks opens an event on every ring's processor. Nothing is sampled before ask.
func newClocks(rings []*ring) (*clocks, error) {
	p := &clocks{hz: map[int]int{}}
	if err := p.open(rings); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// read has nothing: samples come through the rings.
func (p *clocks) read(func(Sample)) (int, uint64) { return 0, 0 }

func (p *clocks) open(rings []*ring) (err error) {
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
func (p *clocks) openEvent(r *ring) (int, error) {
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
func (p *clocks) ask(pid, hz int) error {
	if err := p.asked.Put(uint32(pid), uint32(1)); err != nil {
		return fmt.Errorf("sampling process %d: %w", pid, err)
	}
	p.hz[pid] = hz
	return p.setRate()
}

func (p *clocks) forget(pid int) {
	if _, ok := p.hz[pid]; ok {
		delete(p.hz, pid)
		_ = p.asked.Delete(uint32(pid)) // it is there
		_ = p.setRate()                 // slower, or not at all: where that fails samples come too often, or are thrown away
	}
}

// setRate gives all events the highest rate that somebody wants; none, if nobody does.
func (p *clocks) setRate() error {
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

func (p *clocks) close() {
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
