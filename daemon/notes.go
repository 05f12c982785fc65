package daemon

import (
	"slices"
	"strings"

	"culprit/daemon/notes"
	"culprit/grid"
)

// What is known of a pair for those who ask what its value does not tell of.

// Notes say what the value of a pair does not tell of, "" if nothing is known: that one name means functions of several modules, calls of
// functions that are inlined as well, numbers that are added although nobody says of which type they are, and so on. It reads the DWARF of the files that have
// the functions when it is first asked, which may take a second.
func (d *Daemon) Notes(key grid.PairKey) string {
	d.mu.Lock()
	n := notes.Look(d.knownOf(key))
	d.mu.Unlock()
	return strings.Join(n.Lines(), "; ")
}

// Unsure says why nothing may be concluded from the value of a pair: it may be of other threads, or more of it its own; "" if it may. It is among the
// Notes.
func (d *Daemon) Unsure(key grid.PairKey) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var p notes.Pair
	d.knowParts(&p, key)
	return strings.Join(notes.Shared(&p), "; ")
}

// Unseen says what of a metric cannot be seen in one of the targets wherever it is measured, "" if nothing: its values are too small by that.
func (d *Daemon) Unseen(metric string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unseen(metric)
}

func (d *Daemon) unseen(metric string) string {
	if name := d.missed[metric]; name != "" {
		return notes.TakesNoProbe(name)
	}
	if !d.session.Library.Waits(metric) {
		return ""
	}
	for _, t := range d.targets {
		if len(t.Objects()) > 0 && t.Main().IsGo() {
			return notes.GoWaits(t.Name)
		}
	}
	return ""
}

// knownOf is what is known of a pair. d.mu is held.
func (d *Daemon) knownOf(key grid.PairKey) *notes.Pair {
	p := &notes.Pair{Item: d.session.ItemOf(key.Focus), Unseen: d.unseen(key.Metric)}
	for _, c := range d.plansOf(key) {
		p.Plans = append(p.Plans, notes.Plan{Plan: c.plan, Target: c.t.Target})
	}
	for _, t := range d.targets {
		if p.Item != nil && t.Covers(key.Focus) && t.HasItem(p.Item) {
			p.Have = append(p.Have, t.Target)
		}
	}
	if key.Focus.Depth(grid.Process) == 0 {
		p.Missed = d.missesChildren()
		if m := d.pairs[key]; m != nil {
			p.Late = m.late
		}
	}
	d.knowParts(p, key)
	return p
}

// knowParts fills in what is known of the parts that a pair is measured by. d.mu is held.
func (d *Daemon) knowParts(p *notes.Pair, key grid.PairKey) {
	metric, _ := d.session.Library.Metric(key.Metric)
	p.Units, p.Unloaded = metric.SumUnits(), map[string]int{}
	for _, pt := range d.partsOf(key) {
		if pt.probes != nil {
			more, less, handed := pt.probes.Doubt()
			p.More, p.Less, p.Handed = p.More+more, p.Less+less, p.Handed || handed
		}
		p.LeftOut = append(p.LeftOut, pt.leftOut...)
		for name, n := range pt.unloaded {
			p.Unloaded[name] += n
		}
	}
}

// leaveOut notes a function that the part's value does not tell of.
func (p *part) leaveOut(line string) {
	if len(p.leftOut) < notes.MaxFunctions && !slices.Contains(p.leftOut, line) {
		p.leftOut = append(p.leftOut, line)
	}
}

// plansOf are the plans of a pair that is measured, or was and could be again, in the targets that are patched. d.mu is held.
func (d *Daemon) plansOf(key grid.PairKey) (all []costed) {
	p := d.pairs[key]
	if p == nil {
		for _, t := range d.targets {
			if t.onlyLooked() || !t.Covers(key.Focus) { // one that has ended is still known
				continue
			}
			if plan, err := t.Compile(key); err == nil {
				all = append(all, costed{t, plan})
			}
		}
		return all
	}
	for _, pt := range d.partsOf(key) {
		if pt.meter.Tier() != grid.TierSample {
			all = append(all, costed{pt.t, pt.plan})
		}
	}
	return all
}

// partsOf are the parts that a pair is measured by, none if it is not measured. d.mu is held.
func (d *Daemon) partsOf(key grid.PairKey) []*part {
	switch p := d.pairs[key]; {
	case p == nil:
		return nil
	case p.keyed != nil:
		return p.keyed.of.parts
	default:
		return p.parts
	}
}
