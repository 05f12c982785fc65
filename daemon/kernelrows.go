package daemon

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/rows"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
)

// Metrics that the kernel keeps anyway: PCL's "base is kernel(NAME)". They need no probe and cost the target nothing.

// kernelQuantities are the names that PCL may use.
var kernelQuantities = map[string]func(p *part, r *reading, interval float64) float64{
	"cpu_time":       (*part).kernelCPU,
	"wall_time":      (*part).kernelWall,
	"blocked_time":   (*part).kernelBlocked,
	"run_queue_wait": (*part).kernelRunQueue,
	"active_threads": (*part).kernelActive,
	"number_of_cpus": (*part).kernelProcessors,
	"observed_cost":  func(p *part, _ *reading, _ float64) float64 { return p.t.d.observed() },
	"pause_time":     (*part).kernelPause,

	"cpu_user":           (*part).kernelUser,
	"cpu_system":         (*part).kernelSystem,
	"minor_faults":       (*part).kernelMinorFaults,
	"major_faults":       (*part).kernelMajorFaults,
	"voluntary_switches": (*part).kernelVoluntary,
	"forced_switches":    (*part).kernelForced,
	"active_processes":   (*part).kernelProcesses,
	"predicted_cost":     func(p *part, _ *reading, _ float64) float64 { return p.t.d.predicted() },
	"sampling_rate":      samplingRate,
	"probes":             func(p *part, _ *reading, _ float64) float64 { return float64(p.t.d.inserted - p.t.d.removed) },
	"dropped_samples":    (*part).kernelDropped,
}

// RowsUnsupported says what this kernel lacks for its rows of threads, whoever asks; nil if nothing is known to be missing.
func RowsUnsupported() error { return rows.Unsupported() }

// settleRows makes a pass where pairs that the kernel's rows or samples are for begin or end: the rows tell how much there was since
// the last pass, and what lies before the beginning or behind the end is none of theirs. d.mu is held.
func (d *Daemon) settleRows(now float64, pairs map[grid.PairKey]*pair) {
	for _, p := range pairs {
		if p.tier != grid.TierProbe {
			d.pass(now)
			return
		}
	}
}

// kept refuses what the kernel does not keep, or not here. d.mu is held.
func (p *part) kept() error {
	name := p.plan.KernelName
	if p.plan.Event != "" {
		return p.countEvents()
	}
	if p.rows && p.plan.Kind != pcl.Kernel {
		return p.needRows()
	}
	if p.plan.Kind != pcl.Kernel || p.plan.KeptByKernel() && kernelQuantities[name] != nil {
		return nil
	}
	if _, ok := rows.ByName(name); !ok {
		return fmt.Errorf("metric %q: the kernel keeps no quantity %q for the parts of a program", p.plan.Pair.Metric, name)
	}
	if err := p.t.watchRows(); err != nil {
		return noRows(p.plan, err)
	}
	if err := p.tellsThreads(); err != nil {
		return err
	}
	return p.needRows()
}

// needRows has the kernel keep what the part reads, until release.
func (p *part) needRows() error {
	keeper, err := p.t.d.rows.open()
	if err == nil {
		err = keeper.Need(p.rowQuantity())
	}
	if err != nil {
		return noRows(p.plan, err)
	}
	if p.rows && p.rowQuantity() == rows.OffCPU {
		p.t.d.wantAccounts()
	}
	p.needs = true
	return nil
}

// doesNotNeedRows ends needRows, if there was one.
func (p *part) doesNotNeedRows() {
	if !p.needs {
		return
	}
	p.needs = false
	keeper := p.t.d.rows.keeper
	keeper.Release(p.rowQuantity())
	if p.rows && p.rowQuantity() == rows.OffCPU {
		p.t.d.unwantAccounts()
	}
}

func (p *part) sampleKernel(r *reading, interval float64) float64 {
	if p.events != nil {
		return p.sampleEvents()
	}
	if kernelQuantities[p.plan.KernelName] == nil {
		return p.sampleRows(p.rowQuantity())
	}
	return kernelQuantities[p.plan.KernelName](p, r, interval)
}

// since turns a total into its growth.
func (p *part) since(total float64) float64 {
	d := total - p.lastK
	p.lastK = total
	return max(d, 0)
}

// kernelCPU is processor time: of the process by its CPU clock, which threads that ended are part of; of one thread by its
// scheduler statistics.
func (p *part) kernelCPU(r *reading, interval float64) float64 {
	if p.plan.Thread != "" {
		return p.overThreads(func(w *threads.Row) float64 { return (w.Times.Run - w.Prev.Run).Seconds() })
	}
	total, err := processCPU(p.t.proc.PID())
	if err != nil {
		return 0
	}
	return p.since(total.Seconds())
}

// processCPU reads another process's CPU clock (clock_getcpuclockid(3): ~pid << 3 | CPUCLOCK_SCHED).
func processCPU(pid int) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^uint32(pid)<<3|2), &ts)
	return time.Duration(ts.Nano()), err
}

// kernelWall is the time that threads existed.
func (p *part) kernelWall(r *reading, interval float64) float64 {
	return p.overThreads(func(*threads.Row) float64 { return interval })
}

// kernelRunQueue is the time that threads were ready but had no processor.
func (p *part) kernelRunQueue(r *reading, interval float64) float64 {
	return p.overThreads(func(w *threads.Row) float64 { return (w.Times.RunQueueWait - w.Prev.RunQueueWait).Seconds() })
}

func (p *part) kernelBlocked(r *reading, interval float64) float64 {
	return p.overThreads(func(w *threads.Row) float64 { return w.Waiting(interval) })
}

// kernelActive is the number of threads that were not idle, as an average over the interval.
func (p *part) kernelActive(r *reading, interval float64) float64 {
	if interval <= 0 {
		return 0
	}
	return p.overThreads(func(w *threads.Row) float64 { return w.Active(interval) })
}

func (p *part) kernelPause(*reading, float64) float64 {
	return p.since(p.t.d.pauses.total().Seconds())
}

// overThreads adds up over the live threads that the focus covers.
func (p *part) overThreads(f func(*threads.Row) float64) (sum float64) {
	if p.t.ended {
		return 0
	}
	p.t.threads.Each(func(w *threads.Row) {
		if p.plan.Thread == "" || w.Is(p.plan.Thread) {
			sum += f(w)
		}
	})
	return sum
}
