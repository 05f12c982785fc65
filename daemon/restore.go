package daemon

import (
	"fmt"

	"culprit/daemon/openfiles"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/fault"
)

// Restore undoes what a culprit that was killed has left in a process: every site gets its old bytes back, and the segment is
// unmapped as soon as no thread is inside it. Old bytes come from the ledger in the process; where a jump of ours is not in it
// (a forked child's may be out of date), from the file. It refuses while that culprit is alive, except in forked children.
func Restore(pid int) (r patch.RestoreReport, err error) {
	if err := fault.FromEnvironment(); err != nil {
		return r, err
	}
	owner, alive, found, err := segment.Owner(pid)
	if err != nil && !found {
		return r, err
	}
	t, err := openTarget(bareDaemon(), pid, process.Open)
	if err != nil {
		return r, err
	}
	defer t.close()
	if alive && !segment.Forked(t.Proc) {
		return r, fmt.Errorf("culprit with pid %d is attached to process %d and alive: use culprit detach %d", owner, pid, pid)
	}
	if err := t.Text.Restore(&r); err != nil {
		return r, err
	}
	return r, segment.Tidy(t.Proc, t.stop)
}

// bareDaemon is enough of a daemon to look at a process's files.
func bareDaemon() *Daemon {
	tree := grid.NewTree()
	return &Daemon{session: &target.Session{Tree: tree, Log: func(string) {}}, files: openfiles.NewHost(tree)}
}

// fileBytes is what the file has for n bytes of the text; nil if that is not known.
func (t *measured) fileBytes(addr uint64, n int) []byte {
	o := t.ObjectAt(addr)
	if o == nil {
		return nil
	}
	code, err := o.Code(addr-o.Bias, addr-o.Bias+uint64(n))
	if err != nil {
		return nil
	}
	return append([]byte(nil), code...)
}
