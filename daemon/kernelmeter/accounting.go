package kernelmeter

import (
	"culprit/daemon/kernel"
	"culprit/daemon/threads"
)

// What the kernel accounts to processes and threads: kinds of CPU time, page faults, context switches.

// ofProcess is the growth of a figure that the kernel keeps for a process as a whole, and for each of its threads.
func (m *Meter) ofProcess(whole func(*kernel.ProcessTimes) float64, thread func(*kernel.ThreadTimes) float64) float64 {
	if m.plan.Thread != "" {
		return m.overThreads(func(w *threads.Row) float64 { return max(thread(&w.Times)-thread(&w.Prev), 0) })
	}
	if m.s.Ended() {
		return 0
	}
	if m.s.Over() {
		return 0
	}
	times, err := kernel.ReadProcess(m.s.Proc.PID())
	if err != nil {
		return 0
	}
	return m.since(whole(&times))
}

func (m *Meter) user(float64) float64 {
	return m.ofProcess(func(k *kernel.ProcessTimes) float64 { return k.User.Seconds() },
		func(k *kernel.ThreadTimes) float64 { return k.User.Seconds() })
}

func (m *Meter) system(float64) float64 {
	return m.ofProcess(func(k *kernel.ProcessTimes) float64 { return k.System.Seconds() },
		func(k *kernel.ThreadTimes) float64 { return k.System.Seconds() })
}

func (m *Meter) minorFaults(float64) float64 {
	return m.ofProcess(func(k *kernel.ProcessTimes) float64 { return float64(k.MinorFaults) },
		func(k *kernel.ThreadTimes) float64 { return float64(k.MinorFaults) })
}

func (m *Meter) majorFaults(float64) float64 {
	return m.ofProcess(func(k *kernel.ProcessTimes) float64 { return float64(k.MajorFaults) },
		func(k *kernel.ThreadTimes) float64 { return float64(k.MajorFaults) })
}

// voluntary counts switches by which a thread gave its CPU away, to wait. The kernel keeps them by thread only.
func (m *Meter) voluntary(float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return float64(w.Times.Voluntary - w.Prev.Voluntary) })
}

// forced counts switches by which a thread that wanted to go on lost its CPU to another.
func (m *Meter) forced(float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return float64(w.Times.Forced - w.Prev.Forced) })
}
