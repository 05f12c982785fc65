package daemon

import (
	"culprit/daemon/measuring"
	"culprit/grid"
)

// What is done where it is found that a program schedules its own contexts.

// leaveWindows takes out the windows that were written before it was found that the program schedules its own contexts: who was parked
// in one before it was written finds there what he left. Its pairs are put in again where single instructions allow it.
func (ins *inserter) leaveWindows() {
	keys, sinks := ins.inWindows()
	if len(keys) == 0 {
		return
	}
	ins.Disable(keys)
	ins.Settle()
	ins.replan()
	for i, key := range keys {
		if r := ins.Enable(keys[i:i+1], sinks[i]); r[0].Err != nil {
			ins.logf("%s at %s is not measured any more: %v", key.Metric, key.Focus, r[0].Err)
		}
	}
}

// inWindows lists the pairs with probes in windows that must go, of targets where that has not been done.
func (ins *inserter) inWindows() (keys []grid.PairKey, sinks []grid.Sink) {
	ins.enabling.Lock()
	defer ins.enabling.Unlock()
	defer ins.holdAll().release()
	ins.mu.Lock()
	defer ins.mu.Unlock()
	found := map[*measuring.Process]bool{}
	for _, t := range ins.targets {
		if !t.Ended() && t.Contexts.MustLeave() {
			found[t] = true
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	for key, p := range ins.pairs {
		if _, serves := plainKey(key); !serves && p.standsIn(found) {
			keys, sinks = append(keys, key), append(sinks, p.sink)
		}
	}
	return keys, sinks
}

// replan forgets the plans of functions in which nothing is patched, where windows must be narrower now.
func (ins *inserter) replan() {
	ins.enabling.Lock()
	defer ins.enabling.Unlock()
	for _, t := range ins.targets {
		t.Lock()
		if t.Contexts.Scheduled() {
			t.Sites.Replan()
		}
		t.Unlock()
	}
}

// standsIn reports whether a pair, or the one that serves it, has a site that is too wide in one of these targets.
func (p *pair) standsIn(found map[*measuring.Process]bool) bool {
	parts := p.parts
	if p.keyed != nil {
		parts = append(parts[:len(parts):len(parts)], p.keyed.of.parts...)
	}
	for _, pt := range parts {
		if found[pt.Process] && pt.Code.IsWide() {
			return true
		}
	}
	return false
}
