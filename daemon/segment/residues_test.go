package segment

import (
	"testing"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// allocAll takes rooms of different sizes until the island is full, and checks that none overlaps another or a stub.
func allocAll(t *testing.T, sp *CodeSpace) (addrs []uint64, total uint64) {
	t.Helper()
	used := map[uint64]bool{} // by 64 bytes
	for i := 0; ; i++ {
		n := []int{64, 128, 192, 1024, 9000}[i%5]
		addr, ok := sp.alloc(n)
		if !ok {
			return addrs, total
		}
		for a := addr; a < addr+uint64(n); a += 64 {
			if used[a] || a < sp.Addr || a+64 > sp.Addr+sp.Size {
				t.Fatalf("%#x is given out twice, or lies outside", a)
			}
			used[a] = true
		}
		if sp.stubWithin(addr, n) {
			t.Fatalf("a stub lies within %d bytes at %#x", n, addr)
		}
		addrs, total = append(addrs, addr), total+uint64(n)
	}
}

func textAt(lo, hi uint64) []process.Mapping {
	return []process.Mapping{{Start: process.Addr(lo), End: process.Addr(hi), Perms: process.Read | process.Exec, Path: "/bin/x", Inode: 1}}
}

// TestRoomsKeepApartFromText: as long as there are pages whose addresses differ in the low bits from those of all text, rooms are
// there; in the end all of the island is used.
func TestRoomsKeepApartFromText(t *testing.T) {
	const island = 0x5605_f800_0000
	for _, c := range []struct {
		name   string
		text   []process.Mapping
		apart  int // rooms that are, at least
		before bool
	}{
		{"no text", nil, 1000, true},
		{"12 MiB of text", textAt(0x7f00_0000_0000, 0x7f00_00c0_0000), 1000, true},
		{"20 MiB of text", textAt(0x7f00_0000_0000, 0x7f00_0140_0000), 0, false},
	} {
		var r residues
		r.addText(c.text)
		sp := &CodeSpace{Island: trampoline.Island{Addr: island, Size: LargeIsland}, next: 0x1200}
		sp.keepApart(&r, 1)
		if (sp.residues != nil) != c.before {
			t.Errorf("%s: rooms keep apart: %v", c.name, sp.residues != nil)
		}
		sp.reserve(island + LargeIsland/4)
		sp.reserve(island + LargeIsland/2 + 100)
		addrs, total := allocAll(t, sp)
		apart := 0
		for apart < len(addrs) && r[residueOf(addrs[apart])] != textResidue {
			apart++
		}
		t.Logf("%s: %d rooms, %d of them before the first that shares low bits with text, %d KiB in all", c.name, len(addrs), apart, total>>10)
		if apart < c.apart || total < LargeIsland*9/10 {
			t.Errorf("%s: %d rooms keep apart, %d KiB are used", c.name, apart, total>>10)
		}
	}
}

// TestIslandsKeepApart: rooms of two islands do not share low bits either.
func TestIslandsKeepApart(t *testing.T) {
	var r residues
	a := &CodeSpace{Island: trampoline.Island{Addr: 0x5605_f800_0000, Size: LargeIsland}}
	b := &CodeSpace{Island: trampoline.Island{Addr: 0x7f05_f800_0000, Size: LargeIsland}}
	a.keepApart(&r, 1)
	b.keepApart(&r, 2)
	seen := map[int]*CodeSpace{}
	for range 2000 {
		for _, sp := range []*CodeSpace{a, b} {
			addr, ok := sp.alloc(192)
			if page := residueOf(addr); !ok || seen[page] != nil && seen[page] != sp {
				t.Fatalf("%#x shares low bits with the other island", addr)
			} else {
				seen[page] = sp
			}
		}
	}
}
