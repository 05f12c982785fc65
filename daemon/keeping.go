package daemon

// Probes that keep up with what descriptors stand for cost something else than those that count: what is opened is compared with a path,
// by a system call, and reads and writes are many more than opens. They are counted and priced apart.

// keeping is what such probes of a part cost.
type keeping struct {
	count uint64  // of them at the last pass
	ns    float64 // price of one execution; 0 until it is asked for
}

// priceKeeping is the share of the interval that these probes used.
func (p *part) priceKeeping(r *reading, interval float64) float64 {
	k := &p.keeping
	if p.Follows == 0 {
		return 0
	}
	if k.ns == 0 {
		k.ns = p.t.d.prices.averageOf(p.plan, true, p.Rows)
	}
	var sum uint64
	for _, slot := range r.slots {
		sum += p.t.Seg.Load(slot, p.Follows)
	}
	spent := float64(sum-k.count) * k.ns / 1e9 / interval
	k.count = sum
	return spent
}
