package daemon

import (
	"sort"

	"culprit/daemon/libc"
	"culprit/daemon/sampling"
	"culprit/grid"
)

// Holders tells which threads had the lock that a focus chooses while others waited for it, within the last seconds, the one that had
// it most often first; nil where the focus chooses no POSIX mutex or rwlock, or nobody was seen waiting for it.
func (d *Daemon) Holders(f grid.Focus) (list []grid.Holder) {
	e := f.Elements(grid.SyncObject)
	if len(e) != 2 {
		return nil
	}
	if _, ok := libc.OwnerAt(e[0]); !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		if t.Covers(f) {
			list = append(list, t.profile.Holders(sampling.ObjectPart(f))...)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Share != list[j].Share {
			return list[i].Share > list[j].Share
		}
		return list[i].Thread < list[j].Thread
	})
	return list
}
