package daemon

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
		return fmt.Errorf("mapping the gate for forked children: %w", err)
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

// oursIn picks the mappings of a segment. An island that lacks its first page has a gate before it, which is returned with it.
func oursIn(maps []process.Mapping) (ours []process.Mapping) {
	for _, m := range maps {
		if m.Path != "/memfd:"+segmentName {
			continue
		}
		if hasGate(m, maps) {
			m.Start -= trampoline.PageSize
			m.Offset -= trampoline.PageSize
		}
		ours = append(ours, m)
	}
	return ours
}

func hasGate(island process.Mapping, maps []process.Mapping) bool {
	if island.Perms&process.Exec == 0 || !lacksPage(island) {
		return false
	}
	lo := island.Start - trampoline.PageSize
	for _, m := range maps {
		if m.Contains(lo) {
			return m.End >= island.Start && m.Inode == 0 && m.Path == "" && m.Perms == process.Read
		}
	}
	return false
}

// lacksPage reports whether a mapping of code begins with the second page of an island: in segments of version 1 islands of 32 MiB had any
// offset.
func lacksPage(m process.Mapping) bool {
	return m.Offset%trampoline.IslandAlign == trampoline.PageSize || m.Len() == 32<<20-trampoline.PageSize
}

// forked reports whether the process is a forked child that has its parent's segment: its gate is closed.
func (t *target) forked() bool { return forked(t.proc) }

func forked(p *process.Process) bool {
	ours, err := ourMappings(p)
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
