package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"culprit/daemon/image"
)

// The kernel maps code of its own into every process, the vdso, in which programs read the clock. It has no file. Stacks lead through
// it; nothing of it is listed or instrumented.

const vdsoName = "[vdso]"

// Vdso is the vdso of this process: the kernel gives the same to all 64-bit ones. Read here it can be trusted. nil if there is none.
var Vdso = sync.OnceValue(func() *image.Object {
	lo, hi := ownVdso()
	if lo == hi {
		return nil
	}
	self, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil
	}
	defer self.Close()
	code := make([]byte, hi-lo)
	if _, err := self.ReadAt(code, int64(lo)); err != nil && err != io.EOF {
		return nil
	}
	o, err := image.Open(bytes.NewReader(code), int64(len(code)), vdsoName)
	if err != nil {
		return nil
	}
	return o
})

// ownVdso is where the vdso of this process is.
func ownVdso() (lo, hi uint64) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, " "+vdsoName+"\n") {
			if n, err := fmt.Sscanf(line, "%x-%x", &lo, &hi); n == 2 && err == nil {
				return lo, hi
			}
		}
	}
	return 0, 0
}

// noteVdso remembers where the vdso of the process is.
func (p *Program) noteVdso(maps []Mapping) {
	for _, m := range maps {
		if m.Path == vdsoName {
			p.vdso = m
		}
	}
}

// TablesAt finds what describes the frames of code at an address, and how far that is from where it was linked; nil if nothing does.
func (p *Program) TablesAt(addr uint64) (tables *image.Object, bias uint64) {
	if o := p.ObjectAt(addr); o != nil {
		return o.Object, o.Bias
	}
	if addr >= p.vdso.Start && addr < p.vdso.End {
		return Vdso(), p.vdso.Start
	}
	return nil, 0
}
