package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/doctor"
	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor [TARGET]", Short: "Say whether this machine, and a process, allow to be measured, and what to do if not",
		Long: `doctor looks and changes nothing. Its last line is the tier that you get with the present permissions, why it is not the next
one, and the command that gives that: probes with the kernel's rows (eBPF), probes, stack samples, stack samples of running threads
only, only what the kernel accounts.

Exit status 0 if the program, or one of yours, can be measured in some way (notes included), 3 if not.`,
		Args: cobra.MaximumNArgs(1),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			checks := doctor.System()
			var facts *doctor.Facts
			if len(args) == 1 {
				pid, err := proclist.Resolve(args[0])
				if err != nil {
					return err
				}
				checks = append(checks, doctor.Target(pid)...)
				facts = doctor.FactsOf(pid)
			}
			verdict := doctor.Judge(rights(), facts)
			doctor.Soften(checks, verdict)
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

// rights are those of this user, and what this kernel can do.
func rights() doctor.Rights {
	r := doctor.Gather()
	if err := daemon.RowsUnsupported(); r.BTF && err != nil {
		r.Lacks = err.Error()
	}
	return r
}
