package trampoline

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"culprit/trampoline/planner"
)

// Cells of gauges in the block of a test: two of the thread's own, and one that is a part of the process's.
var gaugeCells = [...]int32{6912, 6912 + GaugeSize, 6912 + 2*GaugeSize}

const (
	sharedGauge = 2
	// sharedAt is where the value of the process's gauge stands: in the overflow block.
	sharedAt = dataAt + PageSize + 8*blockSize + 6912 + sharedGauge*GaugeSize + GaugeShared
)

// randomGauge makes a primitive that changes a gauge.
func randomGauge(rng *rand.Rand, k planner.PointKind, m *Mini) {
	i := rng.IntN(len(gaugeCells))
	m.Cell = gaugeCells[i]
	if i == sharedGauge {
		m.Shared = true
	}
	m.Expr = &Expr{Op: ExConst, Value: rng.Int64N(9) - 4}
	if rng.IntN(2) == 0 {
		m.Expr = randomExpr(rng, k, 1+rng.IntN(3))
	}
}

// gaugeLeaf is the value of a gauge.
func gaugeLeaf(rng *rand.Rand) *Expr {
	if i := rng.IntN(len(gaugeCells)); i != sharedGauge {
		return &Expr{Op: ExWord, Value: int64(gaugeCells[i] + GaugeValue)}
	}
	return &Expr{Op: ExShared, Value: int64(gaugeCells[sharedGauge])}
}

// gauge changes a gauge. When that was is not known.
func (m *model) gauge(p *Mini) {
	v := m.eval(p.Expr)
	was := m.word(p.Cell + GaugeValue)
	if p.Shared {
		was = m.shared
	}
	now := v
	if p.Op == GaugeAdd {
		now = was + v
	} else {
		m.set(p.Cell+GaugeSince, 1)
	}
	if p.Shared {
		m.shared = now
	}
	m.set(p.Cell+GaugeValue, m.word(p.Cell+GaugeValue)+now-was)
	m.changes[p.Cell] = append(m.changes[p.Cell], int64(now-was))
	key := GaugeKey(int64(now))
	m.set(p.Cell+GaugeMost, max(m.word(p.Cell+GaugeMost), key))
	m.set(p.Cell+GaugeLeast, max(m.word(p.Cell+GaugeLeast), ^key))
}

// compareGauges holds the cells of gauges against the model.
func (m *model) compareGauges(got []byte) error {
	for i, c := range gaugeCells {
		word := func(off int32) uint64 { return binary.LittleEndian.Uint64(got[c+off:]) }
		for _, off := range []int32{GaugeValue, GaugeMost, GaugeLeast, GaugeShared} {
			if g, w := word(off), m.word(c+off); g != w {
				return fmt.Errorf("word %d of gauge %d is %#x, the interpreter says %#x", off, i, g, w)
			}
		}
		if (word(GaugeSince) != 0) != (m.word(c+GaugeSince) != 0) {
			return fmt.Errorf("gauge %d was set first at %d, the interpreter says %v", i, word(GaugeSince), m.word(c+GaugeSince) != 0)
		}
		if err := plausibleArea(word(GaugeArea), word(GaugeSince), m.changes[c]); err != nil {
			return fmt.Errorf("gauge %d: %w", i, err)
		}
	}
	return nil
}

// plausibleArea checks the sum of changes times when they were. The times are not known, but that they lie within some seconds of the
// time when the gauge was first set.
func plausibleArea(area, since uint64, changes []int64) error {
	const most = 1 << 36 // cycles
	sum, size, nonzero := int64(0), uint64(0), false
	for _, d := range changes {
		sum += d
		size += uint64(max(d, -d))
		nonzero = nonzero || d != 0
		if d > 1<<20 || d < -1<<20 {
			return nil // a bound would say nothing
		}
	}
	switch off := int64(area - uint64(sum)*since); {
	case !nonzero && area != 0:
		return fmt.Errorf("without a change its area is %#x", area)
	case nonzero && since != 0 && uint64(max(off, -off)) > size*most:
		return fmt.Errorf("changes %v make an area of %d beyond %d times %d", changes, off, sum, since)
	}
	return nil
}

// compareShared holds the word of the process against the model.
func (m *model) compareShared(data []byte) error {
	if got := binary.LittleEndian.Uint64(data[sharedAt-dataAt:]); got != m.shared {
		return fmt.Errorf("the gauge of the process is %#x, the interpreter says %#x", got, m.shared)
	}
	return nil
}

func TestGaugeKeyOrders(t *testing.T) {
	values := []int64{-1 << 63, -1 << 40, -2, -1, 0, 1, 2, 1 << 40, 1<<63 - 1}
	for i, v := range values {
		if GaugeOf(GaugeKey(v)) != v {
			t.Errorf("%d comes back as %d", v, GaugeOf(GaugeKey(v)))
		}
		if i > 0 && GaugeKey(values[i-1]) >= GaugeKey(v) {
			t.Errorf("the keys of %d and %d are in the wrong order", values[i-1], v)
		}
	}
	if GaugeKey(-1<<63) != 0 {
		t.Error("the lowest value has no key of 0")
	}
}

// TestUnalignedGauge: the processor would fault in the target.
func TestUnalignedGauge(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("code was made for a gauge whose cell is not aligned")
		}
	}()
	s := makeSample(rand.New(rand.NewPCG(1, 1)))
	plan := planner.MakePlan(s.body(), s.points)
	for _, site := range plan.Sites {
		groups := make([][]Group, len(site.Marks))
		for i := range groups {
			groups[i] = []Group{{Owner: 1, Minis: []Mini{{Op: GaugeAdd, Cell: 72, Expr: &Expr{Value: 1}}}}}
		}
		if _, err := Generate(nativeEnv(), site, groups, roomAt); err != nil {
			t.Fatal(err)
		}
	}
}
