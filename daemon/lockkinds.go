package daemon

// Locks become known by being taken.

// findTaken makes resources of the locks in the tables of all pairs: of many the busiest first. d.mu is held.
func (d *Daemon) findTaken() {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			if pt.probes != nil && !pt.t.ended {
				pt.probes.FindTaken()
			}
		}
	}
}

// onlyTaken reports whether a lock is known by being taken alone: nobody was seen waiting for it in any process, so there is nothing to
// search. d.mu is held.
func (d *Daemon) onlyTaken(kind, name string) bool {
	known := false
	for _, t := range d.targets {
		has, only := t.Locks.OnlyTaken(kind, name)
		if has && !only {
			return false
		}
		known = known || has
	}
	return known
}
