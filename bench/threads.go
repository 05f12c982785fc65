package main

import (
	"context"
	"runtime"

	"culprit/daemon"
	"culprit/pcl/check"
)

// threads measures 1, 2, 4 and 16 threads that call one function at once, on one processor, on two, and so on to all.
func threads(r *Result, rounds int) error {
	for cores := 1; cores <= runtime.NumCPU(); cores *= 2 {
		for _, n := range []int{1, 2, 4, 16} {
			c := Crowd{Threads: n, Cores: cores}
			if err := c.measure(rounds); err != nil {
				return err
			}
			r.Threads = append(r.Threads, c)
		}
	}
	return nil
}

func (c *Crowd) measure(rounds int) error {
	l, err := startLoop(c.Threads)
	if err != nil {
		return err
	}
	defer l.stop()
	may, err := processorsOf(l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := pin(l.cmd.Process.Pid, may[:min(c.Cores, len(may))]...); err != nil {
		return err
	}
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		return err
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	if c.CallNS, c.CounterNS, err = added(l, d, "m", "procedure_calls", "/Code/loop.c/leaf", rounds); err != nil {
		return err
	}
	_, c.WallTimerPairNS, err = added(l, d, "m", "exec_time_inclusive", "/Code/loop.c/leaf", rounds)
	return err
}
