package daemon

// SeenMost is the name among these of the function that was seen most often on the stacks of these processes lately; "" if none
// was.
func (d *Daemon) SeenMost(names []string, pids ...int) (most string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	best := 0.0
	for _, name := range names {
		seen := 0.0
		for _, pid := range pids {
			if t := d.byPID[pid]; t != nil {
				seen += t.profile.Seen(t.Named(name))
			}
		}
		if seen > best {
			most, best = name, seen
		}
	}
	return most
}
