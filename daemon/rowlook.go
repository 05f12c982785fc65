package daemon

import (
	"errors"
	"fmt"

	"culprit/daemon/threadstats"
	"culprit/grid"
)

// The kernel's rows in targets that are only looked at. Nothing is mapped into them, and no stop tells which thread has which thread
// pointer: the rows say it themselves.

// needsRows is the answer to whoever asked for rows where the kernel keeps none.
func (d *Daemon) needsRows() error {
	_, err := d.rows.open()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, threadstats.ErrNotPermitted):
		return grid.ErrNotPermitted{What: "--backend ebpf", Help: err.Error()}
	}
	return grid.ErrUnsupported{What: "--backend ebpf", Needs: err.Error()}
}

// rowOwner is the number of the thread that a row belongs to; 0 if it has ended or that is not known.
func (t *measured) rowOwner(index int, tp uint64) int {
	if t.onlyLooked() {
		return t.kept.table.Owner(index)
	}
	return t.Threads.OwnerOf(tp)
}

// tellsThreads refuses pairs at one thread where the rows do not say whose they are.
func (p *part) tellsThreads() error {
	if p.plan.Thread == "" || !p.t.onlyLooked() || p.t.kept.table.KnowsOwners() {
		return nil
	}
	return grid.ErrUnsupported{What: fmt.Sprintf("kernel(%q) of one thread of %s", p.plan.KernelName, p.t.Name), Needs: "probes, or culprit outside of the container"}
}

// takenRows is how many rows have an owner.
func takenRows(table *threadstats.Table) (n int) {
	for i := range table.Slots() {
		if table.Key(i) != 0 {
			n++
		}
	}
	return n
}

// tidyRows gives the rows of dead threads back when half of all are taken, after they were read. Where there are probes that happens
// together with the thread blocks.
func (t *measured) tidyRows() {
	table := t.kept.table
	if t.onlyLooked() && table != nil && takenRows(table) > table.Slots()/2 {
		t.freeRows(table)
	}
}

func (t *measured) freeRows(table *threadstats.Table) {
	parts := t.d.parts(t)
	for i := range table.Slots() {
		if table.Free(i) {
			for _, p := range parts {
				if m, ok := p.meter.(*kernelMeter); ok {
					m.forgetRow(i)
				}
			}
		}
	}
}
