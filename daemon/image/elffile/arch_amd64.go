package elffile

import "debug/elf"

// checkMachine says what is wrong with a file that is not for this machine.
func checkMachine(f *elf.File) error {
	switch {
	case f.Class != elf.ELFCLASS64 && f.Machine == elf.EM_X86_64:
		return &ErrUnsupported{What: "the x32 ABI (32-bit ELF)", Needs: "a 64-bit x86-64 ELF file"}
	case f.Class != elf.ELFCLASS64:
		return &ErrUnsupported{What: "a 32-bit ELF file", Needs: "a 64-bit x86-64 ELF file"}
	case f.Machine != elf.EM_X86_64 || f.Data != elf.ELFDATA2LSB:
		return &ErrUnsupported{What: "machine " + f.Machine.String(), Needs: "x86-64"}
	case f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN:
		return &ErrUnsupported{What: "ELF type " + f.Type.String(), Needs: "an executable or a shared object"}
	}
	return nil
}
