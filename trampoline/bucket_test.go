package trampoline

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"culprit/grid"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// TestEdgesOfBuckets has the processor put the least and the largest value of every bucket, and values by chance, where
// grid.BucketOf says; nothing else in the block changes but the sum.
func TestEdgesOfBuckets(t *testing.T) {
	r := startRunner(t)
	add := map[planner.Point][]Group{{Kind: planner.FuncEntry, Addr: funcAt}: {{Owner: 1, Minis: []Mini{{Op: Add, Cell: wordCell(0), Expr: &Expr{Op: ExArg}, Buckets: bucketsCell}}}}}
	s := &sample{code: []byte{0x48, 0x81, 0xC7, 1, 2, 3, 4, 0xC3}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}}
	s.insts = decodeAll(s.code, funcAt)
	text := s.text(t, true)
	patch(t, planner.MakePlan(s.body(), s.points), add, text)
	values := []int64{math.MinInt64, -1, math.MaxInt64}
	for i := range grid.DistributionBuckets - 4 {
		low, high := grid.BucketEdges(i)
		values = append(values, int64(low), int64(uint64(high)-1))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values = append(values, int64(rng.Uint64()>>rng.IntN(64)))
	}
	used := map[int]bool{}
	for _, v := range values {
		_, got := r.run(t, funcAt, registers{x86.RDI: uint64(v)}, text, make([]byte, dataSize))
		b := block(got, nativeGeometry.Slot(r.self))
		for at := int32(8); at < blockSize; at += WordSize {
			want := uint64(0)
			switch at {
			case wordCell(0):
				want = uint64(v)
			case bucketsCell + int32(grid.BucketOf(v))*WordSize:
				want = 1
			}
			if n := binary.LittleEndian.Uint64(b[at:]); n != want {
				t.Fatalf("%d: the word at %d is %d, want %d", v, at, n, want)
			}
		}
		used[grid.BucketOf(v)] = true
	}
	if t.Logf("%d values in %d buckets", len(values), len(used)); len(used) < grid.DistributionBuckets-3 {
		t.Errorf("only %d of %d buckets were used", len(used), grid.DistributionBuckets)
	}
}
