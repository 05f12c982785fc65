package kernelmeter

import (
	"time"

	"culprit/daemon/target"
)

// A Source is where the values of one target are read.
type Source struct {
	*target.Target
	Own *Own
	// Ended reports whether the target has ended.
	Ended func() bool
	// Over reports whether its number is another's now: its last values were taken after its end, or the process runs another program.
	Over func() bool

	cpus cpus
}

// Own is what culprit knows of its own work, for all targets together.
type Own struct {
	ObservedCost  func() float64 // a fraction of the targets' time
	PredictedCost func() float64 // likewise
	// Dropped is how many stack samples found no room. All targets share the room: ok is true for one of them,
	// which may become another one.
	Dropped func(*target.Target) (total uint64, ok bool)
	// Unmeasured is the CPU time of processes that targets have started and that ended before they could be measured, since the attach. It is of all
	// targets together: ok is true for one of them.
	Unmeasured func(*target.Target) (total time.Duration, ok bool)
}
