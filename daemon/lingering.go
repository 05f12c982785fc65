package daemon

import (
	"slices"

	"culprit/daemon/patch"
)

// Parts that were switched off stay in the text for a while: their code is jumped over. To take it out stops the target and makes the
// trampolines of all their sites anew; what takes their place at a site does that anyway, and what leaves later goes with them.

const (
	// lingerTime is how long a part stays in the text at least after it was switched off, in s.
	lingerTime = 2.0
	// lingering bounds how many parts of one target stay; more of them go with the next batch.
	lingering = 200
)

// leaves notes that a part, which is switched off and reads nothing any more, is to be taken out of the text.
func (d *Daemon) leaves(p *part) {
	p.on, p.gone, p.goneAt = false, true, d.Now()
	p.doesNotNeedRows()
	d.off = append(d.off, p)
}

// switchOut switches a part off at once; it is taken out within the next seconds.
func (d *Daemon) switchOut(p *part) {
	p.on = false
	p.switchOff()
	d.leaves(p)
}

// isScarce reports whether others may wait for what the part holds: a process has few distributions and tables.
func (p *part) isScarce() bool { return p.probes != nil && p.probes.IsScarce() }

// takeOut has parts that were switched off taken out with the batch: those that are due, or all of a target where there are too many.
func (b *batch) takeOut(due func(*part) bool) {
	count := map[*measured]int{}
	for _, p := range b.d.off {
		count[p.t]++
	}
	for _, p := range b.d.off {
		if count[p.t] > lingering || p.isScarce() || due(p) {
			b.touch(p)
		}
	}
}

// dropOff leaves what was switched off out of the trampolines that the batch makes.
func (b *batch) dropOff(t *measured) {
	for _, p := range b.d.off {
		if p.t != t {
			continue
		}
		for _, s := range p.sites {
			if b.sites[t][s] {
				s.Drop(p)
			}
		}
	}
}

// forgetOff forgets the parts that have gone out of all of their sites.
func (b *batch) forgetOff(t *measured, busy map[*patch.Site]error) {
	kept := b.d.off[:0]
	for _, p := range b.d.off {
		if p.t == t {
			p.sites = slices.DeleteFunc(p.sites, func(s *patch.Site) bool { return b.sites[t][s] && busy[s] == nil })
			if len(p.sites) == 0 {
				p.release()
				continue
			}
		}
		kept = append(kept, p)
	}
	clear(b.d.off[len(kept):])
	b.d.off = kept
}

// clean takes out what was switched off a while ago. It stops the targets.
func (d *Daemon) clean() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	d.sweep(func(p *part) bool { return now-p.goneAt >= lingerTime })
}

// Settle takes out of the text what was switched off, now instead of within the next seconds.
func (d *Daemon) Settle() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep(func(*part) bool { return true })
}

// sweep takes out what is due, if there is any. d.enabling and d.mu are held.
func (d *Daemon) sweep(due func(*part) bool) {
	if len(d.off) == 0 {
		return
	}
	b := d.newBatch()
	b.takeOut(due)
	b.run()
}
