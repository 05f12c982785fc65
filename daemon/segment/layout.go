package segment

import (
	"fmt"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// What a target can afford. The memory of a segment is sparse, and costs what is touched of it; but where the target has asked for all
// memory to be locked (mlockall with MCL_FUTURE) the kernel fills all of it at once, and where its address space is limited all of it
// counts. Such a target gets little at first, and more as it is needed.

// A Layout says how much memory a segment is to have.
type Layout struct {
	trampoline.Geometry
	islandSize uint64
	little     bool   // little at first
	locked     uint64 // bytes of the target that are locked before
}

// LargeIsland is the room for trampolines near one cluster of text where memory that nobody touches costs nothing, and littleIsland where
// it costs.
const (
	LargeIsland  = 32 << 20
	littleIsland = 512 << 10
)

// MostAtOnce bounds what a target that fills all memory gets in one piece: a few milliseconds of a stop.
const MostAtOnce = 4 << 20

func ordinaryLayout(threads int) Layout {
	return Layout{Geometry: trampoline.DefaultGeometry(threads), islandSize: LargeIsland}
}

// littleLayout has blocks that take one table each, and ledger and islands for some thousand sites. Further steps and islands come later.
func littleLayout(threads int) Layout {
	g := trampoline.Geometry{Slots: 256, BlockSize: 1 << 13, LedgerCap: 1 << 13}
	for g.Slots < 2*threads {
		g.Slots *= 2
	}
	return Layout{Geometry: g, islandSize: littleIsland, little: true}
}

// size is about how much the target maps at first.
func (l Layout) size() uint64 {
	const clusters = 4
	return uint64(l.HeadSize()+claimsSize(l.Geometry)+l.Stride()) + clusters*l.islandSize
}

// plenty is so much address space that what we take of it cannot matter.
const plenty = 4 << 30

// LeastMemory must be left of a target's memory limits: some of it will be touched.
const LeastMemory = 1 << 20

// ChooseLayout decides how much memory the target is to get.
func ChooseLayout(p *process.Process, threads int) (Layout, error) {
	h, err := p.Headroom()
	if err != nil {
		return Layout{}, err
	}
	if h.Memory < 2*LeastMemory {
		return Layout{}, &process.Unsupported{What: fmt.Sprintf("a program that has %d KiB left of its memory limit", h.Memory>>10), Needs: "2 MiB"}
	}
	if err := AffordsMappings(p); err != nil {
		return Layout{}, err
	}
	l := ordinaryLayout(threads)
	if h.AddressSpace < plenty {
		l = littleLayout(threads)
		if err := l.within(h.AddressSpace, "limit of address space"); err != nil {
			return l, err
		}
	}
	l.locked = h.Locked
	return l, nil
}

// underLock is the layout for a target that fills all memory that it maps.
func underLock(p *process.Process, threads int) (Layout, error) {
	l := littleLayout(threads)
	if l.Slots*l.BlockSize > MostAtOnce {
		return l, &process.Unsupported{What: fmt.Sprintf("a program that locks all of its memory (mlockall) and has %d threads: counters for them would be filled at once", threads),
			Needs: "fewer threads"}
	}
	h, err := p.Headroom()
	if err == nil {
		err = l.within(h.Memory, "memory limit")
	}
	if err == nil {
		err = l.within(h.Lockable, "limit of locked memory")
	}
	l.locked = h.Locked
	return l, err
}

// Affordable tells why a process would not get the memory that probes take; nil if nothing speaks against it. Whether one that has locked
// memory also fills what it will map shows only when something is mapped: it is told as for one that does.
func Affordable(pid int) error {
	p, err := process.Look(pid)
	if err != nil {
		return nil // there is nothing to be said about it
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return nil
	}
	l, err := ChooseLayout(p, info.Threads)
	if err == nil && l.locked > 0 {
		if _, err = underLock(p, info.Threads); err != nil {
			err = fmt.Errorf("if it locks what it will map, too (mlockall): %w", err)
		}
	}
	return err
}

// share is the part of what a limit leaves that probes may take. What the program itself will take of it later is not known: where it comes that
// close to its limit it is about to fail anyway.
const share = 0.01

func tooMuch(size, left uint64) bool { return float64(size) > share*float64(left) }

// within refuses a layout that takes more than its share of what is left of something.
func (l Layout) within(left uint64, what string) error {
	if tooMuch(l.size(), left) {
		return noHeadroom(what, left, uint64(float64(l.size())/share))
	}
	return nil
}

func noHeadroom(what string, left, needed uint64) error {
	return &process.Unsupported{What: fmt.Sprintf("a program that has %d MiB left of its %s", left>>20, what),
		Needs: fmt.Sprintf("%d MiB: probes take no more than a hundredth of it, as the program may need the rest", needed>>20)}
}

// mostMappings is what probes map at most: two for an island, for it and its gate, and two each for head, counters, rows and what a stop
// needs for a moment.
const mostMappings = 2*trampoline.MaxIslands + 8

// mappingsToSpare is what a program that may have so many mappings must keep for itself: an allocator takes them by dozens, and where there
// is none left its mmap, mprotect and munmap fail.
func mappingsToSpare(most uint64) uint64 { return max(64, most/100) }

// AffordsMappings refuses to map anything in a process that has few mappings left.
func AffordsMappings(p *process.Process) error {
	has, most, err := p.Mappings()
	if err != nil {
		return err
	}
	return mappingsLeft(has, most)
}

func mappingsLeft(has, most uint64) error {
	left, needed := most-min(has, most), mostMappings+mappingsToSpare(most)
	if most == process.Unlimited || left >= needed {
		return nil
	}
	return &process.Unsupported{What: fmt.Sprintf("a program that has %d of the %d mappings that it may have (vm.max_map_count)", has, most),
		Needs: fmt.Sprintf("%d that are free, for probes and for the program to go on; raise the limit: sysctl -w vm.max_map_count=%d", needed, 2*most)}
}

// stillFits fails with errFills if something that was mapped for an ordinary layout was filled.
func (l Layout) stillFits(p *process.Process) error {
	if l.little {
		return nil
	}
	if now, err := p.Locked(); err != nil || now <= l.locked {
		return err
	}
	return errFills
}

// dataAt is where the counters begin: where there are to be steps behind them, far from all that may grow. 0 = anywhere.
func (l Layout) dataAt(maps []process.Mapping) process.Addr {
	if !l.little {
		return 0
	}
	return roomiest(maps)
}

// roomiest is the middle of the widest gap: nothing grows there, and the kernel puts nothing there by itself.
func roomiest(maps []process.Mapping) process.Addr {
	var widest gap
	for _, g := range gapsOf(maps) {
		if g.hi-g.lo > widest.hi-widest.lo {
			widest = g
		}
	}
	return process.Addr((widest.lo + (widest.hi-widest.lo)/2) &^ (trampoline.PageSize - 1))
}

// affords refuses more mappings where few are left, and more memory for a target that has little of something.
func (s *Segment) affords(size uint64) error {
	if err := AffordsMappings(s.proc); err != nil {
		return err
	}
	if !s.little {
		return nil
	}
	h, err := s.proc.Headroom()
	if err != nil {
		return err
	}
	for _, left := range []uint64{h.AddressSpace, h.Memory, h.Lockable} {
		if left != process.Unlimited && tooMuch(size, left) {
			return fmt.Errorf("no more memory for probes: the program has %d MiB left of a limit, which it may need", left>>20)
		}
	}
	return nil
}
