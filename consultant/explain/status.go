package explain

import (
	"fmt"
	"strconv"
	"strings"
)

// A Status is what a search is doing, in numbers of nodes.
type Status struct {
	Testing   string // the hypothesis that is tested with the highest priority, and where; "" = none
	Tested    int    // that are being tested
	Queued    int    // that wait to be tested, for whatever reason
	Blocked   int    // of them, those that wait for budget
	Postponed int    // of them, those that wait for CPU time
	Deferred  int
	True      int
	False     int
	Unseen    int // of which a part cannot be seen: they are not counted as false
	Watched   int // answers that are measured
	Suspended int // answers that are not measured for want of CPU time
	Observed  float64
	Limit     float64 // of the budget; as Observed, a fraction of the program's time
}

// String is one line: what is being tested now, or why the search waits.
func (s Status) String() string {
	parts := s.waiting()
	if s.Testing != "" {
		text := "testing " + s.Testing
		if more := s.Tested - 1; more > 0 {
			text += " and " + Count(more, "other", "others")
		}
		parts = append([]string{text}, parts...)
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing left to test")
	}
	if s.Unseen > 0 {
		parts = append(parts, strconv.Itoa(s.Unseen)+" cannot be ruled out")
	}
	answers := fmt.Sprintf("%d true, %d false, watching %d", s.True, s.False, s.Watched)
	if s.Suspended > 0 {
		answers += fmt.Sprintf(", %d re-checked periodically", s.Suspended)
	}
	return strings.Join(append(parts, answers), "; ")
}

// waiting says what waits, and for what.
func (s Status) waiting() (parts []string) {
	if s.Blocked > 0 {
		parts = append(parts, fmt.Sprintf("%s for budget: %s of %s are used",
			Count(s.Blocked, "candidate waits", "candidates wait"), Percent(min(s.Observed, 1)), Percent(s.Limit)))
	} else if more := s.Queued - s.Postponed; more > 0 {
		parts = append(parts, strconv.Itoa(more)+" queued")
	}
	if s.Postponed > 0 {
		parts = append(parts, Count(s.Postponed, "candidate waits", "candidates wait")+" until CPUs are less busy")
	}
	if s.Deferred > 0 {
		parts = append(parts, strconv.Itoa(s.Deferred)+" deferred")
	}
	return parts
}
