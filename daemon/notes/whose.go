package notes

import (
	"fmt"
)

// Whose doing is in a value, and whose is not: threads, processes, goroutines.

// Shared says how much of the value of a thread may be of others, and how much of others may be its own. Nothing may be concluded from a
// value of which this is said.
func Shared(p *Pair) (lines []string) {
	if p.More > 0 {
		lines = append(lines, fmt.Sprintf("up to %.4g %s more may be its own: it ended, or began, while other threads did, in a fifth of a second in which one may have had the memory of the other",
			p.More, p.Units))
	}
	if p.Less > 0 {
		lines = append(lines, fmt.Sprintf("up to %.4g %s of it may be of threads that had its memory before", p.Less, p.Units))
	}
	if p.Handed {
		lines = append(lines, "threads may have begun in the memory of ones that ended, and go on with what these have left; then only a sum of changes (+=, -=, ++) is right")
	}
	return lines
}

// late says that what processes did before they were measured is not in a value over all of them.
func late(p *Pair) []string {
	switch {
	case p.Late.Processes == 0:
		return nil
	case p.Late.Processes == 1:
		return []string{fmt.Sprintf("1 process that was started meanwhile is measured from %.1f s after its beginning: what it did before is not counted", p.Late.Most)}
	}
	return []string{fmt.Sprintf("%d processes that were started meanwhile are measured from up to %.1f s after their beginning: what they did before is not counted", p.Late.Processes, p.Late.Most)}
}

// missed says of a value over all processes that some of them are not in it, since nobody saw them.
func missed(p *Pair) []string {
	if !p.Missed {
		return nil
	}
	return []string{"processes that it started ended before they could be measured: what they did is not counted"}
}

func unseen(p *Pair) []string {
	if p.Unseen == "" {
		return nil
	}
	return []string{p.Unseen}
}

// TakesNoProbe says that a function that a metric is about cannot be seen. The values of the metric are too small by that.
func TakesNoProbe(function string) string {
	return clean(function) + " takes no probe: what happens in it is not seen"
}

// GoWaits says that waits of goroutines cannot be seen.
func GoWaits(process string) string {
	return clean(process) + " is a Go program: a goroutine that waits has no thread, so that its wait is not seen"
}
