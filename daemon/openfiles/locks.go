package openfiles

import (
	"strings"

	"culprit/grid"
	"culprit/pcl"
)

// Locks of files (flock, fcntl) are resources of /SyncObject as soon as a thread is seen waiting for one, for as long as the file is one of /IO.

// LockAt names the lock of the file that a descriptor stands for at a session time, as a part of a focus, and makes it a resource; "" if no file is
// open there.
func (t *Table) LockAt(fd int, at float64) (part string) {
	if fd < 0 {
		return ""
	}
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	t.lookAt(fd, at)
	file := t.open[fd].part
	name, ok := fileOf(file)
	if !ok {
		return ""
	}
	if s := t.seen[file]; s == nil || s.retired { // it was closed for a while, and is open again
		t.host.tree.Add(grid.IO, "File", name)
	}
	t.see(file, at)
	if !t.host.locks[file] {
		t.host.locks[file] = true
		t.host.tree.Add(grid.SyncObject, pcl.FileLock, name)
	}
	return grid.SyncObject.String() + "/" + pcl.FileLock + "/" + name
}

// fileOf is the name of the file that a part is.
func fileOf(part string) (name string, ok bool) {
	return strings.CutPrefix(part, partOf([]string{"File", ""}))
}

// retireLock takes the lock of a file out of the tree, if it is there. mu is held.
func (h *Host) retireLock(part string) {
	if name, ok := fileOf(part); ok && h.locks[part] {
		delete(h.locks, part)
		h.tree.Retire(grid.SyncObject, pcl.FileLock, name)
	}
}
