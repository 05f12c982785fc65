package syscalls

import (
	"sync"
	"time"
)

// A Sight is what the kernel tells of system calls that stops break into, and of modes of threads, for all targets.
type Sight struct {
	once   sync.Once
	opened chan struct{} // closed when the rest is known; nil if nobody asked

	deadlines *Deadlines // nil if the kernel does not tell
	transfers *Transfers // the same
	modes     *Modes     // the same
}

// sightFirst is how long the first stop of a target waits for the kernel to be ready: what a thread has waited by then is not known afterwards.
const sightFirst = time.Second

// Begin has the kernel get ready, beside whatever else is to be done.
func (s *Sight) Begin(logf func(string, ...any)) {
	s.once.Do(func() {
		s.opened = make(chan struct{})
		go func() {
			defer close(s.opened)
			s.open(logf)
		}()
	})
}

func (s *Sight) open(logf func(string, ...any)) {
	var err error
	types := NewTypes()
	if s.deadlines, err = OpenDeadlines(types); err != nil {
		logf("how long threads have waited when probes go in cannot be told (%v): a wait with a timeout may end late by as much", err)
	}
	if s.transfers, err = OpenTransfers(types); err != nil {
		logf("which threads move data when probes go in cannot be told (%v): a call that is to move much may return a part", err)
	}
	if s.modes, err = OpenModes(types); err != nil {
		logf("whether threads forbid themselves the time-stamp counter can be asked of them at the beginning only (%v): one that does so later may meet a probe that reads it", err)
	}
}

// A Watcher is who stops a process, and is told of its system calls.
type Watcher struct {
	Deadlines func(*Deadlines) // has its waits end in their time
	Transfers func(*Transfers) // has its transfers end in whole
	Modes     func(*Modes)     // has no code put into it that a thread does not survive
}

// Show has a process watched as soon as the kernel is ready; Begin was called. It comes before the first stop, and waits for a moment. Where that
// is not enough it goes on beside, by what runs a function for it.
func (s *Sight) Show(w Watcher, beside func(func())) {
	select {
	case <-s.opened:
	case <-time.After(sightFirst):
		beside(func() {
			<-s.opened
			s.tell(w)
		})
		return
	}
	s.tell(w)
}

func (s *Sight) tell(w Watcher) {
	if s.deadlines != nil {
		w.Deadlines(s.deadlines)
	}
	if s.transfers != nil {
		w.Transfers(s.transfers)
	}
	if s.modes != nil {
		w.Modes(s.modes)
	}
}

// Close ends it.
func (s *Sight) Close() {
	s.once.Do(func() {})
	if s.opened == nil {
		return
	}
	<-s.opened
	if s.deadlines != nil {
		s.deadlines.Close()
	}
	if s.transfers != nil {
		s.transfers.Close()
	}
	if s.modes != nil {
		s.modes.Close()
	}
}
