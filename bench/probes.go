package main

import (
	"context"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl/check"
)

// nobody takes values and drops them.
type nobody struct{}

func (nobody) Sample(grid.PairKey, float64, float64, float64) {}

// added measures what a pair adds to a call: bare and probed rounds alternate, the median of the differences counts.
func added(l *loop, d *daemon.Daemon, what, metric, focus string, rounds int) (bare, extra float64, err error) {
	key, err := pair(metric, focus)
	if err != nil {
		return 0, 0, err
	}
	var bares, diffs []float64
	for range rounds {
		without, err := l.ask(what)
		if err != nil {
			return 0, 0, err
		}
		if r := d.Enable(key, nobody{}); r[0].Err != nil {
			return 0, 0, r[0].Err
		}
		with, err := l.ask(what)
		d.Disable(key)
		d.Settle()
		if err != nil {
			return 0, 0, err
		}
		bares, diffs = append(bares, without), append(diffs, with-without)
	}
	return median(bares), median(diffs), nil
}

// pair is a metric at a focus, as Enable wants it.
func pair(metric, focus string) ([]grid.PairKey, error) {
	f, err := grid.ParseFocus(focus)
	return []grid.PairKey{{Metric: metric, Focus: f}}, err
}

// timerPair measures a timer and its limit in turns: processors change their speed from second to second, so each round has both, and the
// median of their ratios counts.
func timerPair(l *loop, d *daemon.Daemon, metric string, rounds int) (pairNS, limitNS, ratio float64, err error) {
	var timers, limits, ratios []float64
	for range rounds {
		_, timer, err := added(l, d, "w", metric, "/Code/loop.c/timed", 1)
		if err != nil {
			return 0, 0, 0, err
		}
		limit, err := l.ask("r")
		if err != nil {
			return 0, 0, 0, err
		}
		timers, limits, ratios = append(timers, timer), append(limits, limit), append(ratios, timer/limit)
	}
	return median(timers), median(limits), median(ratios), nil
}

// residue measures what a counter that is switched off still costs. It is taken out of the text some seconds later, or here by
// Settle: a round that this befell costs nothing, so the median of the rounds does not see it.
func residue(l *loop, d *daemon.Daemon, rounds int) (float64, error) {
	key, err := pair("procedure_calls", "/Code/loop.c/straight")
	if err != nil {
		return 0, err
	}
	var diffs []float64
	for range rounds {
		without, err := l.ask("s")
		if err != nil {
			return 0, err
		}
		if r := d.Enable(key, nobody{}); r[0].Err != nil {
			return 0, r[0].Err
		}
		d.Disable(key)
		with, err := l.ask("s")
		d.Settle()
		if err != nil {
			return 0, err
		}
		diffs = append(diffs, with-without)
	}
	return median(diffs), nil
}

const callMetric = `metric benchCalls { name "bench_calls"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { append preInsn $function("timed").entry (* nothing(); *) } }`

// probes measures the primitives.
func probes(r *Result, rounds int) error {
	l, err := startLoop(4)
	if err != nil {
		return err
	}
	defer l.stop()
	lib, _, err := check.Load(check.Options{Texts: []string{callMetric}})
	if err != nil {
		return err
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	if r.CallNS, r.CounterNS, err = added(l, d, "l", "procedure_calls", "/Code/loop.c/leaf", rounds); err != nil {
		return err
	}
	if _, r.CounterBareNS, err = added(l, d, "s", "procedure_calls", "/Code/loop.c/straight", rounds); err != nil {
		return err
	}
	if r.ResidueNS, err = residue(l, d, rounds); err != nil {
		return err
	}
	if _, r.Counter4NS, err = added(l, d, "m", "procedure_calls", "/Code/loop.c/leaf", rounds); err != nil {
		return err
	}
	if r.CPUTimerPairNS, _, r.CPUPerLimit, err = timerPair(l, d, "cpu_inclusive", rounds); err != nil {
		return err
	}
	if r.WallTimerPairNS, r.RDTSCPairNS, r.WallPerLimit, err = timerPair(l, d, "exec_time_inclusive", rounds); err != nil {
		return err
	}
	if _, r.CallProbeNS, err = added(l, d, "t", "bench_calls", "/", rounds); err != nil {
		return err
	}
	if r.ThreadCPUTimeNS, err = l.ask("c"); err != nil {
		return err
	}
	if r.EmptyJumpPairNS, err = emptyJumps(l, rounds); err != nil {
		return err
	}
	r.CounterPerJumps = r.CounterBareNS / r.EmptyJumpPairNS
	if r.UprobeNS, err = uprobe(l, rounds, false); err != nil {
		return err
	}
	r.UprobePairNS, err = uprobe(l, rounds, true)
	return err
}

// emptyJumps measures a jump away and back without a probe.
func emptyJumps(l *loop, rounds int) (float64, error) {
	var diffs []float64
	for range rounds {
		straight, err := l.ask("s")
		if err != nil {
			return 0, err
		}
		detour, err := l.ask("j")
		if err != nil {
			return 0, err
		}
		diffs = append(diffs, detour-straight)
	}
	return median(diffs), nil
}
