package check

import (
	"regexp"
	"slices"
)

// Kept are the names of what the daemon can take from the kernel. It is the daemon that knows them.
type Kept struct {
	Quantities []string // what kernel(NAME) may name
	Events     []string // what hwCounter(NAME) may name, beside events by their number
}

// numberedEvent is an event by its number in the manual of the CPU, such as "r01c2".
var numberedEvent = regexp.MustCompile(`^r[0-9a-f]{1,16}$`)

// isEvent reports whether hwCounter may name an event.
func (k *Kept) isEvent(name string) bool {
	return slices.Contains(k.Events, name) || numberedEvent.MatchString(name)
}
