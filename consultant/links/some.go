package links

import "slices"

// Some remembers whether a list has one of a kind, so that the list is not looked through each time. The zero value knows nothing.
type Some[T comparable] struct {
	last   T
	has    bool
	none   bool
	noneAt float64
}

// Exists tells whether one of the list is of the kind at a time. What is remembered that none is holds at that time alone.
func (s *Some[T]) Exists(list []T, now float64, is func(T) bool) bool {
	if s.none && s.noneAt == now {
		return false
	}
	if s.has && is(s.last) {
		return true
	}
	i := slices.IndexFunc(list, is)
	if s.has = i >= 0; s.has {
		s.last = list[i]
	}
	s.none, s.noneAt = !s.has, now
	return s.has
}

// Changed forgets that there was none: the list, or one in it, has changed.
func (s *Some[T]) Changed() { s.none = false }
