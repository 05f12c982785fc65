package remote

import (
	"bytes"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// A gadgetCache remembers where they were found. It is used on the tracer's goroutine only.
type gadgetCache struct {
	syscall, sigreturn raw.Addr
	sigreturnBytes     []byte
}

func (g *gadgetCache) found() bool { return g.syscall != 0 && g.sigreturn != 0 }

// search looks for what is not known or no longer there, in mapped files and the vdso only: never in code that a JIT may rewrite.
// What it cannot find is reported when a call is to be made.
func (g *gadgetCache) search(pid int, mem *raw.File) {
	if g.valid(mem) {
		return
	}
	*g = gadgetCache{}
	maps, err := raw.ReadMaps(pid)
	if err != nil {
		return
	}
	for _, m := range gadgetOrder(maps) {
		g.scan(mem, m)
		if g.found() {
			return
		}
	}
}

// valid checks that the bytes are still there: a library can be unloaded, and text is what this tool changes.
func (g *gadgetCache) valid(mem *raw.File) bool {
	return g.found() && stillHolds(mem, g.syscall, gadgetSyscall) && stillHolds(mem, g.sigreturn, g.sigreturnBytes)
}

func stillHolds(mem *raw.File, a raw.Addr, want []byte) bool {
	got := make([]byte, len(want))
	return mem.Read(a, got) == nil && bytes.Equal(got, want)
}

// Calls says whether a thread with these registers is in a call that it was sent to make, or on its way back from one by itself.
func (k *Known) Calls(regs *unix.PtraceRegs) bool {
	g, at := &k.gadgets, raw.Addr(regs.Rip)
	return at-g.syscall <= raw.SyscallLength || at-g.sigreturn <= raw.Addr(len(g.sigreturnBytes))
}

// gadgetOrder puts the small and sure ones first: the C library, then the rest by size.
func gadgetOrder(maps []raw.Mapping) []raw.Mapping {
	var out []raw.Mapping
	for _, m := range maps {
		if m.Perms&raw.Exec != 0 && m.Perms&raw.Write == 0 && (m.FileBacked() || m.Path == "[vdso]") {
			out = append(out, m)
		}
	}
	isLibc := func(m raw.Mapping) bool {
		base := filepath.Base(m.Path)
		return strings.HasPrefix(base, "libc.") || strings.HasPrefix(base, "libc-") || strings.HasPrefix(base, "ld-musl")
	}
	sort.SliceStable(out, func(i, j int) bool {
		if a, b := isLibc(out[i]), isLibc(out[j]); a != b {
			return a
		}
		return out[i].Len() < out[j].Len()
	})
	return out
}

// scan reads one mapping in pieces that overlap by the length of a gadget.
func (g *gadgetCache) scan(mem *raw.File, m raw.Mapping) {
	const piece = 1 << 16 // in glibc both are found within some hundred KiB
	buf := make([]byte, min(m.Len(), piece+uint64(gadgetMaxLength)))
	for a := m.Start; a < m.End && !g.found(); a += piece {
		b := buf[:min(uint64(m.End-a), uint64(len(buf)))]
		n, _ := mem.Pread(b, a)
		g.match(b[:n], a)
	}
}

func (g *gadgetCache) match(b []byte, base raw.Addr) {
	if g.syscall == 0 {
		if i := bytes.Index(b, gadgetSyscall); i >= 0 {
			g.syscall = base + raw.Addr(i)
		}
	}
	for _, want := range [][]byte{gadgetReturn64, gadgetReturn} {
		if g.sigreturn == 0 {
			if i := bytes.Index(b, want); i >= 0 {
				g.sigreturn, g.sigreturnBytes = base+raw.Addr(i), want
			}
		}
	}
}
