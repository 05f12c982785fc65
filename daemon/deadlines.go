package daemon

import (
	"sync"
	"time"

	kerneldeadlines "culprit/daemon/deadlines"
)

// deadlines is what the kernel tells of waits that stops break into.
type deadlines struct {
	once   sync.Once
	opened chan struct{} // closed when table and err are known; nil if nobody asked
	table  *kerneldeadlines.Table
	err    error
}

// deadlinesFirst is how long the first stop of a target waits for the kernel to be ready: what a thread has waited by then is not known afterwards.
const deadlinesFirst = 300 * time.Millisecond

// begin has the kernel get ready, beside whatever else is to be done.
func (l *deadlines) begin(logf func(string, ...any)) {
	l.once.Do(func() {
		l.opened = make(chan struct{})
		go func() {
			defer close(l.opened)
			if l.table, l.err = kerneldeadlines.Open(); l.err != nil {
				logf("how long threads have waited when probes go in cannot be told (%v): a wait with a timeout may end late by as much", l.err)
			}
		}()
	})
}

// keepDeadlines has the waits of a target end in their time. It comes before the first stop.
func (d *Daemon) keepDeadlines(t *target) {
	l := &d.deadlines
	l.begin(d.logf)
	select {
	case <-l.opened:
	case <-time.After(deadlinesFirst):
		d.goLoop(func() {
			<-l.opened
			l.tell(t)
		})
		return
	}
	l.tell(t)
}

func (l *deadlines) tell(t *target) {
	if l.err == nil {
		t.proc.KnowDeadlines(l.table)
	}
}

// close ends it.
func (l *deadlines) close() {
	l.once.Do(func() {})
	if l.opened == nil {
		return
	}
	if <-l.opened; l.err == nil {
		l.table.Close()
	}
}
