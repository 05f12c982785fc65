package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"culprit/cmd/culprit/internal/doctor"
	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon/attach"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/survey"
	"culprit/daemon/syscalls"
	"culprit/daemon/threadstats"
	"culprit/internal/safetext"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor [TARGET]", Short: "Check what can be measured on this machine (or process) and how to fix what cannot",
		Long: `doctor checks and changes nothing. Its last line names the tier that you get with your present
permissions, why it is not the next better one, and the command that gives that one. From the best
to the least the tiers are: probes with per-thread statistics (eBPF), probes, stack samples, stack
samples of running threads only, the kernel's accounting only. docs/troubleshooting.md explains
each message.

Exit status 0 if the process, or one of yours, can be measured in some way, 3 if not.`,
		Args: takes(0, 1, "at most one process: culprit doctor, or culprit doctor PID"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			checks := doctor.System()
			var facts *doctor.Facts
			if len(args) == 1 {
				pid, err := proclist.Resolve(args[0])
				if err != nil {
					return err
				}
				checks = append(checks, doctor.Target(pid)...)
				checks = append(checks, occupied(pid))
				checks = append(checks, limits(pid)...)
				facts = doctor.FactsOf(pid)
				if facts.Wrong == "" {
					c, what := forbidden(pid)
					checks, facts.Forbids = append(checks, c), what
				}
			}
			verdict := doctor.Judge(rights(), facts)
			doctor.Soften(checks, verdict)
			checks = append(checks, memoryFor(args)...)
			checks = append(checks, verdict.Check())
			w := cmd.OutOrStdout()
			if err := doctor.Write(w, checks); err != nil {
				return err
			}
			if doctor.Failed(checks) {
				return exitWith(exitForbidden)
			}
			if len(args) == 1 {
				fmt.Fprintln(w, "attach would work")
			}
			return nil
		}),
	}
}

// occupied looks for what another culprit has put into a process, or has left there.
func occupied(pid int) doctor.Check {
	err := attach.Occupied(pid)
	if err == nil {
		return doctor.Occupied("")
	}
	c := doctor.Occupied(err.Error())
	var taken *attach.Taken
	if errors.As(err, &taken) && taken.Alive() {
		c.Level, c.Remedy = doctor.Note, "attach takes stack samples; for probes "+c.Remedy
	}
	return c
}

// forbidden looks for threads that have forbidden themselves what probes do, where the kernel tells.
func forbidden(pid int) (c doctor.Check, what string) {
	modes, err := syscalls.OpenModes(syscalls.NewTypes())
	if err != nil {
		why := err.Error()
		if errors.Is(err, unix.EPERM) {
			why = "to see it takes CAP_BPF and CAP_PERFMON"
		}
		return doctor.Forbidden("", why), ""
	}
	defer modes.Close()
	mode, err := modes.Of(pid)
	if err != nil {
		return doctor.Forbidden("", err.Error()), ""
	}
	if err := process.Forbidden(mode); err != nil {
		what = err.Error()
	}
	return doctor.Forbidden(what, ""), what
}

// limits are the objects of a process that probes do not go into, or not everywhere.
func limits(pid int) (checks []doctor.Check) {
	list, err := survey.Limits(pid)
	if err != nil {
		return nil // the other checks say why
	}
	for _, l := range list {
		c := doctor.Check{Name: "probes in " + safetext.CleanMax(l.Object, maxLine), Value: l.Why}
		if l.Sure {
			c.Level, c.Remedy = doctor.Note, "nothing to do: stack samples tell its times, and probes go into the rest; calls are not counted there"
			if l.Whole {
				c.Remedy = "nothing to do: the whole process is measured by stack samples; calls are not counted"
			}
		}
		checks = append(checks, c)
	}
	return checks
}

// rights are those of this user, and what this kernel can do.
func rights() doctor.Rights {
	r := doctor.Gather()
	if err := threadstats.Unsupported(); r.BTF && err != nil {
		r.Lacks = err.Error()
	}
	return r
}

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
