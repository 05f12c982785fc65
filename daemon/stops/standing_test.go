package stops

import (
	"math/rand/v2"
	"slices"
	"testing"

	"culprit/daemon/patch"
)

// TestSpanSet holds the search for spans against a look at each of them.
func TestSpanSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var spans []patch.Span
		for at := uint64(100); len(spans) < 1+r.IntN(10); at += r.Uint64N(20) {
			lo := at
			at += 2 + r.Uint64N(10)
			spans = append(spans, patch.Span{Lo: lo, Hi: at, Owner: len(spans)})
		}
		r.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		set := newSpanSet(slices.Clone(spans))
		for pc := uint64(95); pc < 500; pc++ {
			var got, want []int
			set.owners(pc, func(owner int) { got = append(got, owner) })
			for _, s := range spans {
				if s.Lo < pc && pc < s.Hi {
					want = append(want, s.Owner)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%#v at %d: %v, want %v", spans, pc, got, want)
			}
		}
	}
}
