package wire

import (
	"fmt"

	"culprit/grid"
)

// FocusOf is a focus as it is sent.
func FocusOf(f grid.Focus) (w Focus) {
	for h := range grid.Defined + 1 {
		if path := f.Elements(h); len(path) > 0 {
			w = append(w, Selection{uint8(h), path})
		}
	}
	return w
}

// Focus reads it back. The error is ErrFrame for what is no focus.
func (w Focus) Focus() (f grid.Focus, err error) {
	for _, s := range w {
		if grid.Hierarchy(s.Hierarchy) > grid.Defined || len(s.Path) == 0 || f.Depth(grid.Hierarchy(s.Hierarchy)) > 0 {
			return grid.Focus{}, ErrFrame{fmt.Sprintf("a focus that selects %q in hierarchy %d", s.Path, s.Hierarchy)}
		}
		f = f.Refine(grid.Hierarchy(s.Hierarchy), s.Path...)
	}
	return f, nil
}

// PairOf is a pair as it is sent, under a number.
func PairOf(id uint32, k grid.PairKey) Pair { return Pair{id, k.Metric, FocusOf(k.Focus)} }

// Key reads it back.
func (p Pair) Key() (grid.PairKey, error) {
	f, err := p.Focus.Focus()
	return grid.PairKey{Metric: p.Metric, Focus: f}, err
}

// DistributionOf is a distribution as it is sent.
func DistributionOf(d *grid.Distribution) *Distribution {
	w := &Distribution{Sum: d.Sum, Step: d.Step}
	for i, n := range d.Counts {
		if n > 0 {
			w.Buckets, w.Counts = append(w.Buckets, uint8(i)), append(w.Counts, n)
		}
	}
	return w
}

// Distribution reads it back. The error is ErrFrame for what is none.
func (w *Distribution) Distribution() (*grid.Distribution, error) {
	if len(w.Buckets) != len(w.Counts) {
		return nil, ErrFrame{"a distribution whose buckets and counts do not match"}
	}
	d := &grid.Distribution{Sum: w.Sum, Step: w.Step}
	for i, b := range w.Buckets {
		if int(b) >= grid.DistributionBuckets {
			return nil, ErrFrame{fmt.Sprintf("a distribution with a bucket %d", b)}
		}
		d.Counts[b] = w.Counts[i]
	}
	return d, nil
}

// Give gives a value to the sink of its pair, in the way that the sink takes it. A distribution that is none, or for a sink that takes
// none, is dropped.
func (v *Value) Give(sink grid.Sink, key grid.PairKey) {
	switch {
	case v.Dist != nil:
		ds, ok := sink.(grid.DistributionSink)
		if growth, err := v.Dist.Distribution(); ok && err == nil {
			ds.Distribute(key, v.Start, v.End, growth)
		}
	case v.Held != nil:
		if hs, ok := sink.(grid.HeldSink); ok {
			hs.Hold(key, v.Start, v.End, *v.Held)
			return
		}
		sink.Sample(key, v.Start, v.End, v.Held.Mean)
	default:
		sink.Sample(key, v.Start, v.End, v.Value)
	}
}
