package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"culprit/daemon/process"
	"culprit/grid"
)

// Children: a program that a target starts is measured too, from a moment after its exec on. A child that was only forked
// runs its parent's code and is left alone until it executes a program of its own.

// follow attaches to the children of the targets that have executed a program since the last look.
func (d *Daemon) follow() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range append([]*target(nil), d.targets...) {
		if t.ended {
			continue
		}
		for _, pid := range childrenOf(t.proc.PID(), t.threads.tids()) {
			if d.isTarget(pid) || forkedOnly(pid) || d.shunned[pid] == process.StartTime(pid) {
				continue
			}
			if err := d.join(pid); err != nil {
				d.shunned[pid] = process.StartTime(pid)
				d.logf("child %d is not measured: %v", pid, err)
			}
		}
	}
}

func (d *Daemon) isTarget(pid int) bool {
	for _, t := range d.targets {
		if t.proc.PID() == pid && !t.ended {
			return true
		}
	}
	return false
}

// forkedOnly reports whether a child still is the image that it was forked from: the mapping that we made there is in it.
func forkedOnly(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err != nil || strings.Contains(string(maps), "/memfd:"+segmentName+" ") || len(maps) == 0
}

// childrenOf lists the children that the threads of a process have (/proc/PID/task/TID/children; none where the kernel was
// built without it).
func childrenOf(pid int, tids []int) (children []int) {
	for _, tid := range tids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid))
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				children = append(children, n)
			}
		}
	}
	return children
}

// maxTargets bounds how many processes one session measures.
const maxTargets = 64

// join makes a process a target and measures there too what is measured of the others.
func (d *Daemon) join(pid int) error {
	if len(d.targets) >= maxTargets {
		return fmt.Errorf("%d processes are measured already", maxTargets)
	}
	if err := d.attach(pid); err != nil {
		return err
	}
	t := d.targets[len(d.targets)-1]
	d.logf("%s was started by a target and is measured too", t.name)
	d.goLoop(func() { d.await(t) })
	d.publish(t)
	return d.extend(t)
}

// extend adds a part in a new target to every pair whose focus covers it.
func (d *Daemon) extend(t *target) error {
	b := d.newBatch()
	added := map[*pair]*part{}
	var errs []error
	for key, p := range d.pairs {
		if !t.selected(key.Focus) {
			continue
		}
		pt, err := b.part(t, key)
		if err != nil {
			if len(key.Focus.Elements(grid.Code)) == 0 && key.Focus.Depth(grid.Defined) == 0 { // a function of another program is no news
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
			continue
		}
		added[p] = pt
	}
	b.run()
	for p, pt := range added {
		p.parts, p.tier = append(p.parts, pt), coarser(p.tier, pt.tier())
		d.start(&pair{key: p.key, parts: []*part{pt}}, map[*target]*reading{})
	}
	return errors.Join(errs...)
}
