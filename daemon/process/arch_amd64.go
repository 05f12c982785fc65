package process

import (
	"debug/elf"
	"fmt"

	"culprit/daemon/process/raw"
)

// supportedClass looks at the first bytes of an ELF file.
func supportedClass(id [20]byte) error {
	if string(id[:4]) != elf.ELFMAG {
		return &raw.Unsupported{What: "a program that is not an ELF file"}
	}
	machine := elf.Machine(uint16(id[18]) | uint16(id[19])<<8)
	switch {
	case machine == elf.EM_X86_64 && elf.Class(id[elf.EI_CLASS]) == elf.ELFCLASS64:
		return nil
	case machine == elf.EM_X86_64:
		return &raw.Unsupported{What: "an x32 program", Needs: "a 64-bit x86-64 program"}
	case elf.Class(id[elf.EI_CLASS]) == elf.ELFCLASS32:
		return &raw.Unsupported{What: "a 32-bit program", Needs: "a 64-bit x86-64 program"}
	}
	return &raw.Unsupported{What: fmt.Sprintf("a program for %v", machine), Needs: "a 64-bit x86-64 program"}
}
