package kernelmeter

import (
	"runtime"
	"time"

	"culprit/daemon/kernel"
)

// cpusFor is how long a target's number of CPUs is believed: it is rarely changed, and stands in a dozen files.
const cpusFor = 5 * time.Second

// cpus is how many CPUs a target may use, as it was when it was last asked.
type cpus struct {
	usable float64
	asked  time.Time
}

// usableCPUs is how many CPUs the target may use: by its affinity, and by the time that its control groups leave it.
func (m *Meter) usableCPUs(float64) float64 {
	c := &m.s.cpus
	if now := time.Now(); now.Sub(c.asked) >= cpusFor {
		*c = cpus{usableCPUs(m.s.Proc.PID()), now}
	}
	return c.usable
}

func usableCPUs(pid int) float64 {
	n, err := kernel.UsableCPUs(pid)
	if err != nil { // it has ended
		n = runtime.NumCPU()
	}
	return min(float64(n), kernel.CPUQuota(pid))
}
