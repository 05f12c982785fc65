package daemon

import (
	"culprit/daemon/kernel"
	"culprit/daemon/threads"
)

// What the kernel accounts to processes and threads: kinds of processor time, page faults, switches.

// ofProcess is the growth of a figure that the kernel keeps for a process as a whole, and for each of its threads.
func (p *part) ofProcess(whole func(*kernel.ProcessTimes) float64, thread func(*kernel.ThreadTimes) float64) float64 {
	if p.plan.Thread != "" {
		return p.overThreads(func(w *threads.Row) float64 { return max(thread(&w.Times)-thread(&w.Prev), 0) })
	}
	if p.t.ended {
		return 0
	}
	times, err := kernel.ReadProcess(p.t.proc.PID())
	if err != nil {
		return 0
	}
	return p.since(whole(&times))
}

func (p *part) kernelUser(*reading, float64) float64 {
	return p.ofProcess(func(k *kernel.ProcessTimes) float64 { return k.User.Seconds() },
		func(k *kernel.ThreadTimes) float64 { return k.User.Seconds() })
}

func (p *part) kernelSystem(*reading, float64) float64 {
	return p.ofProcess(func(k *kernel.ProcessTimes) float64 { return k.System.Seconds() },
		func(k *kernel.ThreadTimes) float64 { return k.System.Seconds() })
}

func (p *part) kernelMinorFaults(*reading, float64) float64 {
	return p.ofProcess(func(k *kernel.ProcessTimes) float64 { return float64(k.MinorFaults) },
		func(k *kernel.ThreadTimes) float64 { return float64(k.MinorFaults) })
}

func (p *part) kernelMajorFaults(*reading, float64) float64 {
	return p.ofProcess(func(k *kernel.ProcessTimes) float64 { return float64(k.MajorFaults) },
		func(k *kernel.ThreadTimes) float64 { return float64(k.MajorFaults) })
}

// kernelVoluntary counts switches by which a thread gave its processor away, to wait. The kernel keeps them by thread only.
func (p *part) kernelVoluntary(*reading, float64) float64 {
	return p.overThreads(func(w *threads.Row) float64 { return float64(w.Times.Voluntary - w.Prev.Voluntary) })
}

// kernelForced counts switches by which a thread that wanted to go on lost its processor to another.
func (p *part) kernelForced(*reading, float64) float64 {
	return p.overThreads(func(w *threads.Row) float64 { return float64(w.Times.Forced - w.Prev.Forced) })
}

// kernelProcesses is 1 for a process that has not ended.
func (p *part) kernelProcesses(*reading, float64) float64 {
	if p.t.ended {
		return 0
	}
	return 1
}
