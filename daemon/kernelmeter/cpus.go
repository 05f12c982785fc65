package kernelmeter

import (
	"runtime"
	"time"

	"culprit/daemon/kernel"
)

// cpusFor is how long a target's number of CPUs is believed: it is rarely changed, and stands in a dozen files.
const cpusFor = 5 * time.Second

// cpus is how many CPUs a target may run on, by its affinity, and how many it may use, by the time that its control groups leave it, as it was
// when it was last asked.
type cpus struct {
	allowed, usable float64
	asked           time.Time
}

func (m *Meter) cpus() cpus {
	c := &m.s.cpus
	if now := time.Now(); now.Sub(c.asked) >= cpusFor {
		*c = cpusOf(m.s.Proc.PID())
		c.asked = now
	}
	return *c
}

func cpusOf(pid int) cpus {
	n, err := kernel.UsableCPUs(pid)
	if err != nil { // it has ended
		n = runtime.NumCPU()
	}
	return cpus{allowed: float64(n), usable: min(float64(n), kernel.CPUQuota(pid))}
}
