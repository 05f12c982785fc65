package segment

import (
	"errors"
	"fmt"

	"culprit/trampoline"
)

// Cells hand out words of the thread blocks: the same offsets in every block.
type Cells struct {
	next, end, size int32             // of the step that is handed out; size of every step
	free            map[int32][]int32 // by size
	stride          int32             // from one step to the next
	grow            func() error      // gives every block another step; nil where there is one only

	distributions int // whose buckets are in use
	tables        int // in use
}

// FirstCell leaves the first cache line to the block's owner word.
const FirstCell = 64

// Init begins with the blocks of a geometry; grow gives every block one more step of words, and is nil where there is one step only.
func (c *Cells) Init(g trampoline.Geometry, grow func() error) {
	size := int32(g.BlockSize)
	*c = Cells{next: FirstCell, end: size, size: size, stride: int32(g.Stride()), grow: grow, free: map[int32][]int32{}}
}

// Alloc reserves n bytes in every block.
func (c *Cells) Alloc(n int32) (int32, error) {
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

// Release gives a cell back, once no code refers to it.
func (c *Cells) Release(off, n int32) {
	c.free[n] = append(c.free[n], off)
	switch n {
	case trampoline.BucketsSize:
		c.distributions--
	case trampoline.TableSize:
		c.tables--
	}
}

// more begins another step; what is left of the last one stays unused.
func (c *Cells) more() error {
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

// MaxDistributions is how many distributions have room in a process: three quarters of a thread block are for them, so that
// there is always room for other variables.
func MaxDistributions(blockSize int32) int { return int(blockSize / 4 * 3 / trampoline.BucketsSize) }

// AllocBuckets reserves the buckets of one distribution.
func (c *Cells) AllocBuckets() (int32, error) {
	if most := MaxDistributions(c.size); c.distributions*trampoline.BucketsSize+c.tables*trampoline.TableSize+trampoline.BucketsSize > int(c.size/4*3) {
		return 0, fmt.Errorf("a process has room for the distributions of %d metric-focus pairs, and all are in use: disable one of them, or measure the sum alone with a base that is no histogram", most)
	}
	off, err := c.Alloc(trampoline.BucketsSize)
	if err == nil {
		c.distributions++
	}
	return off, err
}

// AllocTable reserves a table, if there is room for one. Tables and distributions share three quarters of the block.
func (c *Cells) AllocTable() (int32, error) {
	if used := c.distributions*trampoline.BucketsSize + c.tables*trampoline.TableSize; int32(used+trampoline.TableSize) > c.size/4*3 {
		return 0, fmt.Errorf("no memory left for another per-object metric in this process (limit %d): disable a per-lock or per-file metric, or a distribution",
			int(c.size/4*3)/trampoline.TableSize)
	}
	off, err := c.Alloc(trampoline.TableSize)
	if err == nil {
		c.tables++
	}
	return off, err
}
