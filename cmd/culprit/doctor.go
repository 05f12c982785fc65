package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/doctor"
	"culprit/cmd/culprit/internal/proclist"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor [TARGET]", Short: "Say whether this machine, and a process, allow to be measured, and what to do if not",
		Long: "doctor looks and changes nothing. Exit status 0 if all is well (notes included), 3 if anything would fail.",
		Args: cobra.MaximumNArgs(1),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			checks := doctor.System()
			if len(args) == 1 {
				pid, err := proclist.Resolve(args[0])
				if err != nil {
					return err
				}
				checks = append(checks, doctor.Target(pid)...)
			}
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
