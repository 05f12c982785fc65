package locks

import "culprit/grid"

// Holders counts who has locks while others wait for them. Its zero value is empty.
type Holders struct {
	byPart map[string]*heldBy
}

// A heldBy counts looks at one lock.
type heldBy struct {
	looks     float64
	threads   map[string]float64 // by name: they may have ended when somebody asks
	functions map[string]map[uint64]float64
}

// Note counts a look at the lock that a part names. thread is who had it, "" if nobody that is known; function where that thread was, 0 if it is
// not known.
func (s *Holders) Note(part, thread string, function uint64) {
	h := s.byPart[part]
	if h == nil {
		if s.byPart == nil {
			s.byPart = map[string]*heldBy{}
		}
		h = &heldBy{threads: map[string]float64{}, functions: map[string]map[uint64]float64{}}
		s.byPart[part] = h
	}
	h.looks++
	if thread == "" {
		return // let go of in between, or the number of a thread in another namespace
	}
	h.threads[thread]++
	if h.functions[thread] == nil {
		h.functions[thread] = map[uint64]float64{}
	}
	if function != 0 {
		h.functions[thread][function]++
	}
}

// least is a count below which what was seen is forgotten.
const least = 0.01

// Fade leaves of each count so much, so that they say what happened lately.
func (s *Holders) Fade(left float64) {
	for part, h := range s.byPart {
		if h.looks *= left; h.looks < least {
			delete(s.byPart, part)
			continue
		}
		fadeAll(h.threads, left)
		for name, at := range h.functions {
			if fadeAll(at, left); h.threads[name] == 0 {
				delete(h.functions, name)
			}
		}
	}
}

func fadeAll[K comparable](m map[K]float64, left float64) {
	for k, v := range m {
		if v *= left; v < least {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
}

// Of tells which threads had a lock, and in which function each was most often; nameOf names a function, "" if it is not known.
func (s *Holders) Of(part string, nameOf func(function uint64) string) (list []grid.Holder) {
	h := s.byPart[part]
	if h == nil {
		return nil
	}
	for name, n := range h.threads {
		one := grid.Holder{Thread: name, Share: n / h.looks}
		most := 0.0
		for f, n := range h.functions[name] {
			if text := nameOf(f); text != "" && n > most {
				one.Function, most = text, n
			}
		}
		list = append(list, one)
	}
	return list
}
