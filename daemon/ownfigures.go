package daemon

// What culprit knows of its own work.

// samplingRate is how often a second values are read: once in each interval.
func samplingRate(_ *kernelMeter, interval float64) float64 {
	if interval <= 0 {
		return 0
	}
	return 1 / interval
}

// dropped counts stack samples that the kernel took and for which there was no room any more. All targets share the room: they
// are counted with the first.
func (m *kernelMeter) dropped(float64) float64 {
	if d := m.t.d; d.rings != nil && m.t == d.targets[0] {
		return m.since(float64(d.rings.Lost()))
	}
	return 0
}
