package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"culprit/internal/fault"
)

// version is the version of the program; the linker may set it (-X main.version=...).
var version = "0.1.0"

func toolName() string { return "culprit " + version }

// execute runs the command line and returns the exit status.
func execute(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	warnings.flush()
	if err == nil {
		return exitNothing
	}
	// What cobra itself complains of is an error of usage; what a command returns went through body.
	var b *bodyError
	if errors.As(err, &b) {
		printError(b.err)
		return statusOf(b.err)
	}
	printError(err)
	fmt.Fprintln(os.Stderr, "`culprit help` or `culprit help COMMAND` says how it is used.")
	return exitUsage
}

// A bodyError marks errors that come from a command's own code.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return e.err.Error() }

// body adapts the code of a command for cobra.
func body(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd, args); err != nil {
			return &bodyError{err}
		}
		return nil
	}
}

const longHelp = `culprit finds out why a running process is slow (CPU, waiting, I/O), where (function, thread, lock,
file) and since when. It attaches to the process, inserts small probes into its code where it needs
them, searches by itself, and removes the probes at the end. PCL is the language in which metrics
and hypotheses are written: "culprit pcl --help".

Without a command it lists your processes; choose one and press Enter. Ctrl-C or q ends the
measurement, and the process goes on.

Exit status: 0 nothing found, 10 a bottleneck was found, 11 an expectation did not hold, 12 not known
(no bottleneck was found, but a question about the whole program was not answered), 1 failed,
2 wrong use or bad PCL, 3 not permitted, 4 the target ended before the session did.`

func newRoot() *cobra.Command {
	var opts measureOptions
	root := &cobra.Command{
		Use: "culprit", Short: "Find out why, where and when a running program is slow", Long: longHelp,
		SilenceErrors: true, SilenceUsage: true, Args: noCommand,
		PersistentPreRunE: body(func(*cobra.Command, []string) error { return fault.FromEnvironment() }), // a wrong choice is never ignored
		RunE:              body(func(cmd *cobra.Command, _ []string) error { return pickAndAttach(cmd.Context(), &opts) }),
	}
	opts.register(root.Flags())
	root.Version = version
	root.SetVersionTemplate(toolName() + "\n")
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(helpOf(root.HelpFunc()))
	root.SetHelpCommand(newHelp())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newAttach(), newRun(), newAssert(), newWhy(), newWhyNot(), newSessions(), newPhase(), newDiff(), newDetach(), newRestore(), newDoctor(), newPoints(), newCallees(), newPCL(), newMetrics(), newFoci(),
		newHypotheses(), newExplain(), newDemo(), newVersion(), newGuard())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: takesNothing,
		RunE: body(func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), toolName())
			return err
		}),
	}
}
