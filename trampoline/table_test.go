package trampoline

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// tableRun has a function add its second argument under its first, again and again in one block.
type tableRun struct {
	t    *testing.T
	r    *runner
	text []byte
	data []byte
}

func newTableRun(t *testing.T) *tableRun {
	r := startRunner(t)
	minis := []Mini{{Op: Set, Cell: wordCell(1), Expr: &Expr{Op: ExArg}},
		{Op: Add, Cell: wordCell(0), Expr: &Expr{Op: ExArg, Value: 1}, Table: tableCell, Key: wordCell(1)}}
	s := &sample{code: []byte{0x48, 0x81, 0xC7, 1, 2, 3, 4, 0xC3}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}}
	s.insts = decodeAll(s.code, funcAt)
	text := s.text(t, true)
	patch(t, planner.MakePlan(s.body(), s.points), map[planner.Point][]Group{{Kind: planner.FuncEntry, Addr: funcAt}: {{Owner: 1, Minis: minis}}}, text)
	return &tableRun{t: t, r: r, text: text, data: make([]byte, dataSize)}
}

func (tr *tableRun) add(key, v uint64) {
	_, got := tr.r.run(tr.t, funcAt, registers{x86.RDI: key, x86.RSI: v}, tr.text, tr.data)
	tr.data = got
}

// read is what the table holds.
func (tr *tableRun) read() (sums map[uint64]uint64, lost, all uint64) {
	b := block(tr.data, nativeGeometry.Slot(tr.r.self))
	word := func(at int32) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	sums = map[uint64]uint64{}
	for i := range int32(TableEntries) {
		at := tableCell + TableFirst + i*TableEntry
		if key := word(at); key != 0 {
			sums[key] += word(at + TableValue)
		} else if v := word(at + TableValue); v != 0 {
			lost += 1 << 62 // a sum under no key
		}
	}
	return sums, lost + word(tableCell+TableLost), word(wordCell(0))
}

// TestTables: what is added under keys is found under them, also where keys share a place, until there is no more room near it;
// nothing is lost without being counted.
func TestTables(t *testing.T) {
	tr := newTableRun(t)
	rng := rand.New(rand.NewPCG(3, 3))
	var keys []uint64
	for i := range 100 {
		keys = append(keys, 0x55d0_0000_1000+uint64(i)*40) // locks of an array
	}
	for k := uint64(1); len(keys) < 100+tableProbes+3; k += 7 { // and some that share a place
		if TablePlace(k) == 17 {
			keys = append(keys, k|7<<56)
		}
	}
	want, total := map[uint64]uint64{}, uint64(0)
	for range 1500 {
		k, v := keys[rng.IntN(len(keys))], rng.Uint64N(1000)
		tr.add(k, v)
		want[k] += v
		total += v
	}
	tr.add(0, 5)
	sums, lost, all := tr.read()
	without := uint64(0)
	for k, v := range want {
		got, ok := sums[k]
		if !ok {
			without += v
			continue
		}
		if got != v {
			t.Errorf("under %#x are %d, want %d", k, got, v)
		}
		delete(sums, k)
	}
	t.Logf("%d keys, %d of %d added up under none", len(want), lost, all)
	if len(sums) != 0 || lost != without || all != total+5 || without == 0 {
		t.Errorf("%d keys that nobody added to; %d lost, want %d; %d in all, want %d", len(sums), lost, without, all, total+5)
	}
}
