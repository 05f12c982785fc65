package trampoline

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The shared segment is one memory file that the target and the daemon both map:
//
//	head    one page: Header; the target maps it read-only, together with the ledger
//	ledger  LedgerCap entries of EntrySize bytes
//	data    Slots+1 thread blocks of BlockSize bytes; the last is the overflow block
//	code    islands, each mapped by the target near a cluster of its text; over its first page lies the gate, private memory
//	        that the kernel clears in forked children (Env.GateAddr)
const (
	PageSize   = 4096
	EntrySize  = 64
	MaxIslands = 32
	Magic      = "culprit\x01"
)

// A Geometry fixes the sizes of a segment.
type Geometry struct {
	Slots     int // thread blocks, a power of two
	BlockSize int // bytes of a thread block, a power of two; the first word is the thread pointer that owns it
	LedgerCap int // ledger entries
	CodeSize  int // bytes reserved for all islands
}

// DefaultGeometry suits a process with the given number of threads: four slots for each of them, 2,048 at least.
func DefaultGeometry(threads int) Geometry {
	slots := 2048
	for slots < 4*threads && slots < 1<<16 {
		slots *= 2
	}
	return Geometry{Slots: slots, BlockSize: 1 << 15, LedgerCap: 1 << 17, CodeSize: 256 << 20}
}

// LedgerOff is the offset of the ledger in the segment.
func (g Geometry) LedgerOff() int { return PageSize }

// DataOff is the offset of the first thread block.
func (g Geometry) DataOff() int { return PageSize + roundUp(g.LedgerCap*EntrySize, PageSize) }

// DataSize is the size of all thread blocks, the overflow block included.
func (g Geometry) DataSize() int { return (g.Slots + 1) * g.BlockSize }

// CodeOff is the offset of the islands.
func (g Geometry) CodeOff() int { return g.DataOff() + roundUp(g.DataSize(), PageSize) }

// Size is the size of the segment in bytes. It is sparse: only touched pages use memory.
func (g Geometry) Size() int { return g.CodeOff() + g.CodeSize }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// An Island is a piece of the segment's code part as the target maps it.
type Island struct {
	Addr uint64 // in the target
	Off  uint64 // in the segment
	Size uint64
}

// A Header is the head of a segment: all that somebody needs who comes after a crash of the daemon.
type Header struct {
	Geometry
	DaemonPID   int    // who instrumented the target
	DaemonStart uint64 // its start time (field 22 of /proc/PID/stat), so that a reused pid is seen
	TargetPID   int
	HeadAddr    uint64 // where the target maps head and ledger
	DataAddr    uint64 // where the target maps the data part
	Islands     []Island
	RowsAddr    uint64 // where the target maps the kernel's rows of its threads; 0 = nowhere
	RowsSize    uint64 // in bytes
	Passing     []int  // descriptors that the target has open only while the rows are passed to it, MaxPassing at most
}

// MaxPassing is how many descriptors of the target a header notes.
const MaxPassing = 3

// rowsWord is the number of the header's word that says where the rows are; the islands' words end before it.
const rowsWord = 120

// Encode writes the header to the first page of the segment.
func (h *Header) Encode(page []byte) {
	le := binary.LittleEndian
	words := []uint64{uint64(h.DaemonPID), h.DaemonStart, uint64(h.TargetPID), h.HeadAddr, h.DataAddr,
		uint64(h.Slots), uint64(h.BlockSize), uint64(h.LedgerCap), uint64(h.CodeSize), uint64(len(h.Islands))}
	for _, i := range h.Islands {
		words = append(words, i.Addr, i.Off, i.Size)
	}
	words = append(words, make([]uint64, rowsWord-len(words))...)
	words = append(words, h.RowsAddr, h.RowsSize)
	for i := range MaxPassing {
		fd := 0
		if i < len(h.Passing) {
			fd = h.Passing[i] + 1
		}
		words = append(words, uint64(fd))
	}
	for i, w := range words {
		le.PutUint64(page[8+8*i:], w)
	}
	copy(page, Magic)
}

// ErrNoSegment says that a page does not begin a segment of this tool.
var ErrNoSegment = errors.New("no culprit segment of a version that this culprit knows")

// DecodeHeader reads the head of a segment. The page belongs to the target and is not trusted.
func DecodeHeader(page []byte) (*Header, error) {
	if len(page) < PageSize || string(page[:8]) != Magic {
		return nil, ErrNoSegment
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(page[8+8*i:]) }
	h := &Header{DaemonPID: int(word(0)), DaemonStart: word(1), TargetPID: int(word(2)), HeadAddr: word(3), DataAddr: word(4),
		Geometry: Geometry{Slots: int(word(5)), BlockSize: int(word(6)), LedgerCap: int(word(7)), CodeSize: int(word(8))}}
	n := word(9)
	if h.Slots < 0 || h.Slots > 1<<20 || h.BlockSize < 0 || h.BlockSize > 1<<24 || h.LedgerCap < 0 || h.LedgerCap > 1<<24 || n > MaxIslands {
		return nil, fmt.Errorf("%w: the head is damaged", ErrNoSegment)
	}
	for i := range int(n) {
		h.Islands = append(h.Islands, Island{word(10 + 3*i), word(11 + 3*i), word(12 + 3*i)})
	}
	h.RowsAddr, h.RowsSize = word(rowsWord), word(rowsWord+1)
	for i := range MaxPassing {
		if fd := word(rowsWord + 2 + i); fd > 0 && fd <= 1<<31 {
			h.Passing = append(h.Passing, int(fd-1))
		}
	}
	return h, nil
}
