package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// demoLength bounds the diagnosis of one program.
const demoLength = 15 * time.Second

// A demoCase is a program whose bottleneck is known.
type demoCase struct {
	name       string
	what       string // what it does wrong
	hypothesis string // what has to be found
	start      func(dir string) (*demoTarget, error)
}

func demoCases(programs string) []demoCase {
	plain := func(name string) func(string) (*demoTarget, error) {
		return func(string) (*demoTarget, error) {
			return &demoTarget{args: []string{filepath.Join(programs, name)}}, nil
		}
	}
	return []demoCase{
		{"culprit-demo-cpu", "one function uses the CPU", "CPUbound", plain("culprit-demo-cpu")},
		{"culprit-demo-lock", "threads wait for one lock", "ExcessiveSyncWaitingTime", plain("culprit-demo-lock")},
		{"culprit-demo-io", "a thread waits for a file or pipe", "ExcessiveIOBlockingTime", plain("culprit-demo-io")},
		{"redis-server", "a database under the load of redis-benchmark", "CPUbound", startRedis},
	}
}

func newDemo() *cobra.Command {
	var programs string
	var length lengthFlag
	cmd := &cobra.Command{
		Use: "demo", Short: "Diagnose small programs with known bottlenecks, and a database under load", Args: cobra.NoArgs,
		Long: `demo starts programs whose bottleneck is known, lets culprit find it, and compares. The three
small programs are built by "make demo"; redis-server is used if it and redis-benchmark are
installed. Everything that demo starts it also ends. Exit status 0 if all was found as
expected, 1 if not.`,
		RunE: body(func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), ending...)
			defer stop()
			return demo(ctx, cmd.OutOrStdout(), programs, time.Duration(length))
		}),
	}
	length = lengthFlag(demoLength)
	cmd.Flags().StringVar(&programs, "programs", "", "the `DIR` in which make demo has put the programs (default: beside culprit)")
	cmd.Flags().Var(&length, "for", "how long each program is measured")
	return cmd
}

// demo runs all cases in turn.
func demo(ctx context.Context, w io.Writer, programs string, length time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if programs == "" {
		programs = filepath.Dir(self)
	}
	if programs, err = filepath.Abs(programs); err != nil {
		return err
	}
	if err := checkPrograms(programs); err != nil {
		return err
	}
	// What `culprit run` leaves behind becomes our child, so that nothing outlives the demonstration (prctl(2)).
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	failed := 0
	for _, c := range demoCases(programs) {
		ok, err := c.run(ctx, w, self, length)
		if ctx.Err() != nil {
			return fmt.Errorf("the demonstration was interrupted; everything it started has ended")
		}
		if err != nil {
			fmt.Fprintf(w, "  failed: %s\n\n", cleanLines(err.Error()))
		}
		if !ok {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of the programs were not diagnosed as expected", failed)
	}
	fmt.Fprintln(w, "All were diagnosed as expected.")
	return nil
}

func checkPrograms(dir string) error {
	for _, name := range []string{"culprit-demo-cpu", "culprit-demo-lock", "culprit-demo-io"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
			return usagef("%s is no program; build them with: make demo, and name their directory: culprit demo --programs DIR", path)
		}
	}
	return nil
}
