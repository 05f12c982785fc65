package threadstats

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapWhole maps size bytes of a map's values, whole pages, for reading and writing.
func mapWhole(fd, size int) ([]byte, error) {
	return unix.Mmap(fd, 0, pages(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(mem []byte) error { return unix.Munmap(mem) }

// pages rounds up to whole pages.
func pages(size int) int {
	page := os.Getpagesize()
	return (size + page - 1) / page * page
}

// word is the aligned word of mem at off, which the kernel side may be writing.
func word(mem []byte, off int) *uint64 {
	_ = mem[off+7]
	return (*uint64)(unsafe.Pointer(&mem[off]))
}

// half is the same for 32 bits.
func half(mem []byte, off int) *uint32 {
	_ = mem[off+3]
	return (*uint32)(unsafe.Pointer(&mem[off]))
}

func read(mem []byte, off int) uint64     { return atomic.LoadUint64(word(mem, off)) }
func readHalf(mem []byte, off int) uint32 { return atomic.LoadUint32(half(mem, off)) }
