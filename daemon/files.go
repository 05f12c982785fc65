package daemon

import (
	"culprit/daemon/probe"
	"culprit/grid"
)

// When descriptors are looked at: where pairs ask what they stand for, where somebody wants to know the files, and in turn.

// freshFor is after how many seconds files are looked at again where somebody wants to know them.
const freshFor = 0.5

// fileWord is where probes have what a descriptor stands for; nil while there is no segment.
func (t *measured) fileWord(fd int) *uint64 {
	if t.Seg == nil {
		return nil
	}
	return t.Seg.FileWord(fd)
}

// mayReadMemory tells whether probes may read what pointers lead to.
func (t *measured) mayReadMemory() bool { return probe.MayAsk(t.Target, probe.ReadingMemory) == nil }

// followFiles keeps up with what the descriptors stand for that pairs are at. d.mu is held.
func (d *Daemon) followFiles(now float64) {
	for _, t := range d.targets {
		if !t.ended && t.Files.Due(now, 0) && t.followsFiles(d.pairs) {
			t.Files.Look(now)
		}
	}
}

// tellFiles tells the probes of new pairs what descriptors stand for. d.mu is held.
func (d *Daemon) tellFiles(pairs map[grid.PairKey]*pair) {
	for _, t := range d.targets {
		if !t.ended && t.followsFiles(pairs) {
			t.Files.Look(d.Now())
		}
	}
}

// followsFiles tells whether a pair asks what descriptors of the target stand for.
func (t *measured) followsFiles(pairs map[grid.PairKey]*pair) bool {
	for _, p := range pairs {
		for _, pt := range p.parts {
			if pt.t == t && pt.probes != nil && pt.probes.AsksForFiles() {
				return true
			}
		}
	}
	return false
}

// findFiles looks at the open files of all targets that were not looked at for some seconds. d.mu is held.
func (d *Daemon) findFiles(after float64) {
	now := d.Now()
	for _, t := range d.targets {
		if !t.ended && t.Files.Due(now, after) {
			t.Files.Look(now)
		}
	}
}

// findFilesInTurn looks at those of the targets whose turn it is, and of those that were never looked at. d.mu is held.
func (d *Daemon) findFilesInTurn() {
	now := d.Now()
	for _, t := range d.targets {
		if !t.ended && t.Files.Due(now, 0) && (!t.Files.Looked() || d.schedule.Searches(t.seat, len(d.targets), false)) {
			t.Files.Look(now)
		}
	}
}
