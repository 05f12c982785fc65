package trampoline

import (
	"culprit/grid"
	"culprit/trampoline/x86"
)

// BucketsSize is the size in bytes of the cell of a distribution: a word for each bucket.
const BucketsSize = grid.DistributionBuckets * WordSize

// distributes reports whether the primitive puts a value into buckets.
func (m *Mini) distributes() bool {
	switch m.Op {
	case Add, WallLeave, WallStop, CPULeave, CPUStop, RunLeave, RunStop, RowLeave, RowStop:
		return m.Buckets != 0
	}
	return false
}

// bucket counts the value in rax by grid.BucketOf, without a branch: the value is shifted right until three bits are left, and
// there are four buckets for each place that it was shifted. Taking in bit 2 keeps values below 4 where they are. rax and rdx
// are gone afterwards. The block's address steps aside into rdx, since only cl can say how far to shift.
func (g *generator) bucket(m *Mini) {
	if !m.distributes() {
		return
	}
	g.MovRR(x86.RDX, x86.RAX)
	g.OrRI(x86.RDX, 1<<2)
	g.Bsr(x86.RDX, x86.RDX)
	g.XchgRR(x86.RCX, x86.RDX)
	g.SubRI(x86.RCX, 2)
	g.ShrRCL(x86.RAX)
	g.LeaIndex(x86.RAX, x86.RAX, x86.RCX, 0)
	g.IncIndexM(x86.RDX, x86.RAX, m.Buckets)
	g.MovRR(x86.RCX, x86.RDX)
}
