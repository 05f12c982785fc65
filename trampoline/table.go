package trampoline

import (
	"math/bits"

	"culprit/trampoline/x86"
)

// A table of a thread block tells what is added by a key, the address of a lock for example: one probe then serves all objects.
// Keys are looked for at the place that their lower half hashes to and in the next few; one that finds no place there goes
// uncounted by key, which is counted. An entry that was taken stays taken.

// Layout of a table: the word of what found no place, then entries of a key and a sum. What is added while the key is 0 is under none:
// nobody has set it yet.
const (
	TableLost    = 0  // offset of the sum of what found no place
	TableFirst   = 16 // offset of the first entry
	TableEntry   = 16 // size of an entry in bytes: the key, then the sum at TableValue
	TableValue   = 8
	tablePlaces  = 256 // places that keys hash to; a power of two
	tableProbes  = 8   // entries at which a key is looked for
	TableEntries = tablePlaces + tableProbes - 1
	// TableSize is the size in bytes of the cell of a table.
	TableSize = TableFirst + TableEntries*TableEntry
)

// secondFactor is that of the second multiplication: the second prime of xxHash for 32 bits.
const secondFactor = 0x85EBCA77

// TablePlace is the number of the entry at which a key is looked for first. Locks of an array lie at equal distances, and for any
// factor there are distances whose multiples fall together: two multiplications, with the bytes turned round between them, leave
// none that matter.
func TablePlace(key uint64) int {
	h := bits.ReverseBytes32(uint32(key) * hashFactor)
	return int(h * secondFactor >> (32 - uint(bits.Len(tablePlaces-1))))
}

// tabled reports whether the primitive adds to a table.
func (m *Mini) tabled() bool {
	switch m.Op {
	case Add, WallLeave, WallStop, CPULeave, CPUStop, RunLeave, RunStop, RowLeave, RowStop:
		return m.Table != 0
	}
	return false
}

// table adds the value in rax to the entry of the key that the word at m.Key holds. rax and rdx are gone afterwards.
func (g *generator) table(m *Mini) {
	if !m.tabled() {
		return
	}
	found, done := g.NewLabel(), g.NewLabel()
	g.push(x86.RAX)
	none := g.outOfLine(func() {
		g.pop(x86.RAX)
		g.JmpNear(done)
	})
	g.MovRM(x86.RAX, x86.RCX, m.Key)
	g.TestRR(x86.RAX, x86.RAX)
	g.JccNear(x86.CondE, none)
	g.place()
	g.CmpMR(x86.RDX, m.Table+TableFirst, x86.RAX)
	g.JccNear(x86.CondNE, g.outOfLine(func() { g.search(m, found, done) }))
	g.Bind(found)
	g.pop(x86.RAX)
	g.AddMR(x86.RDX, m.Table+TableFirst+TableValue, x86.RAX)
	g.Bind(done)
}

// place leaves in rdx how far behind the block's address the entry is that the key in rax is looked for at first, the block's
// address included: imul $hashFactor, %eax, %edx; bswap %edx; imul $secondFactor, %edx, %edx; shr, shl, add.
func (g *generator) place() {
	f, s := uint32(hashFactor), uint32(secondFactor)
	g.Raw(0x69, 0xD0, byte(f), byte(f>>8), byte(f>>16), byte(f>>24))
	g.Raw(0x0F, 0xCA)
	g.Raw(0x69, 0xD2, byte(s), byte(s>>8), byte(s>>16), byte(s>>24))
	g.Raw(0xC1, 0xEA, byte(32-bits.Len(tablePlaces-1)))
	g.ShlRI(x86.RDX, uint8(bits.Len(TableEntry-1)))
	g.AddRR(x86.RDX, x86.RCX)
}

// search looks for the key in rax, which is not at the entry that rdx leads to, there and in the next few entries, and takes the
// first free one. An entry that is free ends the search, since none is ever given back.
func (g *generator) search(m *Mini, found, done x86.Label) {
	for i := range tableProbes {
		if i > 0 {
			g.AddRI(x86.RDX, TableEntry)
			g.CmpMR(x86.RDX, m.Table+TableFirst, x86.RAX)
			g.JccNear(x86.CondE, found)
		}
		taken := g.NewLabel()
		g.CmpMI(x86.RDX, m.Table+TableFirst, 0)
		g.Jcc(x86.CondNE, taken)
		g.MovMR(x86.RDX, m.Table+TableFirst, x86.RAX)
		g.JmpNear(found)
		g.Bind(taken)
	}
	g.pop(x86.RAX)
	g.AddMR(x86.RCX, m.Table+TableLost, x86.RAX)
	g.JmpNear(done)
}
