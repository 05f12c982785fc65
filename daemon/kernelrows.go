package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/threads"
)

// Metrics that the kernel keeps anyway: PCL's "base is kernel(NAME)". They need no probe and cost the target nothing.

// quantities are the names that PCL may use.
var kernelQuantities = map[string]func(m *kernelMeter, interval float64) float64{
	"cpu_time":       (*kernelMeter).cpu,
	"wall_time":      (*kernelMeter).wall,
	"blocked_time":   (*kernelMeter).blocked,
	"run_queue_wait": (*kernelMeter).runQueue,
	"active_threads": (*kernelMeter).active,
	"number_of_cpus": (*kernelMeter).processors,
	"observed_cost":  func(m *kernelMeter, _ float64) float64 { return m.t.d.observed.Lately() },
	"pause_time":     (*kernelMeter).pause,

	"cpu_user":           (*kernelMeter).user,
	"cpu_system":         (*kernelMeter).system,
	"minor_faults":       (*kernelMeter).minorFaults,
	"major_faults":       (*kernelMeter).majorFaults,
	"voluntary_switches": (*kernelMeter).voluntary,
	"forced_switches":    (*kernelMeter).forced,
	"active_processes":   (*kernelMeter).processes,
	"resident_memory":    (*kernelMeter).resident,
	"predicted_cost":     func(m *kernelMeter, _ float64) float64 { return m.t.d.predicted() },
	"sampling_rate":      samplingRate,
	"probes": func(m *kernelMeter, _ float64) float64 {
		return float64(m.t.d.session.Patches.Inserted - m.t.d.session.Patches.Removed)
	},
	"dropped_samples": (*kernelMeter).dropped,
}

// since turns a total into its growth.
func (m *kernelMeter) since(total float64) float64 {
	d := total - m.last
	m.last = total
	return max(d, 0)
}

// cpu is processor time: of the process by its CPU clock, which threads that ended are part of; of one thread by its
// scheduler statistics.
func (m *kernelMeter) cpu(interval float64) float64 {
	if m.plan.Thread != "" {
		return m.overThreads(func(w *threads.Row) float64 { return (w.Times.Run - w.Prev.Run).Seconds() })
	}
	total, err := processCPU(m.t.Proc.PID())
	if err != nil {
		return 0
	}
	return m.since(total.Seconds())
}

// processCPU reads another process's CPU clock (clock_getcpuclockid(3): ~pid << 3 | CPUCLOCK_SCHED).
func processCPU(pid int) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^uint32(pid)<<3|2), &ts)
	return time.Duration(ts.Nano()), err
}

// wall is the time that threads existed.
func (m *kernelMeter) wall(interval float64) float64 {
	return m.overThreads(func(*threads.Row) float64 { return interval })
}

// runQueue is the time that threads were ready but had no processor.
func (m *kernelMeter) runQueue(interval float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return (w.Times.RunQueueWait - w.Prev.RunQueueWait).Seconds() })
}

func (m *kernelMeter) blocked(interval float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return w.Waiting(interval) })
}

// active is the number of threads that were not idle, as an average over the interval.
func (m *kernelMeter) active(interval float64) float64 {
	if interval <= 0 {
		return 0
	}
	return m.overThreads(func(w *threads.Row) float64 { return w.Active(interval) })
}

func (m *kernelMeter) pause(float64) float64 {
	return m.since(m.t.d.session.Pauses.Total().Seconds())
}

// resident is how much memory of the process is there now, in bytes; a process that has just ended has none.
func (m *kernelMeter) resident(float64) float64 {
	if m.t.ended {
		return 0
	}
	size, err := kernel.ResidentMemory(m.t.Proc.PID())
	if err != nil {
		return 0
	}
	return float64(size)
}

// overThreads adds up over the live threads that the focus covers.
func (m *kernelMeter) overThreads(f func(*threads.Row) float64) (sum float64) {
	if m.t.ended {
		return 0
	}
	m.t.Threads.Each(func(w *threads.Row) {
		if m.plan.Thread == "" || w.Is(m.plan.Thread) {
			sum += f(w)
		}
	})
	return sum
}
