package children

import (
	"fmt"
	"os"
	"strings"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// maxAncestors bounds how many ancestors of a target are noted.
const maxAncestors = 1000

// noteElders notes who adopts the orphans of a target.
func (w *Watcher) noteElders(pid int) {
	for n := 0; pid > 0 && n < maxAncestors; n++ {
		p, ok := kernel.ParentOf(pid)
		if !ok || w.elders[p.Parent] {
			return
		}
		pid = p.Parent
		w.elders[pid] = true
	}
}

// IsElder reports whether a process is an ancestor of the first targets.
func (w *Watcher) IsElder(pid int) bool { return w.elders[pid] }

// kin picks the descendants of targets.
func (w *Watcher) kin(list []kernel.Parentage) (kin []kernel.Parentage) {
	for _, p := range list {
		if w.IsKin(p) {
			kin = append(kin, p)
		}
	}
	return kin
}

// IsKin reports whether a process is the child of a target, or was: one whose parent has ended is known by what it has inherited.
func (w *Watcher) IsKin(p kernel.Parentage) bool {
	switch {
	case p.PID == os.Getpid():
		return false
	case w.host.IsTarget(p.Parent) || w.knows(p.Parent):
		return true
	case !w.elders[p.Parent] || w.host.IsTarget(p.PID) || isOurs(p) || !ForkedOnly(p.PID):
		return false
	}
	owner, _, found, err := segment.Owner(p.PID)
	return err == nil && found && owner == os.Getpid()
}

// knows reports whether a process is a descendant of a target that is not measured, or not yet.
func (w *Watcher) knows(pid int) bool {
	if y, ok := w.young[pid]; ok {
		return y.start == process.StartTime(pid)
	}
	start, ok := w.shunned[pid]
	return ok && start == process.StartTime(pid)
}

// isOurs reports whether a process is a child of our own on its way to an exec: until then it runs on our memory, in which the targets'
// segments are mapped too. Asked before that memory is looked at: once it has executed a program there is nothing of a target in it.
func isOurs(p kernel.Parentage) bool {
	if p.Parent != os.Getpid() {
		return false
	}
	its, err := os.Stat(fmt.Sprintf("/proc/%d/exe", p.PID))
	own, ownErr := os.Stat("/proc/self/exe")
	return err != nil || ownErr != nil || os.SameFile(its, own)
}

// ForkedOnly reports whether a child still is the image that it was forked from: the mapping that we made there is in it.
func ForkedOnly(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err != nil || strings.Contains(string(maps), "/memfd:"+segment.Name+" ") || len(maps) == 0
}

// Heirs lists the descendants of targets that are not measured and carry what their parents had when they were forked.
func (w *Watcher) Heirs() (pids []int) {
	for _, p := range w.kin(kernel.Processes()) {
		if !w.host.IsTarget(p.PID) && ForkedOnly(p.PID) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
