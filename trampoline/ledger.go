package trampoline

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"unsafe"
)

// A LedgerState is the state of one ledger entry.
type LedgerState uint8

// The states. An entry is Intended before its bytes are touched, so the ledger never lacks a patched site.
const (
	LedgerFree     LedgerState = iota
	LedgerIntended             // the site may hold old or new bytes
	LedgerPatched              // the site holds the new bytes
)

// An Entry is one patched run of bytes in the target's text.
type Entry struct {
	Addr     uint64
	Len      int // 1..16
	Old, New [16]byte
	State    LedgerState
}

// A Ledger lists every site that is patched, with what it takes to undo it. It lies in the segment, where it survives the
// daemon. One goroutine writes it.
type Ledger struct {
	mem  []byte // LedgerCap entries
	free []int
	next int
}

// NewLedger takes the ledger's part of a fresh segment.
func NewLedger(mem []byte) *Ledger { return &Ledger{mem: mem} }

// Put writes an entry (state Intended) and returns its number.
func (l *Ledger) Put(e Entry) (int, error) {
	i := l.next
	if n := len(l.free); n > 0 {
		i, l.free = l.free[n-1], l.free[:n-1]
	} else if (i+1)*EntrySize > len(l.mem) {
		return 0, fmt.Errorf("the ledger is full: %d sites are patched already", i)
	} else {
		l.next++
	}
	e.State = LedgerIntended
	encodeEntry(l.mem[i*EntrySize:], e)
	return i, nil
}

// Room is how many more entries fit.
func (l *Ledger) Room() int { return len(l.mem)/EntrySize - l.next + len(l.free) }

// Patched marks an entry whose new bytes are in place.
func (l *Ledger) Patched(i int) { l.setState(i, LedgerPatched) }

// Free forgets an entry whose old bytes are back.
func (l *Ledger) Free(i int) {
	l.setState(i, LedgerFree)
	l.free = append(l.free, i)
}

// Used is how many entries are in use.
func (l *Ledger) Used() int { return l.next - len(l.free) }

// History is History of what was ever put into it: to look at the rest would make memory of it, which somebody has to pay for.
func (l *Ledger) History() []Entry { return History(l.mem[:l.next*EntrySize]) }

// setState is one store, and the last: a reader after a crash sees a whole entry or none.
func (l *Ledger) setState(i int, s LedgerState) {
	p := (*uint32)(unsafe.Pointer(&l.mem[i*EntrySize+60]))
	atomic.StoreUint32(p, uint32(s))
}

func encodeEntry(b []byte, e Entry) {
	le := binary.LittleEndian
	le.PutUint64(b, e.Addr)
	b[8] = byte(e.Len)
	copy(b[16:32], e.Old[:])
	copy(b[32:48], e.New[:])
	le.PutUint32(b[56:], crc32.ChecksumIEEE(b[:48]))
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[60])), uint32(e.State))
}

// Entries decodes the entries in use from a ledger that may belong to somebody else: damaged ones are counted, not returned.
func Entries(mem []byte) (entries []Entry, damaged int) {
	for ; len(mem) >= EntrySize; mem = mem[EntrySize:] {
		e, ok := decodeEntry(mem)
		if !ok {
			damaged++
		} else if e.State != LedgerFree {
			entries = append(entries, e)
		}
	}
	return entries, damaged
}

// History decodes all entries that a ledger holds, and those that it held and that were not written over since.
func History(mem []byte) (entries []Entry) {
	for ; len(mem) >= EntrySize; mem = mem[EntrySize:] {
		if e, ok := decodeKept(mem); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

func decodeEntry(b []byte) (Entry, bool) {
	le := binary.LittleEndian
	s := LedgerState(le.Uint32(b[60:]))
	if s == LedgerFree {
		return Entry{}, true
	}
	return decodeKept(b)
}

// decodeKept decodes an entry, whether it is in use or not.
func decodeKept(b []byte) (Entry, bool) {
	le := binary.LittleEndian
	e := Entry{Addr: le.Uint64(b), Len: int(b[8]), State: LedgerState(le.Uint32(b[60:]))}
	copy(e.Old[:], b[16:32])
	copy(e.New[:], b[32:48])
	ok := e.State <= LedgerPatched && e.Len >= 1 && e.Len <= 16 && le.Uint32(b[56:]) == crc32.ChecksumIEEE(b[:48])
	return e, ok
}
