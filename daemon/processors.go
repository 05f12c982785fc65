package daemon

import (
	"runtime"

	"culprit/daemon/kernel"
)

// kernelProcessors is how many processors the target may use: by its affinity, and by the time that its control groups leave it.
func (p *part) kernelProcessors(*reading, float64) float64 {
	pid := p.t.proc.PID()
	n, err := kernel.UsableCPUs(pid)
	if err != nil { // it has ended
		n = runtime.NumCPU()
	}
	return min(float64(n), kernel.CPUQuota(pid))
}
