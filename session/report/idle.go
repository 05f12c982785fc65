package report

import (
	"fmt"
	"strings"

	"culprit/internal/funcname"
	"culprit/internal/threadname"
)

// An Idle is for what part of their time threads had nothing to do in the last seconds, and where.
type Idle struct {
	Share  Number      `json:"share"`  // of the time of all threads, 0..1
	Places []IdlePlace `json:"places"` // the largest first
}

// An IdlePlace is where threads had nothing to do.
type IdlePlace struct {
	Function string `json:"function,omitempty"` // module/function; left out if it is not known
	Threads  int    `json:"threads"`
	Share    Number `json:"share"`              // of the time of all threads, 0..1
	Waker    string `json:"waker,omitempty"`    // thread of the program that ends most of these waits
	WakesIn  string `json:"waker_in,omitempty"` // function in which that mostly was meanwhile
	Child    bool   `json:"child,omitempty"`    // they wait there for a child process to end
	For      string `json:"for,omitempty"`      // what they wait for, as in grid.IdleFor; left out if it is not known
}

const (
	mostlyIdle    = 0.5  // share of the threads' time from which on the text tells
	fewIdlePlaces = 3    // that the text names
	leastIdle     = 0.02 // share of a place that the text names
)

// writeIdle says what the threads did where nothing was found, if they mostly had nothing to do.
func (r *Report) writeIdle(b *strings.Builder) {
	said, places := r.Idle.Told(r.Targets)
	if said == "" {
		return
	}
	b.WriteString(said + "\n")
	for _, p := range places {
		b.WriteString("  " + p + "\n")
	}
}

// Told says for what part of their time the threads of the targets had nothing to do, and where; said is "" if that was not most of it, or is not
// known.
func (i *Idle) Told(targets []Target) (said string, places []string) {
	if i == nil || i.Share < mostlyIdle {
		return "", nil
	}
	for _, p := range i.Places[:min(len(i.Places), fewIdlePlaces)] {
		if p.Share >= leastIdle {
			places = append(places, fmt.Sprintf("%.0f %%: %s", 100*p.Share, p.text(targets)))
		}
	}
	return fmt.Sprintf("Lately the threads had nothing to do for %.0f %% of their time:", 100*i.Share), places
}

func (p IdlePlace) text(targets []Target) string {
	text := fmt.Sprintf("%d %s %s", p.Threads, plural(p.Threads, "thread"), p.does())
	if p.Function != "" {
		text += " in " + funcname.Brief(p.Function)
	}
	if p.Waker == "" {
		return text
	}
	text += ", woken by " + threadname.Read(p.Waker, programsOf(targets)).String()
	if p.WakesIn != "" {
		text += " in " + funcname.Brief(p.WakesIn)
	}
	return text
}

// does is what the threads of a place do.
func (p IdlePlace) does() string {
	verb, object := "waits", ""
	switch p.For {
	case "time":
		verb = "sleeps"
	case "input":
		object = " for input"
	case "child":
		object = " for a child process"
	case "threads":
		object = " for other threads"
	case "signal":
		object = " for a signal"
	}
	if p.Threads != 1 {
		verb = strings.TrimSuffix(verb, "s")
	}
	return verb + object
}
