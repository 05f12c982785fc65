package main

import (
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"culprit/daemon/tracerguard"
)

// guard makes the command that watches this process while it holds a target; nil where this process is not culprit itself.
var guard func() *exec.Cmd

// guardBySelf is this program again, as its own guard.
func guardBySelf() *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "guard")
	cmd.Args[0] = os.Args[0]
	return cmd
}

// newGuard is not for people: it does nothing but to watch its parent.
func newGuard() *cobra.Command {
	return &cobra.Command{
		Use: "guard", Hidden: true, Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { os.Exit(tracerguard.Watch()) },
	}
}
