package decide

// A Run follows since when a value has held, forgiving short gaps.
type Run struct {
	From float64 // start of the earliest bin of the run
	On   bool    // the run goes on
	gap  int     // bins since the last one that held
}

// ForgivenGap is how many bins in a row may miss the threshold without ending a run.
const ForgivenGap = 2

// Add takes the next bin.
func (r *Run) Add(start float64, holds bool) {
	switch {
	case holds && !r.On:
		*r = Run{From: start, On: true}
	case holds:
		r.gap = 0
	case r.On:
		r.gap++
		r.On = r.gap <= ForgivenGap
	}
}
