package trampoline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func entry(addr uint64, n int) Entry {
	e := Entry{Addr: addr, Len: n, State: LedgerIntended}
	for i := range n {
		e.Old[i], e.New[i] = byte(addr)+byte(i), 0xE9
	}
	return e
}

func TestLedger(t *testing.T) {
	mem := make([]byte, 4*EntrySize)
	l := NewLedger(mem)
	var numbers []int
	for i := range 4 {
		n, err := l.Put(entry(0x1000+uint64(i), 1+i*5))
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	if _, err := l.Put(entry(0x2000, 5)); err == nil || !strings.Contains(err.Error(), "full") || l.Used() != 4 {
		t.Errorf("a fifth entry: %v, %d used", err, l.Used())
	}
	l.Patched(numbers[1])
	l.Free(numbers[2])
	want := []Entry{entry(0x1000, 1), entry(0x1001, 6), entry(0x1003, 16)}
	want[1].State = LedgerPatched
	got, damaged := Entries(mem)
	if diff := cmp.Diff(want, got); diff != "" || damaged != 0 {
		t.Errorf("%d damaged; %s", damaged, diff)
	}
	if n, err := l.Put(entry(0x3000, 4)); err != nil || n != numbers[2] || l.Used() != 4 {
		t.Errorf("the freed entry is not used again: %d, %v", n, err)
	}
}

// TestDamagedEntries: an entry of which any byte was changed is counted as damaged, or means the same.
func TestDamagedEntries(t *testing.T) {
	mem := make([]byte, EntrySize)
	NewLedger(mem).Put(entry(0xdeadbeef, 5))
	want, _ := Entries(mem)
	for i := range mem {
		for _, x := range []byte{1, 0x80, 0xFF} {
			bad := slices.Clone(mem)
			bad[i] ^= x
			got, damaged := Entries(bad)
			if damaged == 0 && len(got) == 1 && (got[0].Addr != want[0].Addr || got[0].Len != want[0].Len || got[0].Old != want[0].Old || got[0].New != want[0].New) {
				t.Errorf("byte %d changed by %#x is believed: %+v", i, x, got)
			}
		}
	}
	if got, damaged := Entries(mem[:EntrySize-1]); len(got) != 0 || damaged != 0 {
		t.Errorf("half an entry: %v, %d", got, damaged)
	}
}

func TestHeader(t *testing.T) {
	h := &Header{Geometry: DefaultGeometry(10), DaemonPID: 7, DaemonStart: 1 << 40, TargetPID: 9, HeadAddr: 0x7f0000000000, DataAddr: 0x7f0000100000}
	for i := range MaxIslands {
		h.Islands = append(h.Islands, Island{Addr: uint64(i) << 30, Off: uint64(i) << 20, Size: 4096})
	}
	page := make([]byte, PageSize)
	h.Encode(page)
	got, err := DecodeHeader(page)
	if diff := cmp.Diff(h, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for name, spoil := range map[string]func(p []byte){
		"magic": func(p []byte) { p[0] ^= 1 }, "slots": func(p []byte) { binary.LittleEndian.PutUint64(p[8+8*5:], 1<<40) },
		"islands": func(p []byte) { binary.LittleEndian.PutUint64(p[8+8*9:], MaxIslands+1) }, "ledger": func(p []byte) { binary.LittleEndian.PutUint64(p[8+8*7:], ^uint64(0)) },
	} {
		bad := slices.Clone(page)
		spoil(bad)
		if _, err := DecodeHeader(bad); !errors.Is(err, ErrNoSegment) {
			t.Errorf("a damaged head (%s): %v", name, err)
		}
	}
	if _, err := DecodeHeader(page[:100]); !errors.Is(err, ErrNoSegment) {
		t.Errorf("a short page: %v", err)
	}
}

func TestGeometry(t *testing.T) {
	for _, threads := range []int{0, 1, 1000, 5000, 100000} {
		g := DefaultGeometry(threads)
		if g.Slots&(g.Slots-1) != 0 || g.BlockSize&(g.BlockSize-1) != 0 || g.Slots < min(4*threads, 1<<16) || g.CodeOff()%PageSize != 0 || g.Stride()%PageSize != 0 {
			t.Errorf("%d threads: %+v", threads, g)
		}
	}
}

// TestSlotsAreSpread: stacks lie at equal distances, and thread pointers with them. Nearly all must find a block of their own
// at the first look; exact powers of two, which leave the lower half of the pointer after 512 stacks, half of them.
func TestSlotsAreSpread(t *testing.T) {
	g := DefaultGeometry(1000)
	for _, distance := range []uint64{0x801000, 0x800000, 0x10000, 0x11000, 0x21000, 0x1000, 0x40} {
		first, far := 0, 0
		taken := map[int]bool{}
		for i := range uint64(g.Slots / 4) {
			at := g.Slot(0x7f12345676c0 - i*distance)
			if !taken[at] {
				first++
			}
			n := 0
			for taken[at] {
				at = (at + 1) % g.Slots
				n++
			}
			taken[at] = true
			far = max(far, n)
		}
		want := g.Slots / 4 * 3 / 4
		if distance&(distance-1) == 0 {
			want = g.Slots / 4 / 2
		}
		if first < want || far > 16 {
			t.Errorf("at a distance of %#x: %d of %d found at the first look, the last after %d more", distance, first, g.Slots/4, far)
		}
	}
}

func FuzzDecodeHeader(f *testing.F) {
	h := &Header{Geometry: DefaultGeometry(1), Islands: []Island{{1, 2, 3}}}
	page := make([]byte, PageSize)
	h.Encode(page)
	f.Add(page)
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeHeader(b)
		if err != nil {
			return
		}
		if len(h.Islands) > MaxIslands || h.LedgerCap < 0 || h.LedgerCap > 1<<24 || h.Slots < 0 || h.BlockSize < 0 {
			t.Errorf("believed: %+v", h)
		}
		again := make([]byte, PageSize)
		h.Encode(again)
		if n := 8 + 8*(10+3*len(h.Islands)); !bytes.Equal(again[:n], b[:n]) {
			t.Error("encoding what was decoded gives something else")
		}
	})
}

func FuzzEntries(f *testing.F) {
	mem := make([]byte, 3*EntrySize)
	l := NewLedger(mem)
	l.Put(entry(1, 5))
	l.Put(entry(2, 2))
	f.Add(mem)
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, damaged := Entries(slices.Clone(b))
		if len(entries)+damaged > len(b)/EntrySize {
			t.Errorf("%d entries and %d damaged in %d bytes", len(entries), damaged, len(b))
		}
		for _, e := range entries {
			if e.Len < 1 || e.Len > len(e.Old) || e.State == LedgerFree {
				t.Errorf("believed: %+v", e)
			}
		}
	})
}
