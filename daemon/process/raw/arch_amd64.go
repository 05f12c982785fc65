package raw

import (
	"debug/elf"
	"fmt"
)

// SyscallLength is the length of the instruction syscall (0f 05) in bytes.
const SyscallLength = 2

// SupportedClass refuses, by the first bytes of its file, what is no program of 64 bits for this machine.
func SupportedClass(id [20]byte) error {
	if string(id[:4]) != elf.ELFMAG {
		return &Unsupported{What: "a program that is not an ELF file"}
	}
	machine := elf.Machine(uint16(id[18]) | uint16(id[19])<<8)
	switch {
	case machine == elf.EM_X86_64 && elf.Class(id[elf.EI_CLASS]) == elf.ELFCLASS64:
		return nil
	case machine == elf.EM_X86_64:
		return &Unsupported{What: "an x32 program", Needs: "a 64-bit x86-64 program"}
	case elf.Class(id[elf.EI_CLASS]) == elf.ELFCLASS32:
		return &Unsupported{What: "a 32-bit program", Needs: "a 64-bit x86-64 program"}
	}
	return &Unsupported{What: fmt.Sprintf("a program for %v", machine), Needs: "a 64-bit x86-64 program"}
}
