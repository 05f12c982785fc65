package measuring

// Ended reports whether the process has ended, or become another program. Any goroutine may ask.
func (t *Process) Ended() bool { return t.ended.Load() }

// End notes that, at a session time.
func (t *Process) End(now float64) {
	t.EndedAt = now
	t.ended.Store(true)
	t.Files.Close()
}
