package bins

import "culprit/grid"

// A Span is the time that histograms are about: a phase by its number and where it begins, or with number 0 the whole session.
type Span struct {
	Phase int
	Start float64 // s
}

type cached struct {
	pair grid.PairKey
	span Span
}

// A Cache copies each histogram once, as it is when somebody first asks for it.
type Cache struct {
	pair   func(grid.PairKey) (grid.Snapshot, bool)
	copies map[cached]*Series
}

// NewCache has no copies yet. pair finds what is known of a pair.
func NewCache(pair func(grid.PairKey) (grid.Snapshot, bool)) *Cache {
	return &Cache{pair: pair, copies: map[cached]*Series{}}
}

// Reader opens the histograms of pairs; ok is false while one of them is missing.
func (c *Cache) Reader(pairs []grid.PairKey, of Span) (r Reader, ok bool) {
	all := make([]*Series, len(pairs))
	for i, k := range pairs {
		if all[i] = c.series(k, of); all[i] == nil {
			return r, false
		}
	}
	return NewReader(all)
}

// series is the copy of one histogram; nil if there is none.
func (c *Cache) series(pair grid.PairKey, of Span) *Series {
	k := cached{pair, of}
	if s, ok := c.copies[k]; ok {
		return s
	}
	var s *Series
	if snap, ok := c.pair(pair); ok && snap.Histogram != nil {
		h := snap.Histogram
		if of.Phase > 0 {
			h = Finest(snap, of.Start)
		}
		s = Copy(h)
	}
	c.copies[k] = s
	return s
}
