package measuring

import (
	"sort"
	"sync"

	"culprit/grid"
)

// maxRefused bounds how many functions are known by name that take no probes.
const maxRefused = 1000

// Refusals are the functions that take no probes. The zero value is ready; any goroutine may use it.
type Refusals struct {
	mu      sync.Mutex
	reasons map[string]refusal // by function
	missed  map[string]string  // by metric: a function that the program uses, and that takes no probes of it
}

// A refusal is why a function is not instrumented. What one list names for many programs, and no target uses, is nothing to tell of.
type refusal struct {
	why  string
	used bool
}

// note keeps why a function takes no probes. used says that it is to be told of.
func (r *Refusals) note(function string, err error, used bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reasons == nil {
		r.reasons = map[string]refusal{}
	}
	if len(r.reasons) < maxRefused {
		r.reasons[function] = refusal{err.Error(), used || r.reasons[function].used}
	}
}

// miss notes that a metric does not tell of a function that the program uses.
func (r *Refusals) miss(metric, function string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed == nil {
		r.missed = map[string]string{}
	}
	r.missed[metric] = function
}

// MissedBy is a function that the program uses and that a metric does not tell of, "" if none is known.
func (r *Refusals) MissedBy(metric string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.missed[metric]
}

// Why is why a function takes no probes, "" if it is not known to take none.
func (r *Refusals) Why(function string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reasons[function].why
}

// List is all that were refused and are to be told of, by name.
func (r *Refusals) List() (all []grid.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for f, x := range r.reasons {
		if x.used {
			all = append(all, grid.Refusal{Function: f, Reason: x.why})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Function < all[j].Function })
	return all
}
