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
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/session/ask"
	"culprit/session/report"
	"culprit/session/socket"
)

// whyOptions are the flags of `why` and `why-not`.
type whyOptions struct {
	pid      string
	report   string
	settings []string
	files    []string
	texts    []string
	not      bool // what does not hold comes first
}

func newWhy() *cobra.Command {
	opts := whyOptions{}
	cmd := &cobra.Command{
		Use: "why {PID [FOCUS] | FOCUS --report FILE}", Short: "Print what a measurement has found so far, or what it knows of one place",
		Long: `why asks a culprit that is measuring, and prints its present answer. PID is the process of that
culprit, or a process that it measures (a name will do). You can ask your own measurements;
root can ask all. The measurement goes on, and the program is not touched. --report FILE asks a report
that attach or run has written with --json instead.

With a FOCUS, such as /Code/cache.c/lookup, it prints for each hypothesis whether it holds there, was
ruled out, is not decided, or was never measured, and why. With --set it says which answers would be
others with another value of a tunable constant; "culprit hypotheses" and "culprit explain" list
those. Nothing is measured for that: what has no value stays never measured.

Exit status: 0 there is no bottleneck so far (with a FOCUS: what was tested there was ruled out), 10
there is at least one (a hypothesis holds there), 12 that is not known, 1 nobody measures the process.`,
		Example: "  culprit why nginx\n  culprit why 4242 /Code/cache.c/lookup\n  culprit why --report r.json --set PC_CPUThreshold=0.2",
	}
	return opts.complete(cmd)
}

func newWhyNot() *cobra.Command {
	opts := whyOptions{not: true}
	cmd := &cobra.Command{
		Use: "why-not {PID FOCUS | FOCUS --report FILE}", Short: "Print what was ruled out at a place, and what was never measured there",
		Long: `why-not prints what culprit why FOCUS prints, and what does not hold comes first: what was ruled out
at the place and by which value, what is not decided, and what was never measured, with the reason.

Exit status: 0 what was tested there was ruled out, 10 a hypothesis holds there, 12 nothing was
concluded there, 1 nobody measures the process.`,
		Example: "  culprit why-not 4242 /Code/cache.c/lookup\n  culprit why-not /Code/cache.c/lookup --report r.json",
	}
	return opts.complete(cmd)
}

// complete gives a command its flags and its body.
func (o *whyOptions) complete(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&o.pid, "pid", "", "ask the measurement of `PID`: a culprit, or a process that it measures, or its name")
	f.Var(fileFlag{&o.report}, "report", "ask the report in a `FILE`")
	f.StringArrayVar(&o.settings, "set", nil, "judge what was measured with another tunable constant, `NAME=VALUE` (repeatable)")
	addLibraryFlags(cmd, &o.files, &o.texts)
	cmd.Args = o.checkArgs
	cmd.RunE = body(func(cmd *cobra.Command, args []string) error { return o.why(cmd.OutOrStdout(), args) })
	return cmd
}

// placed takes a process that stands before a focus for that of --pid, and gives what is left of the arguments.
func (o *whyOptions) placed(args []string) []string {
	if len(args) == 2 && o.report == "" && (o.pid == "" || o.pid == args[0]) && !strings.HasPrefix(args[0], "/") && strings.HasPrefix(args[1], "/") {
		o.pid, args = args[0], args[1:]
	}
	return args
}

// checkArgs refuses what names no measurement, or two.
func (o *whyOptions) checkArgs(cmd *cobra.Command, args []string) error {
	args = o.placed(args)
	focus := len(args) > 0 && strings.HasPrefix(args[0], "/")
	switch {
	case o.pid != "" && o.report != "":
		return errors.New("found --pid and --report; choose one")
	case o.not && len(args) < 2 && !focus:
		return takes(2, anyNumber, "a focus that begins with a slash: culprit why-not PID /Code/MODULE/FUNCTION")(cmd, args)
	case o.not && !(len(args) == 1 && focus):
		return takes(1, 1, "a focus that begins with a slash: culprit why-not PID /Code/MODULE/FUNCTION")(cmd, append(args, args...))
	case focus && o.pid == "" && o.report == "":
		return fmt.Errorf("%s needs a measurement or a report: culprit %s PID %s, or --report FILE", cmd.CommandPath(), cmd.Name(), shortWord(args[0]))
	case len(args) == 2 && !focus && !strings.HasPrefix(args[1], "/") && o.pid == "" && o.report == "":
		return fmt.Errorf("%s: found %q behind the process, expected a focus that begins with a slash, such as /Code/MODULE/FUNCTION", cmd.CommandPath(), shortWord(args[1]))
	case len(args) == 1 && !focus && (o.pid != "" || o.report != ""):
		return fmt.Errorf("%s: found %q, expected a focus that begins with a slash, such as /Code/MODULE/FUNCTION", cmd.CommandPath(), shortWord(args[0]))
	}
	least := 1
	if o.pid != "" || o.report != "" {
		least = 0
	}
	return takes(least, 1, "a process: culprit why PID, or culprit why NAME")(cmd, args)
}

func (o *whyOptions) why(w io.Writer, args []string) error {
	lib, err := loadLibrary(o.files, o.texts, false)
	if err != nil {
		return err
	}
	args = o.placed(args)
	target, focus := o.pid, report.Focus(nil)
	switch {
	case len(args) == 1 && strings.HasPrefix(args[0], "/"):
		if focus, err = readFocus(args[0], lib); err != nil {
			return err
		}
	case len(args) == 1:
		target = args[0]
	}
	var settings []ask.Setting
	for _, text := range o.settings {
		s, err := ask.ParseSetting(lib, text)
		if err != nil {
			return usagef("--set: %s", shortWords(err.Error()))
		}
		settings = append(settings, s)
	}
	r, from, err := o.asked(target)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(from)
	status, err := o.answer(&text, r, lib, focus, settings)
	if err != nil {
		return err
	}
	// The answer may come from another process: what it calls text may be anything.
	if _, err := io.WriteString(w, safetext.CleanLines(strings.TrimSuffix(text.String(), "\n"), maxAnswerLine, maxAnswerLines)+"\n"); unlessClosed(err) != nil {
		return fmt.Errorf("the answer cannot be written to standard output: %w", err)
	}
	return exitWith(status)
}

func shortWords(s string) string { return safetext.CleanMax(s, maxLine) }

// readFocus reads a focus as reports have it: names of a target are escaped there.
func readFocus(text string, lib *pcl.Library) (report.Focus, error) {
	f, err := grid.ParseFocus(text, lib.Defined()...)
	if err != nil {
		return nil, err
	}
	out := report.Focus{}
	for h, path := range f.Map() {
		out[h] = safetext.Clean(path)
	}
	return out, nil
}

// asked is the report that was asked for, with what is to be said of where it comes from.
func (o *whyOptions) asked(target string) (r *report.Report, from string, err error) {
	if o.report != "" {
		if r, err = report.Read(o.report); err != nil {
			err = usagef("--report: %w", err)
		} else if r.NotSearched {
			err = usagef("--report: %s is of a measurement without a search (--no-search): it has no answers", shortWords(o.report))
		}
		return r, "", err
	}
	a, err := presentAnswer(target)
	if err != nil {
		return nil, "", err
	}
	if a.UID != os.Geteuid() {
		from = fmt.Sprintf("This is what a program of uid %d says, with pid %d.\n", a.UID, a.PID)
	}
	return a.report, from, nil
}

// answer writes what was asked, and returns the exit status that says it.
func (o *whyOptions) answer(text *strings.Builder, r *report.Report, lib *pcl.Library, focus report.Focus, settings []ask.Setting) (int, error) {
	if focus == nil && len(settings) == 0 {
		return foundStatus(r), r.WriteText(text)
	}
	found := ask.Never
	if focus != nil {
		a := ask.At(r, lib, focus)
		text.WriteString(a.Text(o.not))
		found = a.Found()
	}
	if len(settings) > 0 {
		told := ""
		told, found = ask.NewJudge(lib, settings).Tell(r, focus)
		text.WriteString(told)
	}
	switch found {
	case ask.Holds:
		return exitBottleneck, nil
	case ask.RuledOut:
		return exitNothing, nil
	}
	return exitUnknown, nil
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
func presentAnswer(target string) (*answer, error) {
	pid, err := strconv.Atoi(target)
	if err != nil || pid <= 0 {
		if pid, err = proclist.Resolve(target); err != nil {
			return nil, err
		}
	}
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
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); os.IsNotExist(err) {
		return nil, fmt.Errorf("there is no process %d, and no measurement of it; culprit without arguments lists the processes there are", pid)
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
			r, err := askSession(s, deadline)
			all[i] = &answer{s, r, err}
		})
	}
	open.Wait()
	return all
}

// askSession asks a session for what it knows. What it calls text may be anything, and is made safe to show.
func askSession(s socket.Session, deadline time.Time) (*report.Report, error) {
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
