package lifecycle

// Counts says how many nodes are in a state, of those that are told.
type Counts struct{ Queued, Testing, Deferred, True, False int }

// Add counts a node.
func (c *Counts) Add(s State) {
	switch s {
	case Queued:
		c.Queued++
	case Testing:
		c.Testing++
	case Deferred:
		c.Deferred++
	case True:
		c.True++
	case False:
		c.False++
	}
}
