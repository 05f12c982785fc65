package daemon

// lockAll takes all locks of a daemon: nobody else looks at the targets or changes them until unlockAll.
func (d *Daemon) lockAll() {
	d.enabling.Lock()
	d.holdAll()
	d.mu.Lock()
}

func (d *Daemon) unlockAll() {
	d.mu.Unlock()
	d.held().release()
	d.enabling.Unlock()
}

// held is all targets, between lockAll and unlockAll.
func (d *Daemon) held() hold {
	h := hold{}
	for _, t := range d.targets {
		h[t] = true
	}
	return h
}

// tickAll is a tick that leaves out no target: it waits for those that are worked on.
func (d *Daemon) tickAll() {
	d.lockAll()
	defer d.unlockAll()
	d.passes.passHolding(d.held(), d.Now())
}
