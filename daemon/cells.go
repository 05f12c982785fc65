package daemon

import (
	"fmt"

	"culprit/trampoline"
)

// A cellSpace hands out words of the thread blocks: the same offsets in every block.
type cellSpace struct {
	next, size int32
	free       map[int32][]int32 // by size

	distributions int // whose buckets are in use
	tables        int // in use
}

// firstCell leaves the first cache line to the block's owner word.
const firstCell = 64

func (c *cellSpace) init(blockSize int) {
	*c = cellSpace{next: firstCell, size: int32(blockSize), free: map[int32][]int32{}}
}

// alloc reserves n bytes in every block.
func (c *cellSpace) alloc(n int32) (int32, error) {
	if l := c.free[n]; len(l) > 0 {
		c.free[n] = l[:len(l)-1]
		return l[len(l)-1], nil
	}
	if c.next+n > c.size {
		return 0, fmt.Errorf("all %d bytes of probe variables of this process are in use: disable some metric-focus pairs first", c.size)
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
