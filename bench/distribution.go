package main

import (
	"context"

	"culprit/daemon"
	"culprit/pcl/check"
)

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
