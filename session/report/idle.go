package report

import (
	"fmt"
	"strings"

	"culprit/internal/funcname"
	"culprit/internal/threadname"
)

// An Idle is for what part of their time threads had nothing to do in the last seconds, and where.
type Idle struct {
	Share  Number      `json:"share"`  // of the looks at threads, 0..1
	Places []IdlePlace `json:"places"` // the largest first
}

// An IdlePlace is where threads had nothing to do.
type IdlePlace struct {
	Function string `json:"function,omitempty"` // module/function; left out if it is not known
	Threads  int    `json:"threads"`
	Share    Number `json:"share"`              // of the looks at all threads, 0..1
	Waker    string `json:"waker,omitempty"`    // thread of the program that ends most of these waits
	WakesIn  string `json:"waker_in,omitempty"` // function in which that mostly was meanwhile
}

const (
	mostlyIdle    = 0.5  // share of the threads' time from which on the text tells
	fewIdlePlaces = 3    // that the text names
	leastIdle     = 0.02 // share of a place that the text names
)

// writeIdle says what the threads did where nothing was found, if they mostly had nothing to do.
func (r *Report) writeIdle(b *strings.Builder) {
	if r.Idle == nil || r.Idle.Share < mostlyIdle {
		return
	}
	fmt.Fprintf(b, "Lately the threads had nothing to do for %.0f %% of their time. They waited for other threads, for input, or until a time:\n", 100*r.Idle.Share)
	for _, p := range r.Idle.Places[:min(len(r.Idle.Places), fewIdlePlaces)] {
		if p.Share >= leastIdle {
			fmt.Fprintf(b, "  %.0f %%: %s\n", 100*p.Share, r.idleText(p))
		}
	}
}

func (r *Report) idleText(p IdlePlace) string {
	text := fmt.Sprintf("%d %s", p.Threads, plural(p.Threads, "thread"))
	if p.Function != "" {
		text += " in " + funcname.Brief(p.Function)
	}
	if p.Waker == "" {
		return text
	}
	text += ", woken by " + threadname.Read(p.Waker, programsOf(r.Targets)).String()
	if p.WakesIn != "" {
		text += " in " + funcname.Brief(p.WakesIn)
	}
	return text
}
