package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culprit/cmd/culprit/internal/launch"
	"culprit/daemon/attach"
	"culprit/daemon/process"
	"culprit/session/report"
)

func newRun() *cobra.Command {
	var opts measureOptions
	var end bool
	cmd := &cobra.Command{
		Use: "run [flags] -- CMD [ARG...]", Short: "Start a program, measure it and search for the bottleneck",
		Long: `run starts a program and attaches to it. It also works where only children may be traced.
What the program does before that, in some 0.1 s, is not counted; the answer says how long it was.

The program's output is passed through unchanged. With --json - its standard output goes to standard
error; while the screens are open it goes to a file and is printed when they close. The program runs
in a process group of its own, so Ctrl-C ends the measurement and not the program. Its standard
input is /dev/null if that of culprit is a terminal. The program goes on when the measurement ends, unless --end is given.`,
		Example: "  culprit run -- ./server --port 8080\n  culprit run --for 10s --json - -- make -j4",
		Args:    takes(1, anyNumber, "a program to start: culprit run -- CMD"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			if flag := misplaced(cmd.Flags(), args); flag != "" && cmd.ArgsLenAtDash() < 0 {
				warnf("culprit: warning: %s goes to the program, since it stands behind it; flags of culprit stand before: culprit run %s ... -- CMD", flag, flag)
			}
			return runCommand(cmd.Context(), &opts, end, args)
		}),
	}
	opts.register(cmd.Flags())
	cmd.Flags().BoolVar(&end, "end", false, "end the program (SIGTERM) when the measurement ends")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// misplaced is the first argument of a program that is a flag of culprit as well; "" if there is none.
func misplaced(flags *pflag.FlagSet, args []string) string {
	for _, a := range args[1:] {
		name, long := strings.CutPrefix(a, "--")
		if name, _, _ = strings.Cut(name, "="); long && flags.Lookup(name) != nil {
			return "--" + name
		}
	}
	return ""
}

func runCommand(ctx context.Context, opts *measureOptions, end bool, args []string) error {
	m, err := prepare(opts)
	if err != nil {
		return err
	}
	err = m.start(args, m.programOutput(), func(pids []int) error { return m.run(ctx, pids) })
	if m.program == nil {
		return err
	}
	defer m.program.Finish()
	if !m.opened {
		return m.notOpened(args[0], err)
	}
	if end {
		m.program.End(endWait)
	}
	if code, ended := m.program.ExitCode(false); ended && code != nil {
		m.progressf("%s ended with %s", args[0], report.Ending(*code))
	} else if !ended {
		m.progressf("%s goes on (pid %d)", args[0], m.program.PID)
	}
	return err
}

// programOutput is where the output of the program goes: not where the screens or the report are.
func (m *measurement) programOutput() launch.Output {
	switch {
	case m.screens:
		return launch.UntilFinish
	case m.opts.json == "-":
		return launch.StderrOnly
	}
	return launch.Through
}

// notOpened says what becomes of a program that could not be attached to. It goes on if somebody else measures it, and ends
// otherwise: it was started to be measured.
func (m *measurement) notOpened(name string, err error) error {
	if isGone(err) {
		if code, ended := m.program.ExitCode(true); ended {
			return &statusError{exitEnded, endedAtOnce(name, code)}
		}
	}
	var taken *attach.Taken
	if errors.As(err, &taken) && taken.Alive() {
		m.progressf("%s goes on (pid %d)", name, m.program.PID)
		return err
	}
	m.program.End(endWait)
	return err
}

// isGone reports whether an error is that a process has ended.
func isGone(err error) bool {
	return errors.Is(err, process.ErrNotFound) || errors.Is(err, process.ErrZombie) || errors.Is(err, process.ErrTargetExited)
}

func endedAtOnce(name string, code *int) error {
	how := ""
	if code != nil {
		how = " with " + report.Ending(*code)
	}
	return fmt.Errorf("%s ended%s before it could be measured", name, how)
}
