package main

import (
	"errors"
	"time"

	"culprit/daemon/threadstats"
)

// kernelRows measures what the programs cost that keep rows of threads, on two threads that are switched all the time: without
// them, with them, and watched, in turn.
func kernelRows(r *Result, rounds int) error {
	l, err := loopOf("bench/target/pingpong.c")
	if err != nil {
		return err
	}
	defer l.stop()
	var bare, unwatched, watched, open []float64
	for range rounds {
		ns, err := l.ask("bare")
		if err != nil {
			return err
		}
		began := time.Now()
		k, err := threadstats.Open()
		if errors.Is(err, threadstats.ErrNotPermitted) || errors.Is(err, threadstats.ErrNoBTF) || errors.Is(err, threadstats.ErrUnsupported) {
			skip("%v: no figures of per-thread statistics", err)
			return nil
		}
		if err != nil {
			return err
		}
		open = append(open, float64(time.Since(began).Microseconds())/1000)
		if err := k.Need(threadstats.RunQueueWait); err != nil {
			return errors.Join(err, k.Close())
		}
		bare = append(bare, ns)
		u, w, err := keptRound(k, l)
		if err = errors.Join(err, k.Close()); err != nil {
			return err
		}
		unwatched, watched = append(unwatched, u), append(watched, w)
	}
	r.Rows = &Rows{RoundTripNS: median(bare), UnwatchedNS: median(unwatched), WatchedNS: median(watched), OpenMS: median(open)}
	r.Rows.UnwatchedSlowdown = r.Rows.UnwatchedNS/r.Rows.RoundTripNS - 1
	r.Rows.WatchedSlowdown = r.Rows.WatchedNS/r.Rows.RoundTripNS - 1
	return r.Rows.account(l)
}

// keptRound measures a round trip that is not watched and one that is.
func keptRound(k *threadstats.Keeper, l *loop) (unwatched, watched float64, err error) {
	if unwatched, err = l.ask("unwatched"); err != nil {
		return 0, 0, err
	}
	t, err := k.Watch(l.cmd.Process.Pid, 64)
	if err != nil {
		return 0, 0, err
	}
	defer t.Close()
	watched, err = l.ask("watched")
	return unwatched, watched, err
}

// account asks the kernel what a run of a program takes.
func (r *Rows) account(l *loop) error {
	k, err := threadstats.Open()
	if err != nil {
		return err
	}
	defer k.Close()
	if err := k.Need(threadstats.RunQueueWait); err != nil {
		return err
	}
	first, err := k.Cost()
	if err != nil {
		return err
	}
	if _, err := l.ask("unwatched"); err != nil {
		return err
	}
	second, err := k.Cost()
	if err != nil {
		return err
	}
	t, err := k.Watch(l.cmd.Process.Pid, 64)
	if err != nil {
		return err
	}
	defer t.Close()
	if _, err := l.ask("watched"); err != nil {
		return err
	}
	third, err := k.Cost()
	r.SwitchUnwatchedNS = each(second.SwitchNS-first.SwitchNS, second.Switches-first.Switches)
	r.SwitchWatchedNS = each(third.SwitchNS-second.SwitchNS, third.Switches-second.Switches)
	r.WakeupWatchedNS = each(third.WakeupNS-second.WakeupNS, third.Wakeups-second.Wakeups)
	return err
}

func each(ns, runs uint64) float64 { return float64(ns) / float64(max(runs, 1)) }
