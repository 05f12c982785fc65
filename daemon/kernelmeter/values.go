package kernelmeter

import (
	"culprit/daemon/kernel"
	"culprit/daemon/threads"
)

// values are what can be read of every process, by the name in kernel(NAME): the growth in the last interval, which is in seconds, or what the
// value is now.
var values = map[string]func(m *Meter, interval float64) float64{
	"cpu_time":           (*Meter).cpu,
	"wall_time":          (*Meter).wall,
	"blocked_time":       (*Meter).blocked,
	"held_up_time":       (*Meter).heldUp,
	"ready_after_wait":   (*Meter).readyAfterWait,
	"run_queue_wait":     (*Meter).runQueue,
	"active_threads":     (*Meter).active,
	"number_of_cpus":     func(m *Meter, _ float64) float64 { return m.cpus().usable },
	"allowed_cpus":       func(m *Meter, _ float64) float64 { return m.cpus().allowed },
	"cpu_user":           (*Meter).user,
	"cpu_system":         (*Meter).system,
	"minor_faults":       (*Meter).minorFaults,
	"major_faults":       (*Meter).majorFaults,
	"voluntary_switches": (*Meter).voluntary,
	"forced_switches":    (*Meter).forced,
	"active_processes":   (*Meter).processes,
	"resident_memory":    now(kernel.ResidentMemory),
	"open_descriptors":   now(kernel.OpenDescriptors),
	"observed_cost":      func(m *Meter, _ float64) float64 { return m.s.Own.ObservedCost() },
	"predicted_cost":     func(m *Meter, _ float64) float64 { return m.s.Own.PredictedCost() },
	"pause_time":         func(m *Meter, _ float64) float64 { return m.since(m.s.Pauses.Total().Seconds()) },
	"probes": func(m *Meter, _ float64) float64 {
		return float64(m.s.Patches.Inserted.Load() - m.s.Patches.Removed.Load())
	},
	"dropped_samples": (*Meter).dropped,
	"sampling_rate":   samplingRate,
	"unmeasured_cpu":  (*Meter).unmeasured,
}

// cpu is CPU time: of the process by its CPU clock, which threads that ended are part of; of one thread by its scheduler statistics.
func (m *Meter) cpu(interval float64) float64 {
	if m.plan.Thread != "" {
		return m.overThreads(func(w *threads.Row) float64 { return (w.Times.Run - w.Prev.Run).Seconds() })
	}
	if m.s.Over() {
		return 0
	}
	total, err := kernel.ProcessTime(m.s.Proc.PID())
	if err != nil {
		return 0
	}
	return m.since(total.Seconds())
}

// wall is the time that threads existed.
func (m *Meter) wall(interval float64) float64 {
	return m.overThreads(func(*threads.Row) float64 { return interval })
}

// runQueue is the time that threads were ready but had no CPU.
func (m *Meter) runQueue(interval float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return (w.Times.RunQueueWait - w.Prev.RunQueueWait).Seconds() })
}

func (m *Meter) blocked(interval float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return w.Waiting(interval) })
}

// heldUp is the time that threads waited for something, and after that for a CPU.
func (m *Meter) heldUp(interval float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return w.HeldUp(interval) })
}

// readyAfterWait is the time that threads were ready because a wait was over.
func (m *Meter) readyAfterWait(float64) float64 {
	return m.overThreads(func(w *threads.Row) float64 { return w.ReadyAfterWait() })
}

// active is the number of threads that were not idle, as an average over the interval.
func (m *Meter) active(interval float64) float64 {
	if interval <= 0 {
		return 0
	}
	return m.overThreads(func(w *threads.Row) float64 { return w.Active(interval) })
}

// now is what the kernel says of a process at the moment; one that has just ended has nothing.
func now(read func(pid int) (uint64, error)) func(*Meter, float64) float64 {
	return func(m *Meter, _ float64) float64 {
		if m.s.Ended() {
			return 0
		}
		n, err := read(m.s.Proc.PID())
		if err != nil {
			return 0
		}
		return float64(n)
	}
}

// processes is 1 for a process that has not ended.
func (m *Meter) processes(float64) float64 {
	if m.s.Ended() {
		return 0
	}
	return 1
}

// samplingRate is how often a second values are read: once in each interval.
func samplingRate(_ *Meter, interval float64) float64 {
	if interval <= 0 {
		return 0
	}
	return 1 / interval
}

// dropped counts stack samples that the kernel took and for which there was no room any more.
func (m *Meter) dropped(float64) float64 {
	total, ok := m.s.Own.Dropped(m.s.Target)
	more := m.since(float64(total))
	if !ok {
		return 0
	}
	return more
}

// unmeasured is CPU time of children that ended before they could be measured.
func (m *Meter) unmeasured(float64) float64 {
	total, ok := m.s.Own.Unmeasured(m.s.Target)
	more := m.since(total.Seconds())
	if !ok {
		return 0
	}
	return more
}

// overThreads adds up over the live threads that the focus covers.
func (m *Meter) overThreads(f func(*threads.Row) float64) (sum float64) {
	if m.s.Ended() {
		return 0
	}
	m.s.Threads.Each(func(w *threads.Row) {
		if m.plan.Thread == "" || w.Is(m.plan.Thread) {
			sum += f(w)
		}
	})
	return sum
}
