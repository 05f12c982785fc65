package measuring

import "culprit/grid"

// Computing tells which threads of some processes compute in the function that a focus chooses, of those that it chooses, if it chooses no object. Shares are
// of all that were seen there. The locks of the processes must not be held.
func Computing(all []*Process, f grid.Focus) (list []grid.Holder) {
	e := f.Elements(grid.Code)
	if len(e) != 2 || f.Depth(grid.SyncObject)+f.Depth(grid.IO) > 0 {
		return nil
	}
	thread, seen := f.Elements(grid.Process), 0.0
	for _, t := range all {
		if !t.Covers(f) {
			continue
		}
		t.Lock()
		for tid, n := range t.Profile.Computing(e[0], e[1]) {
			if len(thread) > 1 && !t.Threads.Is(tid, thread[1]) {
				continue
			}
			name := t.Threads.Name(tid)
			if len(all) > 1 {
				name = t.Name + "/" + name
			}
			list = append(list, grid.Holder{Thread: name, Share: n, Computes: true})
			seen += n
		}
		t.Unlock()
	}
	for i := range list {
		list[i].Share /= seen
	}
	return list
}
