// Package earlier keeps what a search found and what does not hold any longer.
//
// It is pure and has no lock: whoever owns a List guards it.
package earlier

import (
	"cmp"
	"slices"
)

// Most bounds the answers of a List: those with the most at stake for the longest are kept.
const Most = 32

// explained is the part of the time of an answer in which others below it held: then they say it.
const explained = 0.5

// An Answer is something that held.
type Answer struct {
	Node     int     // of the search
	From, To float64 // s since session start; when it held first, and when it was seen last
	Times    int     // how often it held
	Severity float64 // what was at stake, 0..1
	Why      string  // the hypothesis that held
	Sentence string
}

// An entry is an answer with what it is compared by.
type entry struct {
	Answer
	held  float64 // s in which it held
	above []int   // the nodes above it
}

// A List holds what is over, one answer for each node. The zero value is empty.
type List struct{ entries []entry }

// Before is since when, and how often, a node held that holds no longer; times is 0 if it never did.
func (l *List) Before(node int) (from float64, times int) {
	if i := l.find(node); i >= 0 {
		return l.entries[i].From, l.entries[i].Times
	}
	return 0, 0
}

func (l *List) find(node int) int {
	return slices.IndexFunc(l.entries, func(e entry) bool { return e.Node == node })
}

// Add takes an answer that has held since a time and holds no longer; above are the nodes above its own. It takes the place of an earlier one of its
// node. It is left out where answers below it held for most of the time and are over, too.
func (l *List) Add(a Answer, since float64, above []int) {
	held := max(a.To-since, 0)
	if l.below(a.Node, since, a.To) >= explained*held && held > 0 {
		return
	}
	e := entry{Answer: a, held: held, above: above}
	if i := l.find(a.Node); i >= 0 {
		e.held += l.entries[i].held
		l.entries = slices.Delete(l.entries, i, i+1)
	}
	if l.entries = append(l.entries, e); len(l.entries) > Most {
		least := slices.MinFunc(l.entries, func(a, b entry) int { return cmp.Compare(a.Severity*a.held, b.Severity*b.held) })
		i := l.find(least.Node)
		l.entries = slices.Delete(l.entries, i, i+1)
	}
}

// below is for how many s of a time answers below a node held.
func (l *List) below(node int, from, to float64) (s float64) {
	for _, e := range l.entries {
		if slices.Contains(e.above, node) {
			s += max(min(to, e.To)-max(from, e.From), 0)
		}
	}
	return s
}

// All are the answers whose nodes do not hold again, what ended last first.
func (l *List) All(holds func(node int) bool) []Answer {
	list := []Answer{}
	for _, e := range l.entries {
		if !holds(e.Node) {
			list = append(list, e.Answer)
		}
	}
	slices.SortStableFunc(list, Newest)
	return list
}

// Newest orders answers: what ended last first.
func Newest(a, b Answer) int {
	return cmp.Or(cmp.Compare(b.To, a.To), cmp.Compare(b.Severity, a.Severity))
}
