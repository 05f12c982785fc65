package remote

import (
	"encoding/binary"

	"culprit/daemon/process/raw"
)

// The vector state of a thread as the kernel shows and takes it: an XSAVE image in the standard (not compacted) form.

// signalXsave turns the image that ptrace shows into the one that rt_sigreturn takes: cut to the length that the kernel expects of
// this thread, marked at both ends.
func signalXsave(image []byte) []byte {
	if len(image) < xsaveMin {
		return image[:min(len(image), xsaveLegacy)]
	}
	features := raw.Uint64(image[xsaveSoftware:]) // XCR0
	if features == 0 {
		features = 3
	}
	if raw.Uint64(image[xsaveLegacy:])&xtileData == 0 {
		features &^= xtileData // not in use: then the kernel's image for this thread has no room for it
	}
	size := min(xsaveSize(features), len(image))
	out := make([]byte, size+xsaveMagic2Sz)
	copy(out, image[:size])
	sw := out[xsaveSoftware : xsaveSoftware+48]
	clear(sw)
	binary.LittleEndian.PutUint32(sw[0:], xsaveMagic1)
	binary.LittleEndian.PutUint32(sw[4:], uint32(size+xsaveMagic2Sz))
	binary.LittleEndian.PutUint64(sw[8:], features)
	binary.LittleEndian.PutUint32(sw[16:], uint32(size))
	binary.LittleEndian.PutUint32(out[size:], xsaveMagic2)
	return out
}

// VectorSize is how many bytes XSAVE needs to save these parts of the vector state in its standard form, or those of them that the
// processor has. ok is false where the processor or the system has no XSAVE.
func VectorSize(parts uint32) (size int, ok bool) {
	const osxsave = 1 << 27
	if _, _, ecx, _ := cpuid(1, 0); ecx&osxsave == 0 {
		return 0, false
	}
	have, _, _, _ := cpuid(0xd, 0)
	return xsaveSize(uint64(have & parts)), true
}

// xsaveSize is the length of the standard form for a set of features; the processor says where each part lies.
func xsaveSize(features uint64) int {
	size := xsaveMin
	for i := uint32(2); i < 63; i++ {
		if features&(1<<i) != 0 {
			length, offset, _, _ := cpuid(0xd, i)
			size = max(size, int(offset+length))
		}
	}
	return size
}
