package daemon

import (
	"errors"
	"fmt"

	"culprit/trampoline"
)

// A cellSpace hands out words of the thread blocks: the same offsets in every block.
type cellSpace struct {
	next, end, size int32             // of the step that is handed out; size of every step
	free            map[int32][]int32 // by size
	stride          int32             // from one step to the next
	grow            func() error      // gives every block another step; nil where there is one only

	distributions int // whose buckets are in use
	tables        int // in use
}

// firstCell leaves the first cache line to the block's owner word.
const firstCell = 64

func (c *cellSpace) init(g trampoline.Geometry, grow func() error) {
	size := int32(g.BlockSize)
	*c = cellSpace{next: firstCell, end: size, size: size, stride: int32(g.Stride()), grow: grow, free: map[int32][]int32{}}
}

// alloc reserves n bytes in every block.
func (c *cellSpace) alloc(n int32) (int32, error) {
	if l := c.free[n]; len(l) > 0 {
		c.free[n] = l[:len(l)-1]
		return l[len(l)-1], nil
	}
	if n == trampoline.GaugeSize { // whose words are changed together, and lie in one cache line
		c.next = (c.next + n - 1) &^ (n - 1)
	}
	if c.next+n > c.end {
		if err := c.more(); err != nil {
			return 0, err
		}
	}
	c.next += n
	return c.next - n, nil
}

// release gives a cell back, once no code refers to it.
func (c *cellSpace) release(off, n int32) {
	c.free[n] = append(c.free[n], off)
	switch n {
	case trampoline.BucketsSize:
		c.distributions--
	case trampoline.TableSize:
		c.tables--
	}
}

// more begins another step; what is left of the last one stays unused.
func (c *cellSpace) more() error {
	const full = "all probe variables of this process are in use: disable some metric-focus pairs first"
	if c.grow == nil {
		return errors.New(full)
	}
	if err := c.grow(); err != nil {
		return fmt.Errorf("%s (%w)", full, err)
	}
	c.next = c.end - c.size + c.stride
	c.end = c.next + c.size
	return nil
}
