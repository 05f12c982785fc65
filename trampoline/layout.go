package trampoline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The shared segment is memory that the target and the daemon both map. One memory file only the daemon can write to:
//
//	head    one page: Header; the target maps it together with the ledger
//	ledger  LedgerCap entries of EntrySize bytes
//	code    islands, each mapped by the target near a cluster of its text; over its first page lies the gate, private memory
//	        that the kernel clears in forked children (Env.GateAddr); those that come later have a file of their own
//
// Another one, which children do not inherit, holds what the target writes:
//
//	data    Slots+1 thread blocks of BlockSize bytes; the last is the overflow block
//
// Where blocks are to have more words than BlockSize has, there is one more file with as many blocks for each further BlockSize, a step;
// the target maps step i at i times Stride behind the first, so that the offset of a word says in which step it is.
const (
	PageSize   = 4096
	EntrySize  = 64
	MaxIslands = 32
	Magic      = "culprit\x02" // the last byte is the version
	// IslandAlign divides the offsets of islands in their files, so that an island without its first page is known by its offset.
	IslandAlign = 64 << 10
)

// A Geometry fixes the sizes of a segment.
type Geometry struct {
	Slots     int // thread blocks, a power of two
	BlockSize int // bytes of a thread block in one step, a power of two; the first word is the thread pointer that owns it
	LedgerCap int // ledger entries
	CodeSize  int // bytes reserved for the islands that there are at first
}

// MaxLedger is how many entries a ledger has at most, in any segment.
const MaxLedger = 1 << 17

// DefaultGeometry suits a process with the given number of threads: four slots for each of them, 2,048 at least.
func DefaultGeometry(threads int) Geometry {
	slots := 2048
	for slots < 4*threads && slots < 1<<16 {
		slots *= 2
	}
	return Geometry{Slots: slots, BlockSize: 1 << 15, LedgerCap: MaxLedger, CodeSize: 256 << 20}
}

// LedgerOff is the offset of the ledger in the segment.
func (g Geometry) LedgerOff() int { return PageSize }

// HeadSize is the size of head and ledger.
func (g Geometry) HeadSize() int { return g.LedgerOff() + roundUp(g.LedgerCap*EntrySize, PageSize) }

// CodeOff is the offset of the islands.
func (g Geometry) CodeOff() int { return roundUp(g.HeadSize(), IslandAlign) }

// Size is the size of head, ledger and islands in bytes. It is sparse: only touched pages use memory.
func (g Geometry) Size() int { return g.CodeOff() + g.CodeSize }

// DataSize is the size of all thread blocks of one step, the overflow block included.
func (g Geometry) DataSize() int { return (g.Slots + 1) * g.BlockSize }

// Stride is the distance of a word of a block from the same word of the step before.
func (g Geometry) Stride() int { return roundUp(g.DataSize(), PageSize) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// An Island is a piece of code memory as the target maps it.
type Island struct {
	Addr uint64 // in the target
	Off  uint64 // in its memory file
	Size uint64
}

// A Header is the head of a segment: all that somebody needs who comes after a crash of the daemon.
type Header struct {
	Geometry
	DaemonPID   int    // who instrumented the target
	DaemonStart uint64 // its start time (field 22 of /proc/PID/stat), so that a reused pid is seen
	TargetPID   int
	HeadAddr    uint64 // where the target maps head and ledger
	DataAddr    uint64 // where the target maps the first step of the data
	Islands     []Island
	RowsAddr    uint64   // where the target maps the kernel's rows of its threads; 0 = nowhere
	RowsSize    uint64   // in bytes
	Stays       bool     // the target may come back to its trampolines when no thread of it is inside: they are never unmapped
	Files       []uint64 // inodes of the memory files that the segment consists of, MaxFiles at most; in segments of earlier versions none
	RowsMap     uint32   // the kernel's number of the map that has the rows: the target has descriptors of it only while it is given the rows; 0 = none
}

// The numbers of the header's words that say where the rows are, whether trampolines stay, and which map has the rows. The islands' words end
// before them.
const (
	rowsWord    = 120
	staysWord   = rowsWord + 5 // the three before it noted descriptors in earlier versions
	rowsMapWord = staysWord + 1
	filesWord   = rowsMapWord + 1 // how many, then each
)

// MaxFiles is how many memory files a segment has at most: one for each island that came later, one for each step of the counters, and the first.
const MaxFiles = 128

// Encode writes the header to the first page of the segment. The first two words, who instrumented the target, are the same in all
// versions.
func (h *Header) Encode(page []byte) {
	le := binary.LittleEndian
	words := []uint64{uint64(h.DaemonPID), h.DaemonStart, uint64(h.TargetPID), h.HeadAddr, h.DataAddr,
		uint64(h.Slots), uint64(h.BlockSize), uint64(h.LedgerCap), uint64(h.CodeSize), uint64(len(h.Islands))}
	for _, i := range h.Islands {
		words = append(words, i.Addr, i.Off, i.Size)
	}
	words = append(words, make([]uint64, filesWord+1+MaxFiles-len(words))...)
	words[filesWord] = uint64(copy(words[filesWord+1:], h.Files))
	words[rowsWord], words[rowsWord+1], words[rowsMapWord] = h.RowsAddr, h.RowsSize, uint64(h.RowsMap)
	if h.Stays {
		words[staysWord] = 1
	}
	for i, w := range words {
		le.PutUint64(page[8+8*i:], w)
	}
	copy(page, Magic)
}

// ErrNoSegment says that a page does not begin a segment of this tool.
var ErrNoSegment = errors.New("no culprit segment of a version that this culprit knows")

// knownVersions are those whose heads and ledgers lie as they do today: a culprit of an earlier one may have been killed.
var knownVersions = []byte{1, 2}

// DecodeHeader reads the head of a segment. The page belongs to the target and is not trusted. Of a version that is not known the header
// tells who instrumented the target and nothing else, and the error is ErrNoSegment.
func DecodeHeader(page []byte) (*Header, error) {
	const version = len(Magic) - 1
	if len(page) < PageSize || string(page[:version]) != Magic[:version] {
		return nil, ErrNoSegment
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(page[8+8*i:]) }
	if v := page[version]; !slices.Contains(knownVersions, v) {
		return &Header{DaemonPID: int(word(0)), DaemonStart: word(1)}, fmt.Errorf("%w: it is of version %d", ErrNoSegment, v)
	}
	h := &Header{DaemonPID: int(word(0)), DaemonStart: word(1), TargetPID: int(word(2)), HeadAddr: word(3), DataAddr: word(4),
		Geometry: Geometry{Slots: int(word(5)), BlockSize: int(word(6)), LedgerCap: int(word(7)), CodeSize: int(word(8))}}
	n := word(9)
	if h.Slots < 0 || h.Slots > 1<<20 || h.BlockSize < 0 || h.BlockSize > 1<<24 || h.LedgerCap < 0 || h.LedgerCap > MaxLedger || n > MaxIslands {
		return nil, fmt.Errorf("%w: the head is damaged", ErrNoSegment)
	}
	for i := range int(n) {
		h.Islands = append(h.Islands, Island{word(10 + 3*i), word(11 + 3*i), word(12 + 3*i)})
	}
	h.RowsAddr, h.RowsSize = word(rowsWord), word(rowsWord+1)
	h.Stays, h.RowsMap = word(staysWord) != 0, uint32(word(rowsMapWord))
	for i := range int(min(word(filesWord), MaxFiles)) {
		h.Files = append(h.Files, word(filesWord+1+i))
	}
	return h, nil
}
