package arch

import "golang.org/x/sys/unix"

// PC is the address of the next instruction of a stopped thread.
func PC(r *unix.PtraceRegs) uint64 { return r.Rip }

// SP is the stack pointer of a stopped thread.
func SP(r *unix.PtraceRegs) uint64 { return r.Rsp }

// ThreadPointer is what tells threads apart: the address of the thread's control block, whose first word is that address (System V ABI, AMD64
// supplement, thread-local storage). Trampolines read it at %fs:0.
func ThreadPointer(r *unix.PtraceRegs) uint64 { return r.Fs_base }

// Calls reports whether a thread that is stopped in a system call is in the one with this number, also where the number is in the register
// of the result: the call will be made again.
func Calls(r *unix.PtraceRegs, nr uint64) bool { return r.Orig_rax == nr || r.Rax == nr }

// FirstArg is the first argument of the system call that a thread is stopped in.
func FirstArg(r *unix.PtraceRegs) uint64 { return r.Rdi }

// Numbers of registers in tables of frames (System V ABI, AMD64 supplement, figure 3.36).
const (
	RBX = 3
	RBP = 6
	RSP = 7
)

// AllRegisters is the set of those whose values tables of frames know, a bit for each.
const AllRegisters = 0xffff
