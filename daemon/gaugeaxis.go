package daemon

// A gaugeAxis is the last moment at which a gauge was read, on both clocks. The means of intervals are exact for the time-stamp counter,
// so that is what their lengths go by.
type gaugeAxis struct {
	tsc uint64
	at  float64 // session time
}

// mostDrift is by how many seconds the axis may be away from the session's clock: the counter stands still while a virtual machine does.
const mostDrift = 0.1

// advance moves the axis to now and returns the session time of it.
func (x *gaugeAxis) advance(now uint64, d *Daemon) float64 {
	x.at += d.session.Clock.Seconds(float64(now - x.tsc))
	x.tsc = now
	if at := d.Now(); at-x.at > mostDrift || x.at-at > mostDrift {
		x.at = at
	}
	return x.at
}
