// Package links keeps lists of things in the order of their numbers, walks from one thing to others, and orders a tree that is given by names.
//
// It is pure and imports nothing of the house.
package links

import (
	"fmt"
	"slices"
)

// Toggle puts a thing into a list in the order of numbers, or takes it out that is in it.
func Toggle[T any](list []T, thing T, number func(T) int, in bool) []T {
	i, _ := slices.BinarySearchFunc(list, number(thing), func(t T, n int) int { return number(t) - n })
	if in {
		return slices.Insert(list, i, thing)
	}
	return slices.Delete(list, i, i+1)
}

// Insert puts a thing into a list in the order of numbers, unless it is in it.
func Insert[T any](list []T, thing T, number func(T) int) []T {
	i, has := slices.BinarySearchFunc(list, number(thing), func(t T, n int) int { return number(t) - n })
	if has {
		return list
	}
	return slices.Insert(list, i, thing)
}

// Walk visits a thing and those that next leads to, each once, until visit returns false for a way.
func Walk[T comparable](from T, visit func(T) bool, next func(T) []T) {
	seen := map[T]bool{from: true}
	stack := []T{from}
	for len(stack) > 0 {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !visit(t) {
			continue
		}
		for _, p := range next(t) {
			if !seen[p] {
				seen[p] = true
				stack = append(stack, p)
			}
		}
	}
}

// Mark marks what next leads to from a thing, near and far, except from what is marked already: all that it leads to is.
func Mark[T comparable](from T, marked map[T]bool, next func(T) []T) {
	for _, p := range next(from) {
		if !marked[p] {
			marked[p] = true
			Mark(p, marked, next)
		}
	}
}

// Nearest are the things of a kind that next leads to, each once, those in the fewest steps first.
func Nearest[T comparable](from T, is func(T) bool, next func(T) []T) (all []T) {
	const few = 64 // of which a look at each is faster than a table
	var met []T
	var seen map[T]bool
	meet := func(p T) (first bool) {
		switch {
		case seen == nil && slices.Contains(met, p) || seen[p]:
			return false
		case len(met) == few && seen == nil:
			seen = map[T]bool{}
			for _, q := range met {
				seen[q] = true
			}
		}
		if met = append(met, p); seen != nil {
			seen[p] = true
		}
		return true
	}
	for _, p := range next(from) {
		meet(p)
	}
	for i := 0; i < len(met); i++ { // level by level
		if is(met[i]) {
			all = append(all, met[i])
		}
		for _, p := range next(met[i]) {
			meet(p)
		}
	}
	return all
}

// Parents finds the parent of each hypothesis by its name: the index of it, -1 for the root, which is called top or "". It fails for two of
// one name, an unknown parent, and a circle.
func Parents(names, parents []string, top string) ([]int, error) {
	byName := map[string]int{top: -1, "": -1}
	for i, name := range names {
		if _, twice := byName[name]; twice {
			return nil, fmt.Errorf("hypothesis %q is defined twice; rename or remove one", name)
		}
		byName[name] = i
	}
	out := make([]int, len(names))
	for i, name := range names {
		p, ok := byName[parents[i]]
		if !ok {
			return nil, fmt.Errorf("hypothesis %q has the parent %q, which is not defined; define it or use %q", name, parents[i], top)
		}
		out[i] = p
	}
	for i, name := range names {
		steps := 0
		for p := out[i]; p >= 0; p = out[p] {
			if steps++; steps > len(names) {
				return nil, fmt.Errorf("hypothesis %q is its own ancestor; give it another parent", name)
			}
		}
	}
	return out, nil
}

// Later orders what is so behind what is not: 0 if both are alike, 1 if the first of the two is and the second is not.
func Later(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
