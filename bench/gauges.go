package main

import (
	"context"
	"fmt"

	"culprit/daemon"
	"culprit/pcl/check"
)

// gaugeMetrics change a variable by the same value, an argument, at the same entry: a counter, and gauges of each kind.
const gaugeMetrics = `metric benchCounter { name "bench_counter"; units x; aggregateOperator sum; style EventCounter;
		base is counter { append preInsn $function("leaf").entry (* benchCounter += $arg[1]; *) } }
	metric benchThreadGauge { name "bench_thread_gauge"; units x; aggregateOperator sum; style SampledFunction;
		base is counter { append preInsn $function("leaf").entry (* benchThreadGauge += $arg[1]; *) } }
	metric benchGauge { name "bench_gauge"; units x; aggregateOperator sum; style SampledFunction;
		base is gauge { append preInsn $function("leaf").entry (* benchGauge += $arg[1]; *) } }
	metric benchSetGauge { name "bench_set_gauge"; units x; aggregateOperator sum; style SampledFunction;
		base is gauge { append preInsn $function("leaf").entry (* benchSetGauge = $arg[1]; *) } }`

// A GaugePrice is what the change of a gauge adds to a call beside that of a counter, in ns.
type GaugePrice struct {
	Threads     int     `json:"threads"`
	Counter     float64 `json:"counter_ns"`
	ThreadGauge float64 `json:"thread_gauge_ns"` // a gauge of each thread
	Gauge       float64 `json:"gauge_ns"`        // one of the process
	Set         float64 `json:"gauge_set_ns"`    // one of the process that is set
}

// gauges measures changes of gauges and of a counter in turns: with one thread, and with four, of which the slowest counts.
func gauges(r *Result, rounds int) error {
	l, err := startLoop(4)
	if err != nil {
		return err
	}
	defer l.stop()
	lib, problems, err := check.Load(check.Options{Texts: []string{gaugeMetrics}})
	if err != nil || len(problems) > 0 {
		return fmt.Errorf("%v, %v", err, problems)
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	for threads, what := range map[int]string{1: "l", 4: "m"} {
		p := GaugePrice{Threads: threads}
		for metric, into := range map[string]*float64{"bench_counter": &p.Counter, "bench_thread_gauge": &p.ThreadGauge, "bench_gauge": &p.Gauge, "bench_set_gauge": &p.Set} {
			if _, *into, err = added(l, d, what, metric, "/", rounds); err != nil {
				return err
			}
		}
		r.Gauges = append(r.Gauges, p)
	}
	return nil
}

// timedDistribution is exec_time_inclusive of the function that is timed, with the distribution of its calls.
const timedDistribution = `metric timed { name "timed"; units "s/s"; unitsType normalized; aggregateOperator sum; style EventCounter;
	base is histogram(wallTimer) { append preInsn $function("timed").entry (* startWallTimer(timed); *)
		prepend preInsn $function("timed").return (* stopWallTimer(timed); *) } }`

// distribution measures a wall timer with a distribution beside the same timer without, in turns.
func distribution(r *Result, rounds int) error {
	l, err := startLoop(4)
	if err != nil {
		return err
	}
	defer l.stop()
	lib, problems, err := check.Load(check.Options{Texts: []string{timedDistribution}})
	if err != nil || len(problems) > 0 {
		return err
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	var diffs []float64
	for range rounds {
		_, plain, err := added(l, d, "t", "exec_time_inclusive", "/Code/loop.c/timed", 1)
		if err != nil {
			return err
		}
		_, with, err := added(l, d, "t", "timed", "/", 1)
		if err != nil {
			return err
		}
		diffs = append(diffs, with-plain)
	}
	r.BucketNS = median(diffs)
	return nil
}
