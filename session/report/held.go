package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"culprit/internal/funcname"
	"culprit/internal/threadname"
)

// fewHolders is how many threads that had a lock, or groups of them, are named in the text.
const fewHolders = 3

// A crowd is threads that did the same at the same place.
type crowd struct {
	thread   threadname.Name // the first of them
	stem     string          // what their names have in common
	same     bool            // their names are equal
	function string          // as it is told: overloads of a function are one
	seen     map[string]bool // the threads, by their elements of the hierarchy Process
	count    int             // of them
	share    float64
	nowhere  float64 // of share, what they did where no function is known
}

// MostComputing is how many of the threads that compute at a place are reported.
const MostComputing = 8

// mostlyOne is the part of the samples of a place from which on one thread of several is named.
const mostlyOne = 0.67

// Told is the sentence of a finding with the threads that it is about: they are where it is mended.
func (by By) Told(sentence string, targets []Target) string {
	if c := by.computing(targets); c != nil && !strings.Contains(sentence, c.name()) && !strings.Contains(sentence, fmt.Sprintf("{%d}", c.thread.TID)) {
		sentence += fmt.Sprintf(" It is mostly %s (%.0f %%).", c.name(), 100*c.share)
	}
	if who := HeldText(by.HeldBy, targets); who != "" {
		sentence += " Held meanwhile by " + who + "."
	}
	if who := HeldText(by.WokenBy, targets); who != "" {
		sentence += " The waits are ended by " + who + "."
	}
	if who := HeldText(by.InTurn, targets); who != "" {
		sentence += " They wait in turn for " + who + "."
	}
	if who := HeldText(by.Awaited, targets); who != "" {
		sentence += " Others wait meanwhile for " + who + "."
	}
	if who := HeldText(by.CPUsUsedBy, targets); who != "" {
		sentence += " Of the machine's CPUs other programs use just now: " + who + "."
	}
	return sentence
}

// computing is the thread that does most of the computing, where others could; nil if there is none.
func (by By) computing(targets []Target) *crowd {
	threads := 0
	for _, t := range targets {
		threads += t.Threads
	}
	if threads < 2 || len(by.ComputedBy) == 0 || by.ComputedBy[0].Share < mostlyOne {
		return nil
	}
	return crowdsOf(by.ComputedBy[:1], targets)[0]
}

// HeldText writes who had a lock or ended waits, those that did it most first; "" if nobody is known. Threads that did the same are
// told together. A thread is told by its name where that is not just the name of its program, one of the targets.
func HeldText(holders []Held, targets []Target) string {
	var parts []string
	crowds := crowdsOf(holders, targets)
	for _, c := range crowds[:min(len(crowds), fewHolders)] {
		s := fmt.Sprintf("%s (%.0f %%", c.name(), 100*c.share)
		switch {
		case c.function != "" && c.nowhere > 0:
			s += fmt.Sprintf(", %.0f %% in %s", 100*(c.share-c.nowhere), c.function)
		case c.function != "":
			s += ", in " + c.function
		}
		parts = append(parts, s+")")
	}
	more := 0
	for _, c := range crowds[min(len(crowds), fewHolders):] {
		more += c.count
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

func programsOf(targets []Target) (programs []threadname.Program) {
	for _, t := range targets {
		programs = append(programs, threadname.Program{PID: t.PID, Exe: t.Exe})
	}
	return programs
}

func crowdsOf(holders []Held, targets []Target) (list []*crowd) {
	programs := programsOf(targets)
	for _, h := range holders {
		t := threadname.Read(h.Thread, programs)
		function := h.Function
		if function != "" {
			function = funcname.Brief(function)
		}
		i := slices.IndexFunc(list, func(c *crowd) bool { return c.function == function && (c.seen[h.Thread] || c.isLike(t)) })
		if i < 0 {
			list, i = append(list, &crowd{thread: t, stem: t.Stem(), same: true, function: function, seen: map[string]bool{}}), len(list)
		}
		c := list[i]
		c.same = c.same && c.thread.Name == t.Name
		c.seen[h.Thread] = true
		c.count = len(c.seen)
		c.share += float64(h.Share)
	}
	list = joinNowhere(list)
	slices.SortStableFunc(list, func(a, b *crowd) int { return cmp.Compare(b.share, a.share) })
	return list
}

// joinNowhere has what threads did where no function is known told with what they did in the one function that is known of them.
func joinNowhere(list []*crowd) []*crowd {
	for _, c := range slices.Clone(list) {
		with := knownOf(c, list)
		if c.function != "" || with == nil {
			continue
		}
		with.share += c.share
		with.nowhere += c.share
		list = slices.DeleteFunc(list, func(one *crowd) bool { return one == c })
	}
	return list
}

// knownOf is what the same threads did in the one function that is known of them; nil if there is none, or more than one.
func knownOf(c *crowd, list []*crowd) (with *crowd) {
	for _, one := range list {
		if one.function == "" || !maps.Equal(one.seen, c.seen) {
			continue
		}
		if with != nil {
			return nil
		}
		with = one
	}
	return with
}

// isLike tells whether a thread, none of the first of their processes, is called as those of the crowd are.
func (c *crowd) isLike(t threadname.Name) bool {
	return t.TID != 0 && !t.Main && c.thread.TID != 0 && !c.thread.Main && c.thread.Process == t.Process && c.stem == t.Stem()
}

func (c *crowd) name() string {
	if c.count == 1 {
		return c.thread.String()
	}
	text := fmt.Sprintf("%d threads", c.count)
	switch {
	case c.thread.Name != "" && c.same:
		text += " " + c.thread.Name
	case c.stem != "":
		text += " " + c.stem + "*"
	}
	return text + c.thread.Of()
}
