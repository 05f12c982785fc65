package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/internal/safetext"
	"culprit/session/report"
	"culprit/session/socket"
)

func newWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why PID", Short: "Print what a running measurement has found so far", Args: takes(1, 1, "a process: culprit why PID, or culprit why NAME"),
		Long: `why asks a culprit that is measuring, and prints its present answer. PID is the process of that
culprit, or a process that it measures (a name will do). You can ask your own measurements;
root can ask all. The measurement goes on, and the program is not touched.

Exit status: 0 there is no bottleneck so far, 10 there is at least one, 12 that is not known yet, 1 nobody
measures the process.`,
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
	a, err := presentAnswer(pid)
	if err != nil {
		return err
	}
	r := a.report
	var text bytes.Buffer
	if a.UID != os.Geteuid() {
		fmt.Fprintf(&text, "This is what a program of uid %d says, with pid %d.\n", a.UID, a.PID)
	}
	if err := r.WriteText(&text); err != nil {
		return err
	}
	// The answer comes from another process: what it calls text may be anything.
	if _, err := io.WriteString(w, safetext.CleanLines(strings.TrimSuffix(text.String(), "\n"), maxAnswerLine, maxAnswerLines)+"\n"); unlessClosed(err) != nil {
		return fmt.Errorf("the answer cannot be written to standard output: %w", err)
	}
	return exitWith(foundStatus(r))
}

// maxAnswerLine and maxAnswerLines bound what an answer puts on the terminal.
const (
	maxAnswerLine  = 4000
	maxAnswerLines = 10_000
)

// An answer is what a session says.
type answer struct {
	socket.Session
	report *report.Report
	err    error
}

// answersWithin is for how long sessions are waited for, all of one group together.
const answersWithin = 5 * time.Second

// atOnce is how many sessions are asked at the same time.
const atOnce = 8

// presentAnswer is the answer of the session of a process, or of the one session that measures the process. Sessions of other users are asked only if
// none of this user has it: whoever has a directory of sockets may answer what he likes.
func presentAnswer(pid int) (*answer, error) {
	var own, others []socket.Session
	for _, s := range socket.Sessions() {
		if s.UID == os.Geteuid() {
			own = append(own, s)
		} else {
			others = append(others, s)
		}
	}
	var failed error
	for _, group := range [][]socket.Session{own, others} {
		found, err := answerAmong(group, pid)
		if found != nil || errors.As(err, new(*statusError)) {
			return found, err
		}
		failed = cmp.Or(failed, err)
	}
	if failed != nil {
		return nil, failed
	}
	return nil, fmt.Errorf("no culprit of yours that can be asked measures process %d; begin with: culprit attach %d (a measurement of another user: sudo culprit why %d; one with --no-socket cannot be asked)", pid, pid, pid)
}

// answerAmong is the answer of the session of a process, or of the one that measures it; nil if there is none.
func answerAmong(sessions []socket.Session, pid int) (*answer, error) {
	if i := slices.IndexFunc(sessions, func(s socket.Session) bool { return s.PID == pid }); i >= 0 {
		sessions = sessions[i : i+1]
	}
	var found []*answer
	var failed error
	for _, a := range askAll(sessions) {
		switch {
		case errors.Is(a.err, socket.ErrNoSession):
		case a.err != nil:
			failed = a.err
		case a.PID == pid || measures(a.report, pid):
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return nil, failed
	case 1:
		return found[0], nil
	}
	var names []string
	for _, a := range found {
		names = append(names, fmt.Sprintf("culprit why %d (of uid %d)", a.PID, a.UID))
	}
	return nil, usagef("several sessions measure process %d; choose one: %s", pid, strings.Join(names, ", "))
}

// askAll asks sessions at the same time for what they know, in their order.
func askAll(sessions []socket.Session) []*answer {
	all := make([]*answer, len(sessions))
	deadline, room := time.Now().Add(answersWithin), make(chan struct{}, atOnce)
	var open sync.WaitGroup
	for i, s := range sessions {
		open.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			r, err := ask(s, deadline)
			all[i] = &answer{s, r, err}
		})
	}
	open.Wait()
	return all
}

// ask asks a session for what it knows. What it calls text may be anything, and is made safe to show.
func ask(s socket.Session, deadline time.Time) (*report.Report, error) {
	line, err := s.AskUntil(deadline, socket.Snapshot)
	if err != nil {
		return nil, err
	}
	if line, err = cleanJSON(line); err == nil {
		var r *report.Report
		if r, err = report.Parse(line); err == nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("the answer of process %d is no report of this version: %w", s.PID, err)
}

// cleanJSON makes all strings of a JSON text safe to show in a line.
func cleanJSON(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(cleanValue(v))
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return safetext.Clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for k, one := range v {
			clean[safetext.Clean(k)] = cleanValue(one)
		}
		return clean
	}
	return v
}

func measures(r *report.Report, pid int) bool {
	return slices.ContainsFunc(r.Targets, func(t report.Target) bool { return t.PID == pid && !t.Ended })
}
