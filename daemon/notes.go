package daemon

import (
	"strings"

	"culprit/daemon/children"
	"culprit/daemon/measuring"
	"culprit/daemon/notes"
	"culprit/grid"
	"culprit/pcl"
)

// What is known of a pair for those who ask what its value does not tell of.

// Notes say what the value of a pair does not tell of, "" if nothing is known: that one name means functions of several modules, calls of
// functions that are inlined as well, numbers that are added although nobody says of which type they are, and so on. It reads the DWARF of the files that have
// the functions when it is first asked, which may take a second.
func (qs *questions) Notes(key grid.PairKey) string {
	qs.enabling.Lock() // for plans of several targets at once
	p := qs.knownOf(key)
	h := qs.holdOf(p)
	n := notes.Look(p)
	h.release()
	qs.enabling.Unlock()
	return strings.Join(n.Lines(), "; ")
}

// Unsure says why nothing may be concluded from the value of a pair: it may be of other threads, or more of it its own; "" if it may. It is among the Notes.
func (qs *questions) Unsure(key grid.PairKey) string {
	var p notes.Pair
	qs.knowParts(&p, key)
	return strings.Join(notes.Shared(&p), "; ")
}

// Unseen says what of a metric cannot be seen in one of the targets wherever it is measured, "" if nothing: its values are too small by that.
func (qs *questions) Unseen(metric string) string {
	if name := qs.common.Refusals.MissedBy(metric); name != "" {
		return notes.TakesNoProbe(name)
	}
	if !qs.session.Library.Waits(metric) {
		return ""
	}
	for _, t := range qs.list() {
		if t.Facts().IsGo {
			return notes.GoWaits(t.Name)
		}
	}
	return ""
}

// knownOf is what is known of a pair. enabling is held.
func (qs *questions) knownOf(key grid.PairKey) *notes.Pair {
	p := &notes.Pair{Item: qs.session.ItemOf(key.Focus), Unseen: qs.Unseen(key.Metric)}
	for _, c := range qs.plansOf(key) {
		p.Plans = append(p.Plans, notes.Plan{Plan: c.plan, Target: c.t.Target})
	}
	for _, t := range qs.targets {
		if p.Item != nil && t.Covers(key.Focus) && hasItem(t, p.Item) {
			p.Have = append(p.Have, t.Target)
		}
	}
	if key.Focus.Depth(grid.Process) == 0 {
		p.Missed, p.Late = qs.missing(key)
	}
	qs.knowParts(p, key)
	return p
}

func hasItem(t *measuring.Process, it *pcl.GroupingItem) bool {
	t.Lock()
	defer t.Unlock()
	return t.HasItem(it)
}

// missing is what was not measured of processes that were started, for a pair over all of them.
func (qs *questions) missing(key grid.PairKey) (missed bool, late children.Late) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if p := qs.pairs[key]; p != nil {
		late = p.late
	}
	return qs.times.missesChildren(), late
}

// knowParts fills in what is known of the parts that a pair is measured by.
func (qs *questions) knowParts(p *notes.Pair, key grid.PairKey) {
	metric, _ := qs.session.Library.Metric(key.Metric)
	p.Units, p.Unloaded = metric.SumUnits(), map[string]int{}
	for _, pt := range qs.partsOf(key) {
		knowPart(p, pt)
	}
}

func knowPart(p *notes.Pair, pt *measuring.Part) {
	pt.Process.Lock()
	defer pt.Process.Unlock()
	if pt.Probes != nil {
		more, less, handed := pt.Probes.Doubt()
		p.More, p.Less, p.Handed = p.More+more, p.Less+less, p.Handed || handed
	}
	p.LeftOut = append(p.LeftOut, pt.LeftOut...)
	for name, n := range pt.Lost() {
		p.Unloaded[name] += n
	}
}

// plansOf are the plans of a pair that is measured, or was and could be again, in the targets that are patched. enabling is held.
func (qs *questions) plansOf(key grid.PairKey) (all []costed) {
	if qs.pairs[key] == nil {
		for _, t := range qs.targets {
			if !t.Covers(key.Focus) { // one that has ended is still known
				continue
			}
			if plan := plannedIn(t, key); plan != nil {
				all = append(all, costed{t, plan})
			}
		}
		return all
	}
	for _, pt := range qs.partsOf(key) {
		if pt.Meter.Tier() != grid.TierSample {
			all = append(all, costed{pt.Process, pt.Plan})
		}
	}
	return all
}

// plannedIn is the plan of a pair in a target with probes; nil if there is none.
func plannedIn(t *measuring.Process, key grid.PairKey) *pcl.Plan {
	t.Lock()
	defer t.Unlock()
	if t.OnlyLooked() {
		return nil
	}
	plan, err := t.Compile(key)
	if err != nil {
		return nil
	}
	return plan
}
