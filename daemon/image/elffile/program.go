package elffile

import "debug/elf"

// isProgram reports whether the object is a program, as opposed to a library. Some libraries can be run too (libc.so.6): they have a name by
// which others ask for them, or do not say that they are programs (DF_1_PIE, which linkers write since 2015).
func (f *File) isProgram() bool {
	if f.kind == KindExec {
		return true
	}
	interpreter, named := false, false
	for _, p := range f.headers.Progs {
		switch p.Type {
		case elf.PT_INTERP:
			interpreter = true
		case elf.PT_DYNAMIC:
			b, _ := f.readFile(p.Off, min(p.Filesz, 1<<16))
			for ; len(b) >= 16; b = b[16:] {
				switch elf.DynTag(U64(b)) {
				case elf.DT_FLAGS_1:
					if elf.DynFlag1(U64(b[8:]))&elf.DF_1_PIE != 0 {
						return true
					}
				case elf.DT_SONAME:
					named = true
				}
			}
		}
	}
	return interpreter && !named
}
