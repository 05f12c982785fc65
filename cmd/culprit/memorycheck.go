package main

import (
	"culprit/cmd/culprit/internal/doctor"
	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon/segment"
)

// memoryFor says whether a process has the memory that probes take, as far as its limits tell.
func memoryFor(args []string) []doctor.Check {
	if len(args) != 1 {
		return nil
	}
	pid, err := proclist.Resolve(args[0])
	if err != nil {
		return nil // it has ended since
	}
	c := doctor.Check{Name: "memory for probes", Value: "enough"}
	if err := segment.Affordable(pid); err != nil {
		c.Level, c.Value, c.Remedy = doctor.Note, err.Error(), "stack samples take none: attach falls back to them (--backend sample)"
	}
	return []doctor.Check{c}
}
