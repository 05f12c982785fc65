package daemon

import (
	"culprit/pcl"
	"culprit/trampoline"
)

// Probes that keep up with what descriptors stand for cost something else than those that count: what is opened is compared with a path,
// by a system call, and reads and writes are many more than opens. They are counted and priced apart.

// keeping is what such probes of a part cost.
type keeping struct {
	cell  int32   // that counts their executions; 0 if there are none
	count uint64  // of them at the last pass
	ns    float64 // price of one execution; 0 until it is asked for
}

// reserveKeeping reserves the cell where it is needed.
func (p *part) reserveKeeping() (err error) {
	if p.follows {
		p.keeping.cell, err = p.t.Cells.Alloc(trampoline.WordSize)
	}
	return err
}

// hitsOf is the cell that counts executions of a request; -1 if none does.
func (p *part) hitsOf(r *pcl.Request) int32 {
	if r.Follows && p.keeping.cell != 0 {
		return p.keeping.cell
	}
	return p.hits
}

// priceKeeping is the share of the interval that these probes used.
func (p *part) priceKeeping(r *reading, interval float64) float64 {
	k := &p.keeping
	if k.cell == 0 {
		return 0
	}
	if k.ns == 0 {
		k.ns = p.t.d.prices.averageOf(p.plan, true, p.rows)
	}
	var sum uint64
	for _, slot := range r.slots {
		sum += p.t.Seg.Load(slot, k.cell)
	}
	spent := float64(sum-k.count) * k.ns / 1e9 / interval
	k.count = sum
	return spent
}
