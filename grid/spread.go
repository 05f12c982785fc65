package grid

import "sync"

// SpreadSlots is the number of intervals for which a Spread keeps distributions of their own.
const SpreadSlots = 128

// A Spread keeps how the distribution of a metric went over time, in a fixed number of intervals: when time runs past the last
// one, neighbours are merged and the intervals double, as the bins of a Histogram do. Its memory is bounded (256 KiB). All times
// are seconds since the session started. It may be used from any goroutine.
type Spread struct {
	mu    sync.Mutex
	start float64
	width float64
	slots [SpreadSlots]*Distribution // nil where there are no values
	total Distribution
}

// NewSpread makes an empty one whose first interval starts at start.
func NewSpread(start float64) *Spread { return &Spread{start: start, width: FinestWidth} }

// Add takes the values of an interval (start, end]. They go where its middle lies. Times that are not finite, are before the
// start of the spread or beyond 1e9 s are left out.
func (s *Spread) Add(start, end float64, growth *Distribution) {
	at := start + (end-start)/2
	if bad(at) || at < s.start || at > maxTime || growth.Step == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for at >= s.start+s.width*SpreadSlots {
		s.fold()
	}
	i := min(int((at-s.start)/s.width), SpreadSlots-1)
	if s.slots[i] == nil {
		s.slots[i] = new(Distribution)
	}
	s.slots[i].Add(growth)
	s.total.Add(growth)
}

// fold merges neighbours.
func (s *Spread) fold() {
	for i := range SpreadSlots / 2 {
		a, b := s.slots[2*i], s.slots[2*i+1]
		if a != nil && b != nil {
			a.Add(b)
		} else if a == nil {
			a = b
		}
		s.slots[i] = a
	}
	clear(s.slots[SpreadSlots/2:])
	s.width *= 2
}

// Width is the present length of an interval in seconds.
func (s *Spread) Width() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width
}

// Total is the distribution of all values.
func (s *Spread) Total() Distribution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Between is the distribution of the values from one time to another, to the nearest edges of intervals: what it covers can begin
// and end half of Width earlier or later.
func (s *Spread) Between(from, to float64) (d Distribution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, slot := range s.slots {
		if mid := s.start + (float64(i)+0.5)*s.width; slot != nil && mid > from && mid <= to {
			d.Add(slot)
		}
	}
	return d
}
