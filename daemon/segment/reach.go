package segment

import (
	"sort"

	"culprit/daemon/process"
)

// A cluster is a region of the target's text (with the data that it refers to) that one island can serve.
type cluster struct {
	lo, hi uint64
	free   []gap // unmapped memory from which the whole cluster can be reached
}

type gap struct{ lo, hi uint64 }

// reach is how far a 32-bit displacement goes, with room for an island at the far end.
const reach = 1<<31 - LargeIsland - 1<<20

// clusters groups the file-backed mappings of a process. Text that lies far apart (the executable and its libraries) gets an
// island each.
func clusters(maps []process.Mapping) []cluster {
	var cs []cluster
	for _, m := range maps {
		if m.Inode == 0 || m.Path == "" || m.Path[0] != '/' {
			continue
		}
		lo, hi := uint64(m.Start), uint64(m.End)
		if n := len(cs); n > 0 && hi-cs[n-1].lo < reach/2 {
			cs[n-1].hi = hi
			continue
		}
		cs = append(cs, cluster{lo: lo, hi: hi})
	}
	return withText(cs, maps)
}

// withText keeps the clusters that hold executable code and finds the gaps around them.
func withText(all []cluster, maps []process.Mapping) (cs []cluster) {
	gaps := gapsOf(maps)
	for _, c := range all {
		text := false
		for _, m := range maps {
			text = text || m.Inode != 0 && uint64(m.Start) >= c.lo && uint64(m.End) <= c.hi && m.Executable()
		}
		if text {
			c.free = c.near(gaps)
			cs = append(cs, c)
		}
	}
	return cs
}

const (
	lowest  = 1 << 20          // above any sensible vm.mmap_min_addr
	highest = 0x7fff_ffff_0000 // top of user space with four-level page tables
)

func gapsOf(maps []process.Mapping) (gaps []gap) {
	at := uint64(lowest)
	for _, m := range maps {
		if s := uint64(m.Start); s > at && s < highest {
			gaps = append(gaps, gap{at, s})
		}
		at = max(at, uint64(m.End))
	}
	if at < highest {
		gaps = append(gaps, gap{at, highest})
	}
	return gaps
}

// near cuts the gaps to what the whole cluster reaches.
func (c cluster) near(gaps []gap) (near []gap) {
	lo, hi := uint64(lowest), c.lo+reach
	if c.hi > reach {
		lo = max(lo, c.hi-reach)
	}
	for _, g := range gaps {
		if g = (gap{max(g.lo, lo), min(g.hi, hi)}); g.lo < g.hi {
			near = append(near, g)
		}
	}
	return near
}

// largest is how many bytes the largest free piece within reach has.
func (c cluster) largest() (n uint64) {
	for _, g := range c.free {
		n = max(n, g.hi-g.lo)
	}
	return n
}

// keepAway is the distance that an island keeps from what may grow: the heap grows up from the end of bss, stacks and new
// mappings grow down.
const keepAway = 256 << 20

// candidates lists addresses for an island of the given size, best first: below the cluster, far enough from what may grow;
// then above it, behind the room that the heap may want; then wherever it fits.
func (c cluster) candidates(size uint64) (at []uint64) {
	try := func(a uint64, ok bool) {
		if ok {
			at = append(at, a&^0xfff)
		}
	}
	below := append([]gap(nil), c.free...)
	sort.Slice(below, func(i, j int) bool { return below[i].hi > below[j].hi })
	for _, g := range below {
		if g.hi <= c.lo {
			try(g.hi-size-keepAway, g.hi-g.lo > size+2*keepAway)
		}
	}
	for _, g := range c.free {
		if g.lo >= c.hi {
			try(g.hi-size-keepAway/8, g.hi-g.lo > size+2*keepAway)
		}
	}
	for _, g := range c.free {
		try(g.lo+(g.hi-g.lo-size)/2, g.hi-g.lo > size+2*4096)
	}
	return at
}
