package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culprit/internal/safetext"
	"culprit/session/report"
	"culprit/session/socket"
)

func newSessions() *cobra.Command {
	return &cobra.Command{
		Use: "sessions", Short: "List the measurements that go on",
		Long: `sessions lists the measurements that go on: the process of each culprit, what it measures, for how long
it has done so, and what it has found so far. You see your own; root sees all. They go on, and no
program is touched. One with --no-socket is not listed.

culprit why PID tells more of one of them.`,
		Example: "  culprit sessions",
		Args:    takesNothing,
		RunE:    body(func(cmd *cobra.Command, _ []string) error { return listSessions(cmd.OutOrStdout()) }),
	}
}

func listSessions(w io.Writer) error {
	var text strings.Builder
	for _, a := range askAll(socket.Sessions()) {
		if !errors.Is(a.err, socket.ErrNoSession) { // else it was killed
			text.WriteString(a.summary())
		}
	}
	if text.Len() == 0 {
		text.WriteString("No measurement goes on that you can ask. Begin one with: culprit attach PID\n")
	}
	// What a session calls text may be anything.
	_, err := io.WriteString(w, safetext.CleanLines(strings.TrimSuffix(text.String(), "\n"), maxAnswerLine, maxAnswerLines)+"\n")
	return unlessClosed(err)
}

// summary is what one session does and has found, in one line or two.
func (a *answer) summary() string {
	who := fmt.Sprintf("culprit %d", a.PID)
	if a.UID != os.Geteuid() {
		who += fmt.Sprintf(" (of uid %d)", a.UID)
	}
	if a.err != nil {
		return fmt.Sprintf("%s cannot be asked: %v\n", who, a.err)
	}
	r := a.report
	length := time.Duration(float64(r.Seconds) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%s has measured %s for %v: %s\n", who, targetsText(r), length, foundText(r))
}

// namedTargets is how many processes a summary names.
const namedTargets = 3

// targetsText names the processes that a session measures now.
func targetsText(r *report.Report) string {
	var names []string
	for _, t := range r.Targets {
		if !t.Ended {
			names = append(names, fmt.Sprintf("%s{%d}", filepath.Base(t.Exe), t.PID))
		}
	}
	if len(names) == 0 {
		return "processes that have ended"
	}
	if more := len(names) - namedTargets; more > 1 {
		names = append(names[:namedTargets], fmt.Sprintf("%d more processes", more))
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return names[0]
}

// foundText is what a session has found so far, with the first finding in full.
func foundText(r *report.Report) string {
	switch n := len(r.Bottlenecks); {
	case r.NotSearched:
		return "it looks for no bottleneck"
	case n == 1:
		return "one bottleneck\n  " + r.Bottlenecks[0].Sentence
	case n > 1:
		return fmt.Sprintf("%d bottlenecks; the first:\n  %s", n, r.Bottlenecks[0].Sentence)
	case r.Unknown():
		return "no bottleneck so far, and not all questions about the whole program are answered"
	}
	return "no bottleneck so far"
}
