package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// warnings are the lines for standard error of this process.
var warnings lines

// warn writes a line to standard error without waiting for whoever reads it: a session must never stand still, with its probes in a
// target, because a pipe is full.
func warn(line string) { warnings.add(line) }

// warnf is warn with a format.
func warnf(format string, args ...any) { warn(fmt.Sprintf(format, args...)) }

const (
	maxWaiting = 4096            // lines that wait to be written
	flushWait  = 2 * time.Second // for a reader, before an answer and at the end
)

// lines are written in order by a goroutine that lives as long as there are any. Safe for use by several goroutines.
type lines struct {
	mu      sync.Mutex
	waiting []string
	lost    int
	written chan struct{} // closed when none is left; nil while there are none
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxWaiting {
		l.lost++
		return
	}
	l.waiting = append(l.waiting, line)
	if l.written == nil {
		l.written = make(chan struct{})
		go l.write()
	}
}

func (l *lines) write() {
	for {
		line, ok := l.next()
		if !ok {
			return
		}
		fmt.Fprintln(os.Stderr, line) // there is nowhere to say that it failed
	}
}

func (l *lines) next() (line string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.waiting) > 0:
		line, l.waiting = l.waiting[0], l.waiting[1:]
	case l.lost > 0:
		line, l.lost = fmt.Sprintf("culprit: %d lines were left out, as nobody read them", l.lost), 0
	default:
		close(l.written)
		l.written = nil
		return "", false
	}
	return line, true
}

// flush waits until all is written, for flushWait at most.
func (l *lines) flush() {
	l.mu.Lock()
	written := l.written
	l.mu.Unlock()
	if written == nil {
		return
	}
	select {
	case <-written:
	case <-time.After(flushWait):
	}
}
