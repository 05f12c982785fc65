package image

import (
	"bytes"
	"debug/elf"
)

// What the analysis knows of the instruction set and of the conventions of its programs, beside what trampoline/x86 decodes.

// The few opcodes whose operands matter here, as in x86.Inst.Opcode.
const (
	opAddStore = 0x01 // add r, r/m
	opAddLoad  = 0x03 // add r/m, r
	opAddImm   = 0x05 // add $imm32, rax
	opMovsxd   = 0x63
	opPushImm  = 0x68
	opXorLoad  = 0x33
	opPop      = 0x58 // ..5f
	opCmpAlImm = 0x3c
	opCmpImm   = 0x3d
	opGroup8   = 0x80
	opGroup32  = 0x81
	opGroupImm = 0x83
	opMovStore = 0x89
	opMovLoad  = 0x8b
	opLea      = 0x8d
	opCltq     = 0x98
	opMovReg   = 0xb8 // ..bf, mov $imm, r
	opMovMem   = 0xc7
	opInt3     = 0xcc
	opSyscall  = 0x105
	opUD2      = 0x10b
	opGroup5   = 0xff
	opJccShort = 0x70
	opJccNear  = 0x180
)

// noReg stands for a register that is not there.
const noReg = 0xff

// syscallLength is the length of a system call instruction in bytes.
const syscallLength = 2

// callClobbers reports whether a call may change a register: all but rbx, rbp, rsp, r12-r15.
func callClobbers(reg byte) bool { return reg < 12 && reg != 3 && reg != 4 && reg != 5 }

// returnsFromSignal reports whether code holds a way back from signal handlers. Unwinders know it by these bytes, whatever it is called and
// whether or not anything describes it: rt_sigreturn, in the two ways in which its number is loaded.
func returnsFromSignal(code []byte) bool {
	return bytes.Contains(code, []byte("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05")) || bytes.Contains(code, []byte("\xb8\x0f\x00\x00\x00\x0f\x05"))
}

// Relocations of x86-64 (psABI, table 4.9).
const (
	relAddress  = elf.R_X86_64_64        // the address of a symbol
	relGlobal   = elf.R_X86_64_GLOB_DAT  // the address of a symbol, in the global offset table
	relJumpSlot = elf.R_X86_64_JMP_SLOT  // the address of a function, for a linkage stub
	relRelative = elf.R_X86_64_RELATIVE  // an address in the object itself
	relIndirect = elf.R_X86_64_IRELATIVE // what a resolver in the object returns
)
