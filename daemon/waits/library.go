package waits

import (
	"encoding/binary"
	"fmt"
	"path"
	"strings"

	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/process"
	"culprit/daemon/stack"
)

// Locks that the C library has for itself are no variables of the program. They are called by what they guard: a stdio stream by its file, and
// what others guard is known by the functions that wait for them.

// guarded is what a lock of the C library guards, by its word and the functions through which a thread came to wait for it; "" if that is not
// known.
func (t *Thread) guarded(word uint64, functions []string) string {
	if name, ok := t.stream(word); ok {
		return strings.TrimRight("stdio stream "+name, " ")
	}
	for _, f := range functions {
		if what, ok := libc.GuardedIn(f); ok {
			return what
		}
	}
	return ""
}

// throughLibrary are the functions through which a thread came to wait for a lock of the C library, innermost first: those of the library, the last
// of which the program has called; of a program with the library in it, only the one that waits.
func throughLibrary(frames []stack.Frame) (functions []string) {
	for _, fr := range frames {
		if fr.Func == nil {
			break
		}
		if _, waits := kindOfWait(fr.Func); waits {
			continue
		}
		if len(functions) > 0 && !libc.IsC(fr.Func.Obj.Name) {
			break
		}
		functions = append(functions, fr.Func.Fn.Name)
	}
	return functions
}

// stream is the name of the stdio stream that has a lock, "" if it has none; ok is false if no stream has the lock.
func (t *Thread) stream(word uint64) (name string, ok bool) {
	read := stack.Words(t.Target.Proc)
	for _, s := range libc.Standard {
		at, known := t.Target.Program.DataNamed(s.Symbol)
		if !known {
			continue
		}
		if lock, err := read(at + libc.StreamLock); err == nil && lock == word {
			return s.Name, true
		}
	}
	from := word - libc.StreamFrom
	var b [libc.StreamFrom - libc.StreamTo + 8]byte
	if t.Target.Proc.ReadMem(process.Addr(from), b[:]) != nil {
		return "", false
	}
	for i := 0; i < len(b); i += 8 {
		if binary.LittleEndian.Uint64(b[i:]) == word {
			return t.fileOf(from + uint64(i) - libc.StreamLock), true
		}
	}
	return "", false
}

// fileOf names what a stream reads or writes: a file without its directory, or a descriptor; "" if it has none.
func (t *Thread) fileOf(stream uint64) string {
	flags, ok := t.readInt(stream + libc.StreamFlags)
	if !ok || flags&libc.StreamHasNumber == 0 {
		return ""
	}
	number, ok := t.readInt(stream + libc.StreamNumber)
	if !ok || number < 0 {
		return ""
	}
	link, err := kernel.FDLink(t.Target.Proc.PID(), int(number))
	if err != nil || !strings.HasPrefix(link, "/") {
		return fmt.Sprintf("of descriptor %d", number)
	}
	return path.Base(link)
}

func (t *Thread) readInt(addr uint64) (n int32, ok bool) {
	var b [4]byte
	err := t.Target.Proc.ReadMem(process.Addr(addr), b[:])
	return int32(binary.LittleEndian.Uint32(b[:])), err == nil
}
