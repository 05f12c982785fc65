package sampling

import (
	"math"
	"testing"

	"culprit/grid"
)

// TestWokenBy: who ends waits is counted by thread and function, with the part in which it worked; it fades, and a disk is not put down to a
// program that its interrupt came upon.
func TestWokenBy(t *testing.T) {
	c := &Counts{woken: map[string]*wokenBy{}}
	pipe := grid.Whole().Refine(grid.IO, "Pipe", "a")
	part := ObjectPart(pipe)
	for i := range 10 {
		list := []Waker{{Thread: "reader", Function: "a.c/parse", Of: 0.9, Works: i < 8}, {Thread: Kernel, Of: 0.1}}
		c.woken[part] = c.woken[part].with(list)
	}
	got := map[string]grid.Holder{}
	for _, h := range wakersAt(pipe, c, c) {
		got[h.Thread] = h
	}
	if r := got["reader"]; len(got) != 2 || math.Abs(r.Share-0.9) > 1e-9 || math.Abs(r.Works-0.72) > 1e-9 || !r.Wakes || r.Function != "a.c/parse" {
		t.Errorf("%+v", got)
	}
	if wakersAt(grid.Whole().Refine(grid.IO, "Pipe", "b"), c) != nil {
		t.Error("nobody has waited there")
	}
	for range 60 {
		c.fadeWoken()
	}
	if len(c.woken) != 0 {
		t.Errorf("after a minute there is %+v", c.woken)
	}
	for _, w := range byKernel([]Waker{{Thread: "bystander{7}", Outside: true, Of: 0.5}, {Thread: "writer", Of: 0.5}}) {
		if w.Thread != Kernel && w.Thread != "writer" {
			t.Errorf("%+v has ended a wait for a file", w)
		}
	}
}

// wakersAt is who ended the waits at a focus, in several processes together.
func wakersAt(f grid.Focus, all ...*Counts) []grid.Holder {
	var s Tally
	for _, c := range all {
		s.Add(c, f)
	}
	return s.Wakers()
}
