package probe

import (
	"culprit/daemon/kernel"
	"culprit/daemon/target"
	"culprit/grid"
)

// A GaugeAxis is the last moment at which a gauge was read in all its targets, on both clocks. The means of intervals are exact for the
// time-stamp counter, so that is what their lengths go by. The zero value has read nothing.
type GaugeAxis struct {
	tsc uint64
	at  float64 // session time
}

// TSC is the time-stamp counter at the last reading.
func (x *GaugeAxis) TSC() uint64 { return x.tsc }

// Begin takes the first reading: extremes and integral count from here on.
func (x *GaugeAxis) Begin(s *target.Session, ms []*Meter) {
	for _, m := range ms {
		m.gauge.read(m)
		m.gauge.settle()
	}
	*x = GaugeAxis{tsc: kernel.TSC(), at: s.Now()}
}

// Read reads a gauge in all its targets. It returns from when up to when, in session time, the values
// were what they are said to have been; there are none if that is not known.
func (x *GaugeAxis) Read(s *target.Session, ms []*Meter) (start, end float64, values []grid.Held) {
	for _, m := range ms {
		m.gauge.read(m)
	}
	now, begin := kernel.TSC(), x.tsc
	from, known := knownSince(ms, begin, now)
	for _, m := range ms {
		if known {
			values = append(values, m.gauge.over(m, from, begin, now)...)
		}
		m.gauge.settle()
	}
	end = x.advance(now, s)
	return end - s.Clock.Seconds(float64(now-from)), end, values
}

// knownSince is the earliest time from which a value of any of the meters can be told.
func knownSince(ms []*Meter, begin, now uint64) (from uint64, known bool) {
	from = now
	for _, m := range ms {
		if f, ok := m.gauge.knownSince(begin, now); ok {
			from, known = min(from, f), true
		}
	}
	return from, known
}

// mostDrift is by how many seconds the axis may be away from the session's clock: the counter stands still while a virtual machine does.
const mostDrift = 0.1

// advance moves the axis to now and returns the session time of it.
func (x *GaugeAxis) advance(now uint64, s *target.Session) float64 {
	x.at += s.Clock.Seconds(float64(now - x.tsc))
	x.tsc = now
	if at := s.Now(); at-x.at > mostDrift || x.at-at > mostDrift {
		x.at = at
	}
	return x.at
}
