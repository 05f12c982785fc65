package kernel

import (
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ringSizes are tried from the largest: without CAP_IPC_LOCK a user may lock kernel.perf_event_mlock_kb per processor
// (516 by default, which is 512 KiB and the head page) for all of the user's rings together.
var ringSizes = []int{1 << 20, 512 << 10, 256 << 10, 128 << 10, 64 << 10}

// A ring takes the records of all events of one processor. Its own event counts nothing: it belongs to this process, so
// that the ring outlives every thread of the target.
type ring struct {
	cpu, fd int
	mem     []byte // head page, then the data
	data    []byte // its size is a power of two
	head    *uint64
	tail    *uint64
	broken  uint64 // records that made no sense
}

func newRing(cpu int, userOnly bool) (*ring, error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: sampleType &^ (unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER),
		Bits:        unix.PerfBitUseClockID | unix.PerfBitExcludeHv,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	if userOnly {
		attr.Bits |= unix.PerfBitExcludeKernel
	}
	fd, err := unix.PerfEventOpen(&attr, 0, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	page := os.Getpagesize()
	for _, size := range ringSizes {
		var mem []byte
		mem, err = unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			meta := (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0]))
			return &ring{cpu: cpu, fd: fd, mem: mem, data: mem[page:], head: &meta.Data_head, tail: &meta.Data_tail}, nil
		}
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
			break
		}
	}
	unix.Close(fd)
	return nil, err
}

func (r *ring) close() {
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}

// headerSize is that of struct perf_event_header: type (4 bytes), misc (2), size (2).
const headerSize = 8

// A header is what that says of a record beside its size.
type header struct {
	kind uint32
	misc uint16
}

// drain hands over all records that are there. A record's body is valid during the call only; one that wraps round the
// end is put together in scratch, which must hold the largest record (64 KiB).
func (r *ring) drain(scratch []byte, f func(h header, body []byte)) {
	// The atomic load orders the reads of data behind it, the store of tail the kernel's next writes behind our reads.
	head, tail := atomic.LoadUint64(r.head), atomic.LoadUint64(r.tail)
	if head-tail > uint64(len(r.data)) {
		r.broken++
		tail = head
	}
	for head-tail >= headerSize {
		b := r.bytes(tail, headerSize, scratch)
		h := header{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint16(b[4:])}
		size := uint64(binary.LittleEndian.Uint16(b[6:]))
		if size < headerSize || size > head-tail {
			r.broken++
			tail = head
			break
		}
		f(h, r.bytes(tail+headerSize, int(size-headerSize), scratch))
		tail += size
	}
	atomic.StoreUint64(r.tail, tail)
}

// bytes returns n bytes of the stream at position at.
func (r *ring) bytes(at uint64, n int, scratch []byte) []byte {
	from := int(at & uint64(len(r.data)-1))
	if from+n <= len(r.data) {
		return r.data[from : from+n]
	}
	k := copy(scratch[:n], r.data[from:])
	copy(scratch[k:n], r.data)
	return scratch[:n]
}

// A cursor reads little-endian words and remembers whether there were enough.
type cursor struct {
	b  []byte
	ok bool
}

func (c *cursor) u64() uint64 {
	if len(c.b) < 8 {
		c.ok = false
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return v
}

// u32s reads two 32-bit numbers that share a word.
func (c *cursor) u32s() (uint32, uint32) {
	v := c.u64()
	return uint32(v), uint32(v >> 32)
}

// abi64 is PERF_SAMPLE_REGS_ABI_64; 0 means that there are no user registers (a kernel thread), 1 a 32-bit program.
const abi64 = 2

// parseSample reads the body of PERF_RECORD_SAMPLE with sampleType: ip, pid and tid, time, cpu, user registers, user
// stack (perf_event_open(2)). It refuses samples without 64-bit user registers.
func parseSample(misc uint16, body []byte) (s Sample, ok bool) {
	c := cursor{body, true}
	c.u64() // the instruction pointer, of the kernel perhaps; the user's is among the registers
	pid, tid := c.u32s()
	s.PID, s.TID = int(pid), int(tid)
	s.Time = c.u64()
	cpu, _ := c.u32s()
	s.CPU = int(cpu)
	if c.u64() != abi64 {
		return s, false
	}
	s.Regs = c.regs()
	s.Mode = modeOfMisc(misc, &s.Regs)
	s.StackAddr = s.Regs.SP
	size := c.u64()
	if !c.ok || size == 0 {
		return s, c.ok
	}
	if size > uint64(len(c.b)) || uint64(len(c.b))-size < 8 {
		return s, false
	}
	stack := c.b[:size]
	c.b = c.b[size:]
	s.Stack = stack[:min(c.u64(), size)]
	return s, true
}

// regs reads the registers of regsMask, in order of their bits.
func (c *cursor) regs() (r Regs) {
	for _, p := range []*uint64{&r.AX, &r.BX, &r.CX, &r.DX, &r.SI, &r.DI, &r.BP, &r.SP, &r.IP, &r.Flags, &r.CS, &r.SS,
		&r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15} {
		*p = c.u64()
	}
	return r
}

// lostCount reads PERF_RECORD_LOST: id, number lost.
func lostCount(body []byte) uint64 {
	c := cursor{body, true}
	c.u64()
	return c.u64()
}
