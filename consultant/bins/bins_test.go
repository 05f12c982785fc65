package bins

import (
	"math"
	"slices"
	"testing"
)

// TestReader: bins of different widths are read side by side in the widest of them, and a bin that misses a value is not read.
func TestReader(t *testing.T) {
	fine := &Series{start: 10, width: 1, rates: []float64{1, 3, math.NaN(), 5, 7, 9}, until: 16}
	wide := &Series{start: 10, width: 2, rates: []float64{10, 20, 30}, until: 15}
	r, ok := NewReader([]*Series{fine, wide})
	if !ok || r.Start != 10 || r.Width != 2 || r.Until != 15 {
		t.Fatalf("%v %+v", ok, r)
	}
	for at, want := range map[float64][]float64{10: {2, 10}, 12: nil, 14: {8, 30}, 16: nil, 8: nil} {
		b, ok := r.At(at)
		if ok != (want != nil) || ok && (!slices.Equal(b.Values, want) || b.Start != at || b.End != at+2) {
			t.Errorf("at %v: %v %+v, want %v", at, ok, b, want)
		}
	}
	if e := r.Edge(11.5); e != 12 {
		t.Errorf("the edge after 11.5 is %v", e)
	}
	for _, none := range [][]*Series{nil, {fine, nil}, {{start: 1}}} {
		if _, ok := NewReader(none); ok {
			t.Errorf("%v can be read", none)
		}
	}
}
