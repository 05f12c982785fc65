package main

import (
	"context"
	"fmt"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl/check"
)

// lockMetrics count how often mutexes are taken, in the same functions: by a flag for each of them, and by one table.
const lockMetrics = `constraint flaggedMutex /SyncObject/Mutex is counter {
		prepend preInsn $function("pthread_mutex_lock").entry (* if ($arg[0] == $constraint[0]) flaggedMutex = 1; *)
		append preInsn $function("pthread_mutex_lock").return (* flaggedMutex = 0; *) }
	constraint tabledMutex /SyncObject/Mutex is key;
	metric flagged { name "flagged"; units locks; unitsType unnormalized; aggregateOperator sum; style EventCounter; constraint flaggedMutex;
		base is counter { append preInsn $function("pthread_mutex_lock").entry constrained (* flagged++; *) } }
	metric tabled { name "tabled"; units locks; unitsType unnormalized; aggregateOperator sum; style EventCounter; constraint tabledMutex; counter lock;
		base is counter by lock { append preInsn $function("pthread_mutex_lock").entry (* lock = $arg[0]; tabled++; *) } }`

// lockObjects is how many mutexes are looked at.
const lockObjects = 16

// locks measures what it costs to count how often each of several mutexes is taken, for each pair of lock and unlock.
func locks(r *Result, rounds int) error {
	l, err := loopOf("bench/target/locks.c")
	if err != nil {
		return err
	}
	defer l.stop()
	lib, problems, err := check.Load(check.Options{Texts: []string{lockMetrics}})
	if err != nil || len(problems) > 0 {
		return fmt.Errorf("%v, %v", err, problems)
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	for metric, into := range map[string]*float64{"flagged": &r.LockFlagsNS, "tabled": &r.LockTableNS} {
		if *into, err = lockRounds(l, d, metric, rounds); err != nil {
			return err
		}
	}
	r.LockPairNS, err = l.ask("l")
	return err
}

// lockRounds is what a metric at each of the mutexes adds, the median of the rounds.
func lockRounds(l *loop, d *daemon.Daemon, metric string, rounds int) (float64, error) {
	var keys []grid.PairKey
	for i := range lockObjects {
		key, err := pair(metric, fmt.Sprintf("/SyncObject/Mutex/locks[%d]", i))
		if err != nil {
			return 0, err
		}
		keys = append(keys, key...)
	}
	var diffs []float64
	for range rounds {
		without, err := l.ask("l")
		if err != nil {
			return 0, err
		}
		for _, e := range d.Enable(keys, nobody{}) {
			if e.Err != nil {
				return 0, e.Err
			}
		}
		with, err := l.ask("l")
		d.Disable(keys)
		d.Settle()
		if err != nil {
			return 0, err
		}
		diffs = append(diffs, with-without)
	}
	return median(diffs), nil
}
