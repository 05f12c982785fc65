package daemon

import "culprit/grid"

// distribute hands what came into the buckets of a pair since p.last, in all its processes, to its sink.
func (d *Daemon) distribute(p *pair, now float64) {
	sink, ok := p.sink.(grid.DistributionSink)
	if !ok {
		return
	}
	var all grid.Distribution
	for _, pt := range p.parts {
		if pt.probes == nil {
			continue
		}
		if growth := pt.probes.Distribute(); growth != nil {
			all.Add(growth)
		}
	}
	if all.Count() > 0 {
		sink.Distribute(p.key, p.last, now, &all)
	}
}
