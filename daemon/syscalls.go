package daemon

import (
	"sync"
	"time"

	"culprit/daemon/syscalls"
)

// syscallSight is what the kernel tells of system calls that stops break into.
type syscallSight struct {
	once   sync.Once
	opened chan struct{} // closed when the rest is known; nil if nobody asked

	deadlines *syscalls.Deadlines // nil if the kernel does not tell
	transfers *syscalls.Transfers // the same
}

// sightFirst is how long the first stop of a target waits for the kernel to be ready: what a thread has waited by then is not known afterwards.
const sightFirst = time.Second

// begin has the kernel get ready, beside whatever else is to be done.
func (l *syscallSight) begin(logf func(string, ...any)) {
	l.once.Do(func() {
		l.opened = make(chan struct{})
		go func() {
			defer close(l.opened)
			l.open(logf)
		}()
	})
}

func (l *syscallSight) open(logf func(string, ...any)) {
	var err error
	types := syscalls.NewTypes()
	if l.deadlines, err = syscalls.OpenDeadlines(types); err != nil {
		logf("how long threads have waited when probes go in cannot be told (%v): a wait with a timeout may end late by as much", err)
	}
	if l.transfers, err = syscalls.OpenTransfers(types); err != nil {
		logf("which threads move data when probes go in cannot be told (%v): a call that is to move much may return a part", err)
	}
}

// seeSyscalls has the waits of a target end in their time, and its transfers in whole. It comes before the first stop.
func (d *Daemon) seeSyscalls(t *measured) {
	l := &d.sight
	l.begin(d.logf)
	select {
	case <-l.opened:
	case <-time.After(sightFirst):
		d.goLoop(func() {
			<-l.opened
			l.tell(t)
		})
		return
	}
	l.tell(t)
}

func (l *syscallSight) tell(t *measured) {
	if l.deadlines != nil {
		t.Proc.KnowDeadlines(l.deadlines)
	}
	if l.transfers != nil {
		t.Proc.KnowTransfers(l.transfers)
	}
}

// close ends it.
func (l *syscallSight) close() {
	l.once.Do(func() {})
	if l.opened == nil {
		return
	}
	<-l.opened
	if l.deadlines != nil {
		l.deadlines.Close()
	}
	if l.transfers != nil {
		l.transfers.Close()
	}
}
