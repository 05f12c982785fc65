package main

import (
	"context"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"culprit/daemon"
	"culprit/pcl"
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
	if err := confine(l.cmd.Process.Pid, c.Cores); err != nil {
		return err
	}
	lib, _, err := pcl.Load(pcl.Options{})
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

// confine lets all threads of a process use the first of the processors that it may use.
func confine(pid, cores int) error {
	var allowed, set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &allowed); err != nil {
		return err
	}
	for cpu := 0; set.Count() < min(cores, allowed.Count()); cpu++ {
		if allowed.IsSet(cpu) {
			set.Set(cpu)
		}
	}
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return err
		}
	}
	return nil
}
