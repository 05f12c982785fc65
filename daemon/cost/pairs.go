package cost

import (
	"sync/atomic"

	"culprit/grid"
)

// Pairs are what the probes of single pairs took lately, as fractions of the targets' active time. The zero value is ready, and any goroutine may ask.
type Pairs struct {
	told atomic.Pointer[map[grid.PairKey]float64]
}

// Tell replaces what is told. Nobody changes it from then on.
func (p *Pairs) Tell(of map[grid.PairKey]float64) { p.told.Store(&of) }

// Told is what was told last; nil if nothing was.
func (p *Pairs) Told() map[grid.PairKey]float64 {
	if m := p.told.Load(); m != nil {
		return *m
	}
	return nil
}
