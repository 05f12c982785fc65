package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// ticks take samples when a processor's timer interrupts whatever it runs: at the scheduler's ticks above all, 100 to 1,000 times a
// second while it is busy. No interrupt comes for us. They share the weakness of all that is bound to ticks: a program that wakes with
// them and sleeps again before the next is never met.
type ticks struct {
	asked   *ebpf.Map // by process: ns between two samples
	pace    *ebpf.Map // of each processor
	samples *ebpf.Map
	program *ebpf.Program
	at      link.Link
	reader  *ringbuf.Reader
	record  ringbuf.Record
	lost    uint64 // that read has told
	most    int32  // distance of two ticks, in ns
}

// A sample as the program writes it.
const (
	tickThread = 0  // process << 32 | thread
	tickTime   = 8  // CLOCK_MONOTONIC
	tickSize   = 16 // bytes of stack
	tickBelow  = 24 // by how much the program's own stack is below the registers
	tickRegs   = 32 // struct pt_regs of the thread when it entered the kernel
	tickStack  = tickRegs + 21*8
	tickEnd    = tickStack + StackBytes
)

// Words of the pace of a processor.
const (
	paceLast = 0  // when the last interrupt was
	paceTime = 8  // that waits for a sample, in ns
	paceLost = 16 // samples for which there was no room
	paceSize = 24
)

// longestTick is the distance of ticks of the slowest kernels, in ns.
const longestTick = 10_000_000

// tickLength is the distance of ticks of this kernel, in ns: its coarse clock goes by them.
func tickLength() int32 {
	var res unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &res) != nil {
		return longestTick
	}
	return int32(min(max(res.Nano(), 1), longestTick))
}

// ringPerCPU is the room for samples: some 60 of each processor.
const ringPerCPU = 1 << 20

// newTicks has timer interrupts handled. Nothing is sampled before ask.
func newTicks(cpus int) (*ticks, error) {
	t := &ticks{most: tickLength()}
	if err := t.open(cpus); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *ticks) open(cpus int) (err error) {
	t.asked, err = ebpf.NewMap(&ebpf.MapSpec{Name: "culprit_asked", Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: mostAsked, Flags: unix.BPF_F_NO_PREALLOC})
	if err != nil {
		return err
	}
	t.pace, err = ebpf.NewMap(&ebpf.MapSpec{Name: "culprit_pace", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: paceSize, MaxEntries: 1})
	if err != nil {
		return err
	}
	room := ringPerCPU
	for room < cpus*ringPerCPU && room < 64*ringPerCPU {
		room *= 2
	}
	t.samples, err = ebpf.NewMap(&ebpf.MapSpec{Name: "culprit_samples", Type: ebpf.RingBuf, MaxEntries: uint32(room)})
	if err != nil {
		return err
	}
	t.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "culprit_tick", Type: ebpf.RawTracepoint, Instructions: t.atTick(), License: "GPL"})
	if err != nil {
		return err
	}
	if t.reader, err = ringbuf.NewReader(t.samples); err != nil {
		return err
	}
	t.at, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "local_timer_entry", Program: t.program})
	return err
}

// atTick is the program. R6 is the time between two samples of the process, R7 the processor's pace, R8 the time, R9 the sample.
func (t *ticks) atTick() asm.Instructions {
	list := asm.Instructions{
		asm.StoreMem(asm.R10, -32, asm.R1, asm.DWord), // its argument lies on the stack on which it runs
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.R10, -8, asm.R0, asm.DWord),
		asm.JEq.Imm(asm.R0, 0, "end"),
	}
	list = append(append(list, t.since()...),
		asm.LoadMem(asm.R0, asm.R10, -8, asm.DWord),
		asm.RSh.Imm(asm.R0, 32),
		asm.StoreMem(asm.R10, -12, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, t.asked.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, -12),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.LoadMem(asm.R6, asm.R0, 0, asm.DWord),
		asm.LoadMem(asm.R1, asm.R10, -24, asm.DWord),
	)
	list = append(list, t.ifDue()...)
	list = append(list,
		asm.LoadMapPtr(asm.R1, t.samples.FD()),
		asm.Mov.Imm(asm.R2, tickEnd),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.Mov.Reg(asm.R9, asm.R0),
		asm.JEq.Imm(asm.R9, 0, "full"),
		asm.LoadMem(asm.R1, asm.R10, -8, asm.DWord),
		asm.StoreMem(asm.R9, tickThread, asm.R1, asm.DWord),
		asm.StoreMem(asm.R9, tickTime, asm.R8, asm.DWord),
		asm.FnGetCurrentTaskBtf.Call(),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.FnTaskPtRegs.Call(),
		asm.Mov.Reg(asm.R3, asm.R0),
		asm.LoadMem(asm.R1, asm.R10, -32, asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1),
		asm.StoreMem(asm.R9, tickBelow, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R9),
		asm.Add.Imm(asm.R1, tickRegs),
		asm.Mov.Imm(asm.R2, tickStack-tickRegs),
		asm.FnProbeReadKernel.Call(),
	)
	list = append(list, copyStack()...)
	return append(list,
		asm.StoreMem(asm.R9, tickSize, asm.R6, asm.DWord).WithSymbol("copied"),
		asm.Mov.Reg(asm.R1, asm.R9),
		asm.Mov.Imm(asm.R2, unix.BPF_RB_NO_WAKEUP),
		asm.FnRingbufSubmit.Call(),
		asm.Ja.Label("end"),
		asm.LoadMem(asm.R1, asm.R7, paceLost, asm.DWord).WithSymbol("full"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, paceLost, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
		asm.Return(),
	)
}

// ifDue ends the program before it is time for the next sample: the time between two interrupts of a processor counts for whom the second
// meets, and when there is enough of it for a sample, one is taken. So in the mean they come as often as they should, whatever the
// distance of ticks, and whoever else runs on the processor.
func (t *ticks) ifDue() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R2, asm.R7, paceTime, asm.DWord),
		asm.Add.Reg(asm.R1, asm.R2),
		asm.JGE.Reg(asm.R1, asm.R6, "enough"),
		asm.StoreMem(asm.R7, paceTime, asm.R1, asm.DWord),
		asm.Ja.Label("end"),
		asm.Sub.Reg(asm.R1, asm.R6).WithSymbol("enough"),
		asm.JLT.Reg(asm.R1, asm.R6, "due"),
		asm.Mov.Reg(asm.R1, asm.R6), // ticks are rarer than samples should be
		asm.StoreMem(asm.R7, paceTime, asm.R1, asm.DWord).WithSymbol("due"),
	}
}

// since leaves in R7 the processor's pace, in R8 the time, and in R1 the time since the last interrupt of a thread, which is that of a tick
// at most: where there is no work, ticks stop. Interrupts of idle processors are no measure: somebody's timers may be hundreds of times
// more than the ticks that can meet a program that these timers, or their owner, wake.
func (t *ticks) since() asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.R10, -12, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, t.pace.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, -12),
		asm.FnMapLookupElem.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.JEq.Imm(asm.R7, 0, "end"),
		asm.FnKtimeGetNs.Call(),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.LoadMem(asm.R2, asm.R7, paceLast, asm.DWord),
		asm.StoreMem(asm.R7, paceLast, asm.R8, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R8),
		asm.Sub.Reg(asm.R1, asm.R2),
		asm.JLE.Imm(asm.R1, t.most, "short"),
		asm.Mov.Imm(asm.R1, t.most),
		asm.StoreMem(asm.R10, -24, asm.R1, asm.DWord).WithSymbol("short"),
	}
}

// copyStack copies as much of the stack as there is, to 256 bytes: it ends anywhere, and of a piece all is copied or nothing. It leaves in
// R6 how much.
func copyStack() asm.Instructions {
	list := asm.Instructions{asm.Mov.Imm(asm.R6, 0)}
	for size := int32(StackBytes); size >= 256; size /= 2 {
		next := fmt.Sprintf("below_%d", size)
		list = append(list,
			asm.Mov.Reg(asm.R1, asm.R9),
			asm.Add.Imm(asm.R1, tickStack),
			asm.Add.Reg(asm.R1, asm.R6),
			asm.Mov.Imm(asm.R2, size),
			asm.LoadMem(asm.R3, asm.R9, tickRegs+regSP, asm.DWord),
			asm.Add.Reg(asm.R3, asm.R6),
			asm.FnProbeReadUser.Call(),
			asm.JNE.Imm(asm.R0, 0, next),
			asm.Add.Imm(asm.R6, size),
		)
		if size == StackBytes {
			list = append(list, asm.Ja.Label("copied"))
		}
		list = append(list, asm.Mov.Reg(asm.R0, asm.R0).WithSymbol(next))
	}
	return list
}

// ask has a process sampled hz times a second, if there are as many ticks.
func (t *ticks) ask(pid, hz int) error {
	if err := t.asked.Put(uint32(pid), uint64(time.Second)/uint64(hz)); err != nil {
		return fmt.Errorf("sampling process %d: %w", pid, err)
	}
	return nil
}

func (t *ticks) forget(pid int) {
	_ = t.asked.Delete(uint32(pid)) // it may be forgotten already
}

// read hands over what has come.
func (t *ticks) read(f func(Sample)) (n int, lost uint64) {
	for t.reader.AvailableBytes() > 0 {
		t.reader.SetDeadline(time.Unix(1, 0)) // what is there, and no more
		if err := t.reader.ReadInto(&t.record); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				continue
			}
			break
		}
		if s, ok := parseTick(t.record.RawSample); ok {
			n++
			f(s)
		}
	}
	return n, t.newlyLost()
}

// newlyLost is how many samples more there was no room for.
func (t *ticks) newlyLost() uint64 {
	var of [][paceSize / 8]uint64
	if t.pace.Lookup(uint32(0), &of) != nil {
		return 0
	}
	var sum uint64
	for _, p := range of {
		sum += p[paceLost/8]
	}
	more := sum - t.lost
	t.lost = sum
	return more
}

// regSP is where in struct pt_regs the stack pointer is, regCS the code segment: user64 in 64-bit programs.
const (
	regCS  = 17 * 8
	regSP  = 19 * 8
	user64 = 0x33
)

// parseTick reads a sample. It refuses those of 32-bit programs.
func parseTick(b []byte) (s Sample, ok bool) {
	if len(b) < tickEnd {
		return s, false
	}
	word := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	if word(tickRegs+regCS) != user64 {
		return s, false
	}
	s.PID, s.TID, s.Time = int(word(tickThread)>>32), int(uint32(word(tickThread))), word(tickTime)
	for i, p := range []*uint64{&s.Regs.R15, &s.Regs.R14, &s.Regs.R13, &s.Regs.R12, &s.Regs.BP, &s.Regs.BX, &s.Regs.R11, &s.Regs.R10, &s.Regs.R9, &s.Regs.R8,
		&s.Regs.AX, &s.Regs.CX, &s.Regs.DX, &s.Regs.SI, &s.Regs.DI, nil, &s.Regs.IP, &s.Regs.CS, &s.Regs.Flags, &s.Regs.SP, &s.Regs.SS} {
		if p != nil { // one is the number of the system call
			*p = word(tickRegs + 8*i)
		}
	}
	s.Mode = modeOfStack(word(tickBelow), &s.Regs)
	s.StackAddr = s.Regs.SP
	s.Stack = b[tickStack:][:min(word(tickSize), StackBytes)]
	return s, true
}

func (t *ticks) close() {
	if t.at != nil {
		t.at.Close()
	}
	if t.reader != nil {
		t.reader.Close()
	}
	if t.program != nil {
		t.program.Close()
	}
	for _, m := range []*ebpf.Map{t.samples, t.pace, t.asked} {
		if m != nil {
			m.Close()
		}
	}
}
