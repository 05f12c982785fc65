package daemon

import (
	"runtime"
	"time"

	"culprit/daemon/kernel"
)

// processorsFor is how long a target's number of processors is believed: it is rarely changed, and stands in a dozen files.
const processorsFor = 5 * time.Second

// A quota is how many processors a target may use, as it was when it was last asked.
type quota struct {
	processors float64
	asked      time.Time
}

// processors is how many processors the target may use: by its affinity, and by the time that its control groups leave it.
func (m *kernelMeter) processors(float64) float64 {
	q := &m.t.quota
	if now := time.Now(); now.Sub(q.asked) >= processorsFor {
		*q = quota{m.t.usableProcessors(), now}
	}
	return q.processors
}

func (t *measured) usableProcessors() float64 {
	pid := t.Proc.PID()
	n, err := kernel.UsableCPUs(pid)
	if err != nil { // it has ended
		n = runtime.NumCPU()
	}
	return min(float64(n), kernel.CPUQuota(pid))
}
