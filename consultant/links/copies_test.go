package links

import (
	"slices"
	"testing"
)

// A copy is made anew where it does not stay right, and where something has changed; what was handed out before stays as it was.
func TestCopies(t *testing.T) {
	things, stays := []int{10, 20, 30}, []bool{true, false, true}
	var made []int
	var c Copies[int]
	all := func() []int {
		made = nil
		return c.All(len(things), func(i int, out *int) bool {
			made = append(made, i)
			*out = things[i]
			return stays[i]
		})
	}
	first := all()
	if !slices.Equal(first, things) || !slices.Equal(made, []int{0, 1, 2}) {
		t.Errorf("at first %v, made %v", first, made)
	}
	things, stays = []int{11, 21, 30, 40}, append(stays, true)
	c.Changed(0)
	c.Changed(3) // it has no copy yet
	if got := all(); !slices.Equal(got, things) || !slices.Equal(made, []int{0, 1, 3}) {
		t.Errorf("then %v, made %v", got, made)
	}
	if !slices.Equal(first, []int{10, 20, 30}) {
		t.Errorf("what was handed out has become %v", first)
	}
}
