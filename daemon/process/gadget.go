package process

import (
	"bytes"
	"path/filepath"
	"sort"
	"strings"
)

// Pieces of code that every libc and runtime holds somewhere, so that a system call can be made without writing any text.
var (
	gadgetSyscall   = []byte{0x0f, 0x05, 0xc3}                            // syscall; ret
	gadgetReturn    = []byte{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}             // mov $15,%eax; syscall (rt_sigreturn)
	gadgetReturn64  = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05} // mov $15,%rax; syscall
	gadgetMaxLength = max(len(gadgetSyscall), len(gadgetReturn), len(gadgetReturn64))
)

// A gadgetCache remembers where they were found. It is used on the tracer's goroutine only.
type gadgetCache struct {
	syscall, sigreturn Addr
	sigreturnBytes     []byte
}

func (g *gadgetCache) found() bool { return g.syscall != 0 && g.sigreturn != 0 }

// search looks for what is not known or no longer there, in mapped files and the vdso only: never in code that a JIT may rewrite.
// What it cannot find is reported when a call is to be made.
func (g *gadgetCache) search(p *Process) {
	if g.valid(p) {
		return
	}
	*g = gadgetCache{}
	maps, err := p.readMaps()
	if err != nil {
		return
	}
	for _, m := range gadgetOrder(maps) {
		g.scan(p, m)
		if g.found() {
			return
		}
	}
}

// valid checks that the bytes are still there: a library can be unloaded, and text is what this tool changes.
func (g *gadgetCache) valid(p *Process) bool {
	return g.found() && p.holds(g.syscall, gadgetSyscall) && p.holds(g.sigreturn, g.sigreturnBytes)
}

func (p *Process) holds(a Addr, want []byte) bool {
	got := make([]byte, len(want))
	return p.readText(a, got) == nil && bytes.Equal(got, want)
}

// gadgetOrder puts the small and sure ones first: the C library, then the rest by size.
func gadgetOrder(maps []Mapping) []Mapping {
	var out []Mapping
	for _, m := range maps {
		if m.Perms&Exec != 0 && m.Perms&Write == 0 && (m.FileBacked() || m.Path == "[vdso]") {
			out = append(out, m)
		}
	}
	isLibc := func(m Mapping) bool {
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
func (g *gadgetCache) scan(p *Process, m Mapping) {
	const piece = 1 << 16 // in glibc both are found within some hundred KiB
	buf := make([]byte, min(m.Len(), piece+uint64(gadgetMaxLength)))
	for a := m.Start; a < m.End && !g.found(); a += piece {
		b := buf[:min(uint64(m.End-a), uint64(len(buf)))]
		n, _ := p.pread(b, a)
		g.match(b[:n], a)
	}
}

func (g *gadgetCache) match(b []byte, base Addr) {
	if g.syscall == 0 {
		if i := bytes.Index(b, gadgetSyscall); i >= 0 {
			g.syscall = base + Addr(i)
		}
	}
	for _, want := range [][]byte{gadgetReturn64, gadgetReturn} {
		if g.sigreturn == 0 {
			if i := bytes.Index(b, want); i >= 0 {
				g.sigreturn, g.sigreturnBytes = base+Addr(i), want
			}
		}
	}
}
