package pcl

import (
	"regexp"
	"slices"
)

// caches and what is done to them make the names of events such as L1-dcache-load-misses.
var (
	caches       = []string{"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"}
	cacheActions = []string{"loads", "load-misses", "stores", "store-misses", "prefetches", "prefetch-misses"}
	plainEvents  = []string{"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles", "ref-cycles",
		"stalled-cycles-frontend", "stalled-cycles-backend", "task-clock", "page-faults", "minor-faults", "major-faults", "context-switches",
		"cpu-migrations", "alignment-faults", "emulation-faults"}
	rawEvent = regexp.MustCompile(`^r[0-9a-f]{1,16}$`)
)

// EventNames are the events that hwCounter may name. Besides them there are those of the processor by number, such as "r01c2".
func EventNames() []string {
	names := slices.Clone(plainEvents)
	for _, c := range caches {
		for _, a := range cacheActions {
			names = append(names, c+"-"+a)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func isEvent(name string) bool {
	return slices.Contains(EventNames(), name) || rawEvent.MatchString(name)
}
