package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

const (
	// wantProcesses and wantThreads are what bench/target/processes.c starts.
	wantProcesses = 200
	wantThreads   = 5*wantProcesses + 1
	// settled is how long culprit may take to attach to all processes, and steadyFor over how long its processor time is taken then.
	settled   = 8 * time.Second
	steadyFor = 15 * time.Second
	// daemonLimit is the share of a processor that culprit may use for a thousand threads in two hundred processes.
	daemonLimit = 0.03
)

// processes measures what culprit itself uses while it watches very many threads and processes, beside the limit.
func processes(r *Result, rounds int) error {
	tool, err := buildTool()
	if err != nil {
		return err
	}
	defer tool.remove()
	l, err := loopOf("bench/target/processes.c")
	if err != nil {
		return err
	}
	defer l.stop()
	h := &Herd{}
	var shares []float64
	for range rounds {
		share, err := h.watched(tool, l.cmd.Process.Pid)
		if err != nil {
			return err
		}
		shares = append(shares, share)
	}
	h.DaemonCPU, h.Rounds, r.Herd = median(shares), shares, h
	h.OfLimit = h.DaemonCPU / daemonLimit
	return nil
}

// watched is the share of a processor that culprit uses once it has attached.
func (h *Herd) watched(tool *tool, pid int) (float64, error) {
	cmd := exec.Command(tool.path("culprit"), "attach", "--quiet", "--no-tui", "--no-search", "--watch", "cpu",
		"--for", (settled + steadyFor + time.Second).String(), "--json", tool.path("report.json"), strconv.Itoa(pid))
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	time.Sleep(settled)
	before, began := processorTime(cmd.Process.Pid), time.Now()
	time.Sleep(steadyFor)
	used, span := processorTime(cmd.Process.Pid)-before, time.Since(began).Seconds()
	peak, err := residentMB(strconv.Itoa(cmd.Process.Pid), "VmHWM")
	_ = cmd.Wait() // its status says what it found; that it ended well is in the report
	if err != nil {
		return 0, err
	}
	said, err := tool.report()
	if err != nil {
		return 0, err
	}
	h.Processes, h.Threads, h.DaemonMB = len(said.Targets), 0, max(h.DaemonMB, peak)
	for _, t := range said.Targets {
		h.Threads += t.Threads
	}
	if h.Processes != wantProcesses || h.Threads != wantThreads {
		return 0, fmt.Errorf("%d processes with %d threads were watched, not %d with %d", h.Processes, h.Threads, wantProcesses, wantThreads)
	}
	return used / span, nil
}
