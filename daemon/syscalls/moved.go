package syscalls

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// Which calls move data in such a way that a signal makes them return a part. Of the others that read, only those from devices of characters are
// cut: from pipes and sockets a call returns what is there, and files are read to the end.
var (
	cutAlways = []int32{unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_SENDTO, unix.SYS_SENDMSG,
		unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_VMSPLICE, unix.SYS_COPY_FILE_RANGE, unix.SYS_GETRANDOM}
	cutFromDevices = []int32{unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_PREADV, unix.SYS_PREADV2}
)

// kernelOffsets are where the program finds what it needs, in bytes.
type kernelOffsets struct {
	nr, fd, flags, messageFlags int32 // of a call's registers: number, first, fourth and third argument
	files, table, open          int32 // task_struct.files, files_struct.fdt, fdtable.fd
	inode, mode                 int32 // file.f_inode, inode.i_mode
	handlers, action, blocked   int32 // task_struct.sighand, sighand_struct.action, task_struct.blocked
	actionSize                  int32 // of one of sighand_struct.action; the handler comes first
}

func findOffsets(types *btf.Spec) (k kernelOffsets, err error) {
	at := offsets{types: types}
	k = kernelOffsets{
		nr: at.of("pt_regs", "orig_ax"), fd: at.of("pt_regs", "di"), flags: at.of("pt_regs", "r10"), messageFlags: at.of("pt_regs", "dx"),
		files: at.of("task_struct", "files"), table: at.of("files_struct", "fdt"), open: at.of("fdtable", "fd"),
		inode: at.of("file", "f_inode"), mode: at.of("inode", "i_mode"),
		handlers: at.of("task_struct", "sighand"), action: at.of("sighand_struct", "action"), blocked: at.of("task_struct", "blocked"),
		actionSize: at.size("k_sigaction"),
	}
	return k, at.err
}

// transferProgram is the program where system calls end.
func transferProgram(types *btf.Spec, memory int) (*ebpf.ProgramSpec, error) {
	k, err := findOffsets(types)
	if err != nil {
		return nil, err
	}
	list := asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord), // the call's registers
		asm.LoadMem(asm.R2, asm.R1, 8, asm.DWord),
		asm.StoreMem(asm.R10, atResult, asm.R2, asm.DWord),
	}
	list = append(list, findPlace(memory)...)
	list = append(list, held()...)
	list = append(list, k.moved()...)
	list = append(list, note()...)
	list = append(list, k.signal()...)
	list = append(list, asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return())
	return &ebpf.ProgramSpec{Name: "culprit_moves", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "sys_exit", Instructions: list, License: license}, nil
}

// On the program's stack.
const atPointer, atMode, atResult = -8, -16, -24

// findPlace goes on for processes that are looked at: with the thread in r9, and its place in r7.
func findPlace(memory int) asm.Instructions {
	return asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(),
		asm.Mov.Reg32(asm.R9, asm.R0),
		asm.RSh.Imm(asm.R0, 32),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.And.Imm(asm.R1, processPlaces-1),
		asm.LSh.Imm(asm.R1, 3),
		asm.LoadMapValue(asm.R2, memory, 0),
		asm.Add.Reg(asm.R2, asm.R1),
		asm.LoadMem(asm.R1, asm.R2, 0, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R0, "end"),
		asm.Mov.Reg(asm.R1, asm.R9),
		asm.And.Imm(asm.R1, places-1),
		asm.Mul.Imm(asm.R1, threadPlaceSize),
		asm.LoadMapValue(asm.R7, memory, threadsAt),
		asm.Add.Reg(asm.R7, asm.R1),
	}
}

// held gives a thread that is to stop its signal, whatever the call has done; else it goes on for calls that moved enough.
func held() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, asm.R7, atHold, asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R9, "signal 0"),
		asm.LoadMem(asm.R2, asm.R10, atResult, asm.DWord),
		asm.JSLT.Imm(asm.R2, LargePiece, "end"),
	}
}

// moved goes on for calls that a signal cuts.
func (k kernelOffsets) moved() asm.Instructions {
	list := asm.Instructions{asm.LoadMem(asm.R1, asm.R6, int16(k.nr), asm.DWord), asm.Mov.Reg32(asm.R1, asm.R1)}
	for _, nr := range cutAlways {
		list = append(list, asm.JEq.Imm(asm.R1, nr, "moved"))
	}
	for _, nr := range cutFromDevices {
		list = append(list, asm.JEq.Imm(asm.R1, nr, "reads"))
	}
	list = append(list,
		asm.LoadMem(asm.R2, asm.R6, int16(k.flags), asm.DWord),
		asm.JEq.Imm(asm.R1, unix.SYS_RECVFROM, "receives"),
		asm.LoadMem(asm.R2, asm.R6, int16(k.messageFlags), asm.DWord),
		asm.JNE.Imm(asm.R1, unix.SYS_RECVMSG, "end"),
		asm.And.Imm(asm.R2, unix.MSG_WAITALL).WithSymbol("receives"),
		asm.JEq.Imm(asm.R2, 0, "end"),
		asm.Ja.Label("moved"),
		asm.LoadMem(asm.R8, asm.R6, int16(k.fd), asm.DWord).WithSymbol("reads"),
		asm.Mov.Reg32(asm.R8, asm.R8),
		asm.LSh.Imm(asm.R8, 3),
		asm.FnGetCurrentTask.Call(),
		asm.Mov.Reg(asm.R3, asm.R0),
	)
	list = append(list, follow(asm.R3, k.files)...)
	list = append(list, follow(asm.R3, k.table)...)
	list = append(list, follow(asm.R3, k.open)...)
	list = append(list, asm.Add.Reg(asm.R3, asm.R8))
	list = append(list, follow(asm.R3, 0)...)
	list = append(list, follow(asm.R3, k.inode)...)
	return append(list,
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R10, atMode, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, atMode),
		asm.Mov.Imm(asm.R2, 2),
		asm.Add.Imm(asm.R3, k.mode),
		asm.FnProbeReadKernel.Call(),
		asm.LoadMem(asm.R1, asm.R10, atMode, asm.DWord),
		asm.And.Imm(asm.R1, unix.S_IFMT),
		asm.JNE.Imm(asm.R1, unix.S_IFCHR, "end"),
	)
}

// follow reads the pointer that lies behind where r points to, into r. Where nothing can be read it is 0, from where nothing can be read either.
func follow(r asm.Register, offset int32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R10, atPointer, asm.R1, asm.DWord),
		asm.Add.Imm(r, offset),
		asm.Mov.Reg(asm.R3, r),
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, atPointer),
		asm.Mov.Imm(asm.R2, 8),
		asm.FnProbeReadKernel.Call(),
		asm.LoadMem(r, asm.R10, atPointer, asm.DWord),
	}
}

// note writes down that the thread has moved a large piece.
func note() asm.Instructions {
	return asm.Instructions{
		asm.FnKtimeGetNs.Call().WithSymbol("moved"),
		asm.StoreMem(asm.R7, atMoved, asm.R0, asm.DWord),
		asm.StoreMem(asm.R7, atMover, asm.R9, asm.DWord),
		asm.Ja.Label("end"),
	}
}

// signal sends the thread the first of HoldSignals that does nothing to it.
func (k kernelOffsets) signal() (list asm.Instructions) {
	for i, sig := range HoldSignals {
		next := "end"
		if i+1 < len(HoldSignals) {
			next = fmt.Sprintf("signal %d", i+1)
		}
		bit := int32(sig) - 1
		begin := asm.Instructions{asm.FnGetCurrentTask.Call().WithSymbol(fmt.Sprintf("signal %d", i)), asm.Mov.Reg(asm.R8, asm.R0), asm.Mov.Reg(asm.R3, asm.R0)}
		list = append(list, begin...)
		list = append(list, follow(asm.R3, k.blocked)...)
		list = append(list, asm.RSh.Imm(asm.R3, bit), asm.And.Imm(asm.R3, 1), asm.JNE.Imm(asm.R3, 0, next), asm.Mov.Reg(asm.R3, asm.R8))
		list = append(list, follow(asm.R3, k.handlers)...)
		list = append(list, follow(asm.R3, k.action+bit*k.actionSize)...)
		list = append(list, asm.JGT.Imm(asm.R3, 1, next), // SIG_DFL and SIG_IGN are 0 and 1
			asm.Mov.Imm(asm.R1, int32(sig)),
			asm.FnSendSignalThread.Call(),
			asm.JNE.Imm(asm.R0, 0, "end"),
			asm.Mov.Imm(asm.R1, 0),
			asm.StoreMem(asm.R7, atHold, asm.R1, asm.DWord),
			asm.Ja.Label("end"),
		)
	}
	return list
}
