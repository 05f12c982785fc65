package remote

import "sync"

// Runs counts how often threads were let go on to make calls for us, by thread. The zero value has none. Any goroutine may use it.
type Runs struct {
	mu sync.Mutex
	of map[int]int
}

// Of is how often a thread was.
func (r *Runs) Of(tid int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[tid]
}

func (r *Runs) add(tid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[int]int{}
	}
	r.of[tid]++
}
