package target

import (
	"fmt"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/patch"
	"culprit/daemon/plans"
	"culprit/daemon/stops"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// A Session is what all targets of a daemon share. Its fields do not change after the first target was opened.
type Session struct {
	Library *pcl.Library
	Tree    *grid.Tree
	Clock   *kernel.TSCClock
	Kernel  *kernel.ThreadTable // of all targets
	Host    string              // name of this machine
	Began   time.Time
	Pauses  *stops.Pauses
	Patches *patch.Count // of what is put in and taken out
	Shared  plans.Shared // how functions are reached in several of them
	Log     func(string) // is told what went wrong without ending anything; called from any goroutine
}

// Now is the session time in seconds.
func (s *Session) Now() float64 { return time.Since(s.Began).Seconds() }

// Logf formats a line of the log. What of it comes from a target is made safe to show.
func (s *Session) Logf(format string, args ...any) {
	s.Log(safetext.Clean(fmt.Sprintf(format, args...)))
}
