package pcl

import (
	"maps"
	"slices"
	"sync"

	"culprit/pcl/syntax"
)

// Tunables are the tunable constants of a library: numbers that hypotheses read when they are tested. Any goroutine may use them.
type Tunables struct {
	mu     sync.RWMutex
	values map[string]float64
	at     map[string]syntax.Pos
	about  map[string]string
}

// NewTunables are none.
func NewTunables() *Tunables {
	return &Tunables{values: map[string]float64{}, at: map[string]syntax.Pos{}, about: map[string]string{}}
}

// Define gives a constant its value, as a text at a place does. about is what the text says of it; where it says nothing, what another text has said
// of the constant stays.
func (t *Tunables) Define(name string, value float64, at syntax.Pos, about string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[name], t.at[name] = value, at
	if about != "" {
		t.about[name] = about
	}
}

// Value is that of a constant; ok is false if there is none of the name.
func (t *Tunables) Value(name string) (v float64, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	v, ok = t.values[name]
	return v, ok
}

// About is what a text says of a constant; "" if none says anything.
func (t *Tunables) About(name string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.about[name]
}

// set changes a constant that there is; else it returns false.
func (t *Tunables) set(name string, value float64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.values[name]
	if ok {
		t.values[name] = value
	}
	return ok
}

// Names are those of all constants, sorted.
func (t *Tunables) Names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.values))
}
