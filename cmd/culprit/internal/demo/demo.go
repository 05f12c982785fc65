// Package demo lets culprit diagnose programs whose bottleneck is known, and compares what it finds with what is wrong with
// them.
//
// It must not import the rooms that measure and search: it runs culprit as a user would. Run is called from one goroutine.
// Everything that it starts it also ends.
package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/safetext"
)

// A programCase is a program whose bottleneck is known.
type programCase struct {
	name       string
	what       string // what it does wrong
	hypothesis string // what has to be found
	start      func(dir string) (*target, error)
}

func cases(programs string) []programCase {
	plain := func(name string) func(string) (*target, error) {
		return func(string) (*target, error) {
			return &target{args: []string{filepath.Join(programs, name)}}, nil
		}
	}
	return []programCase{
		{"culprit-demo-cpu", "one function uses the CPU", "CPUbound", plain("culprit-demo-cpu")},
		{"culprit-demo-lock", "threads wait for one lock", "ExcessiveSyncWaitingTime", plain("culprit-demo-lock")},
		{"culprit-demo-io", "a thread waits for a file or pipe", "ExcessiveIOBlockingTime", plain("culprit-demo-io")},
		{"redis-server", "a database under the load of redis-benchmark", "CPUbound", startRedis},
	}
}

// maxLine and maxLines bound what an error puts on the terminal.
const (
	maxLine  = 400
	maxLines = 200
)

// Options say what is shown.
type Options struct {
	Programs string        // the directory that has the programs; "" = that of this program
	Length   time.Duration // how long each program is measured at most
	Found    int           // the exit status of culprit where it has found a bottleneck
}

// Run diagnoses all programs in turn and prints what was found. The error says that something was not as expected, or, as a
// *NoProgram, that a program is missing.
func Run(ctx context.Context, w io.Writer, o Options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	programs := o.Programs
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
	for _, c := range cases(programs) {
		ok, err := c.run(ctx, w, self, o)
		if ctx.Err() != nil {
			return fmt.Errorf("the demonstration was interrupted; everything it started has ended")
		}
		if err != nil {
			fmt.Fprintf(w, "  failed: %s\n\n", safetext.CleanLines(err.Error(), maxLine, maxLines))
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

// A NoProgram says that there is no program of the demonstration at a path.
type NoProgram struct{ Path string }

// Error says what to do.
func (e *NoProgram) Error() string {
	return e.Path + " is no program; build them with: make demo, and name their directory: culprit demo --programs DIR"
}

func checkPrograms(dir string) error {
	for _, name := range []string{"culprit-demo-cpu", "culprit-demo-lock", "culprit-demo-io"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
			return &NoProgram{path}
		}
	}
	return nil
}
