package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/internal/safetext"
	"culprit/session/report"
	"culprit/session/socket"
)

func newWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why PID", Short: "Print what a running measurement has found so far", Args: cobra.ExactArgs(1),
		Long: `why asks a culprit that is measuring, and prints its present answer. PID is the process of that
culprit, or a process that it measures (a name will do). You can ask your own measurements;
root can ask all. The measurement goes on, and the program is not touched.

Exit status: 0 no bottleneck so far, 10 at least one, 1 nobody measures the process.`,
		Example: "  culprit why nginx\n  culprit why 4242",
		RunE:    body(func(cmd *cobra.Command, args []string) error { return why(cmd.OutOrStdout(), args[0]) }),
	}
}

func why(w io.Writer, target string) error {
	pid, err := strconv.Atoi(target)
	if err != nil || pid <= 0 {
		if pid, err = proclist.Resolve(target); err != nil {
			return err
		}
	}
	r, err := presentAnswer(pid)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		return err
	}
	// The answer comes from another process: what it calls text may be anything.
	if _, err := io.WriteString(w, safetext.CleanLines(strings.TrimSuffix(text.String(), "\n"), maxAnswerLine, maxAnswerLines)+"\n"); err != nil {
		return fmt.Errorf("the answer cannot be written to standard output: %w", err)
	}
	if len(r.Bottlenecks) > 0 {
		return exitWith(exitBottleneck)
	}
	return nil
}

// maxAnswerLine and maxAnswerLines bound what an answer puts on the terminal.
const (
	maxAnswerLine  = 4000
	maxAnswerLines = 10_000
)

// presentAnswer is the answer of the session of a process, or of the one session that measures the process.
func presentAnswer(pid int) (*report.Report, error) {
	sessions := socket.Sessions()
	var measuring []string
	var found *report.Report
	var failed error
	if i := slices.IndexFunc(sessions, func(s socket.Session) bool { return s.PID == pid }); i >= 0 {
		sessions = sessions[i : i+1]
	}
	for _, s := range sessions {
		r, err := ask(s)
		switch {
		case errors.Is(err, socket.ErrNoSession):
		case err != nil:
			failed = err
		case s.PID == pid || measures(r, pid):
			measuring, found = append(measuring, fmt.Sprintf("culprit why %d", s.PID)), r
		}
	}
	switch {
	case len(measuring) == 1:
		return found, nil
	case len(measuring) > 1:
		return nil, usagef("several sessions measure process %d; choose one: %s", pid, strings.Join(measuring, ", "))
	case failed != nil:
		return nil, failed
	}
	return nil, fmt.Errorf("no culprit of yours that can be asked measures process %d; begin with: culprit attach %d (a measurement of another user: sudo culprit why %d; one with --no-socket cannot be asked)", pid, pid, pid)
}

// ask asks a session for what it knows.
func ask(s socket.Session) (*report.Report, error) {
	line, err := s.Ask(socket.Snapshot)
	if err != nil {
		return nil, err
	}
	r, err := report.Parse(line)
	if err != nil {
		return nil, fmt.Errorf("the answer of process %d is no report of this version: %w", s.PID, err)
	}
	return r, nil
}

func measures(r *report.Report, pid int) bool {
	return slices.ContainsFunc(r.Targets, func(t report.Target) bool { return t.PID == pid && !t.Ended })
}
