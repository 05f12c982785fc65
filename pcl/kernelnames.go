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

// IsEvent reports whether hwCounter may name an event.
func IsEvent(name string) bool {
	return slices.Contains(EventNames(), name) || rawEvent.MatchString(name)
}

// KernelNames are the quantities that a base of kind kernel may name: what the daemon can take from the kernel.
var KernelNames = []string{"cpu_time", "wall_time", "blocked_time", "run_queue_wait", "active_threads", "number_of_cpus", "observed_cost", "pause_time",
	"cpu_user", "cpu_system", "minor_faults", "major_faults", "voluntary_switches", "forced_switches", "active_processes", "resident_memory",
	"predicted_cost", "sampling_rate", "probes", "dropped_samples",
	"off_cpu", "blocked_futex", "blocked_file", "blocked_socket", "blocked_pipe", "blocked_poll", "blocked_sleep", "blocked_fault", "blocked_other",
	"preempted", "fault_time", "system_time", "io_block_bytes", "io_block_time", "net_bytes_sent", "net_bytes_received",
	"system_calls", "calls_futex", "calls_io", "calls_memory", "stolen"}
