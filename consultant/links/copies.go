package links

import "slices"

// Copies keeps a copy of each of a growing list of things, for readers: most of many things do not change between two readers. The zero value
// is empty. Whoever owns it guards it.
type Copies[T any] struct {
	list  []T
	right []bool // the copy is still that of the thing
}

// Changed has the copy of a thing, by its place in the list, be made anew.
func (c *Copies[T]) Changed(i int) {
	if i < len(c.right) {
		c.right[i] = false
	}
}

// All returns the copies of n things. fill makes that of a thing over an earlier one, and tells whether it stays right until Changed is called.
func (c *Copies[T]) All(n int, fill func(i int, out *T) (stays bool)) []T {
	more := n - len(c.list)
	c.list, c.right = append(c.list, make([]T, more)...), append(c.right, make([]bool, more)...)
	for i, right := range c.right {
		if !right {
			c.right[i] = fill(i, &c.list[i])
		}
	}
	return slices.Clone(c.list)
}
