package kernel

import (
	"testing"
	"unsafe"
)

func TestLoadPair(t *testing.T) {
	var room [6]uint64
	i := 0
	if uintptr(unsafe.Pointer(&room[0]))%16 != 0 {
		i = 1
	}
	pair := (*[2]uint64)(room[i : i+2])
	for _, want := range [][2]uint64{{0, 0}, {1, 0}, {0, 1}, {1<<64 - 1, 1 << 63}} {
		*pair = want
		if a, b := LoadPair(pair); a != want[0] || b != want[1] || *pair != want {
			t.Errorf("%x: read %x and %x, left %x", want, a, b, *pair)
		}
	}
}
