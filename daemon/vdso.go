package daemon

import (
	"bytes"
	"io"
	"os"
	"sync"

	"culprit/daemon/image"
	"culprit/daemon/process"
)

// The kernel maps code of its own into every process, the vdso, in which programs read the clock. It has no file. Stacks lead through
// it; nothing of it is listed or instrumented.

const vdsoName = "[vdso]"

// vdsoImage is the vdso of this process: the kernel gives the same to all 64-bit ones. Read here it can be trusted. nil if there is none.
var vdsoImage = sync.OnceValue(func() *image.Object {
	maps, err := process.OwnMaps()
	if err != nil {
		return nil
	}
	for _, m := range maps {
		if m.Path != vdsoName {
			continue
		}
		self, err := os.Open("/proc/self/mem")
		if err != nil {
			return nil
		}
		defer self.Close()
		code := make([]byte, m.Len())
		if _, err := self.ReadAt(code, int64(m.Start)); err != nil && err != io.EOF {
			return nil
		}
		o, err := image.Open(bytes.NewReader(code), int64(len(code)), vdsoName)
		if err != nil {
			return nil
		}
		return o
	}
	return nil
})

// noteVdso remembers where the vdso of the target is.
func (t *target) noteVdso(maps []process.Mapping) {
	for _, m := range maps {
		if m.Path == vdsoName {
			t.vdso = m
		}
	}
}

// tablesAt finds what describes the frames of code at an address, and how far that is from where it was linked; nil if nothing does.
func (t *target) tablesAt(addr uint64) (tables *image.Object, bias uint64) {
	if o := t.objectAt(addr); o != nil {
		return o.Object, o.bias
	}
	if t.vdso.Contains(process.Addr(addr)) {
		return vdsoImage(), uint64(t.vdso.Start)
	}
	return nil, 0
}
