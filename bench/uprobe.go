package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// uprobe measures what the kernel's own probe (a counting perf event) adds to the same call, and with returns that and another
// one at its return; nil where it is not permitted.
func uprobe(l *loop, rounds int, returns bool) (*float64, error) {
	bin := filepath.Join(l.dir, "loop")
	off, err := fileOffset(bin, "leaf")
	if err != nil {
		return nil, err
	}
	var diffs []float64
	for range rounds {
		without, err := l.ask("u")
		if err != nil {
			return nil, err
		}
		probes, err := openUprobes(bin, off, l.cmd.Process.Pid, returns)
		if err != nil {
			skip("no uprobe to compare with: %v", err)
			return nil, nil
		}
		with, err := l.ask("u")
		closeAll(probes)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, with-without)
	}
	m := median(diffs)
	return &m, nil
}

// openUprobes opens a probe at the entry, and if asked for another at the return.
func openUprobes(bin string, off uint64, pid int, returns bool) (fds []int, err error) {
	for _, config := range []uint64{0, 1} {
		if config == 1 && !returns {
			break
		}
		fd, err := openUprobe(bin, off, pid, config)
		if err != nil {
			closeAll(fds)
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// openUprobe opens a perf event of the type "uprobe" (/sys/bus/event_source/devices/uprobe/type). The configuration is 0 for
// the entry and 1 for the return (format/retprobe there).
func openUprobe(bin string, off uint64, pid int, config uint64) (int, error) {
	text, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		return -1, err
	}
	typ, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return -1, err
	}
	path, err := unix.BytePtrFromString(bin)
	if err != nil {
		return -1, err
	}
	attr := unix.PerfEventAttr{Type: uint32(typ), Config: config, Ext1: uint64(uintptr(unsafe.Pointer(path))), Ext2: off}
	attr.Size = uint32(unsafe.Sizeof(attr))
	return unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// fileOffset is where in the file a function begins.
func fileOffset(bin, name string) (uint64, error) {
	f, err := elf.Open(bin)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range syms {
		if s.Name != name {
			continue
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off, nil
			}
		}
	}
	return 0, fmt.Errorf("%s has no function %s", bin, name)
}
