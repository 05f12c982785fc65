package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// Forked children. They inherit the patched text, and share the trampolines' memory with their parent, but not the counters. So
// that they do not look for them, every base trampoline begins with a look at a word that the kernel clears in children: the
// gate, in the first page of every island, which is private memory with MADV_WIPEONFORK. A child of vfork or posix_spawn runs
// on its parent's memory, gate included, and counts as its parent, which stands still meanwhile.

var gateOpen = binary.LittleEndian.AppendUint64(nil, trampoline.GateOpen)

// openGate puts the gate's page over the first page of an island that was mapped just now.
func openGate(w *process.World, pid int, island uint64) error {
	at := process.Addr(island)
	if _, err := w.Mmap(at, trampoline.PageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, -1, 0); err != nil {
		return fmt.Errorf("mapping the guard for forked children: %w", err)
	}
	if err := w.WriteText(at, gateOpen); err != nil {
		return err
	}
	if err := faultGate.Hit(pid); err != nil {
		return err
	}
	_, err := w.Syscall(unix.SYS_MADVISE, island, trampoline.PageSize, unix.MADV_WIPEONFORK)
	return err
}

// Forked reports whether a process is a forked child that has its parent's segment: its gate is closed.
func Forked(p *process.Process) bool {
	ours, err := Mappings(p)
	if err != nil {
		return false
	}
	for _, m := range ours {
		if m.Perms&process.Exec != 0 && !lacksPage(m) { // its gate is part of it
			word := make([]byte, len(gateOpen))
			return p.ReadMem(m.Start, word) == nil && bytes.Equal(word, make([]byte, len(word)))
		}
	}
	return false
}
