package main

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/demo"
)

// demoLength bounds the diagnosis of one program.
const demoLength = 15 * time.Second

func newDemo() *cobra.Command {
	var programs string
	var length lengthFlag
	cmd := &cobra.Command{
		Use: "demo", Short: "Diagnose small programs with known bottlenecks, and a database under load", Args: takesNothing,
		Long: `demo starts programs whose bottleneck is known, searches for it, and compares. "make demo" builds
the three small programs; redis-server is measured too if it and redis-benchmark are installed. demo
ends every program that it starts. Exit status 0 if all was found as expected, 1 if not.`,
		RunE: body(func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), ending...)
			defer stop()
			return runDemo(ctx, cmd.OutOrStdout(), programs, time.Duration(length))
		}),
	}
	length = lengthFlag(demoLength)
	cmd.Flags().StringVar(&programs, "programs", "", "the `DIR` in which make demo has put the programs (default: beside culprit)")
	cmd.Flags().Var(&length, "for", "how long each program is measured")
	return cmd
}

func runDemo(ctx context.Context, w io.Writer, programs string, length time.Duration) error {
	err := demo.Run(ctx, w, demo.Options{Programs: programs, Length: length, Found: exitBottleneck})
	var none *demo.NoProgram
	if errors.As(err, &none) {
		return usagef("%w", err)
	}
	return err
}
