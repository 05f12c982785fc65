package measuring

// A reading is what a part has grown by, or what its value was, since the pair last handed it on: more than one pass long where another process of the
// pair could not be read meanwhile.
type reading struct {
	at   float64 // session time of the last reading
	v    float64
	span float64 // seconds that it covers
}

// Read reads the part at a session time. isValue says that it tells a value and not a growth.
func (p *Part) Read(now float64, isValue bool) {
	r := &p.reading
	interval := now - r.at
	if interval <= 0 {
		return
	}
	r.at = now
	v := p.Meter.Grown(interval)
	switch {
	case r.span == 0:
		r.v = v
	case isValue:
		r.v = (r.v*r.span + v*interval) / (r.span + interval)
	default:
		r.v += v
	}
	r.span += interval
}

// Take is what has been read since the last Take: how much it has grown, or the mean of its value.
func (p *Part) Take() float64 {
	v := p.reading.v
	p.reading = reading{at: p.reading.at}
	return v
}
