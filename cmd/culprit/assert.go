package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culprit/cmd/culprit/internal/expect"
	"culprit/cmd/culprit/internal/launch"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/session"
	"culprit/session/report"
	"culprit/session/watch"
)

// assertTime is how long `assert` measures without --for.
const assertTime = 10 * time.Second

// assertOptions are the flags of `assert`.
type assertOptions struct {
	length   lengthFlag
	files    []string
	texts    []string
	junit    string
	json     string
	against  string
	tolerate toleranceFlag
	children bool
	end      bool
	quiet    bool
	noSocket bool
	backend  backendFlag
}

func (o *assertOptions) register(f *pflag.FlagSet) {
	o.length = lengthFlag(assertTime)
	f.Var(&o.length, "for", "how long to measure (30s, 2m, or seconds), unless the target ends before")
	f.StringArrayVar(&o.files, "pcl", nil, "read expectations, and metrics and hypotheses for them, from a `FILE` (repeatable)")
	f.StringArrayVarP(&o.texts, "expr", "e", nil, "the same as `PCL` text (repeatable)")
	f.Var(fileFlag{&o.junit}, "junit", "write the results as JUnit XML to a `FILE`")
	f.Var(fileFlag{&o.json}, "json", "write the results as JSON to a `FILE`; - is standard output")
	f.Var(fileFlag{&o.against}, "against", "expect the values of an earlier `REPORT` (of attach or run with --watch .. --json REPORT)")
	o.tolerate = 0.1
	f.Var(&o.tolerate, "tolerance", "with --against: how far from the report a value may be (10% or 0.1); quantiles 25% at least")
	f.BoolVar(&o.children, "children", true, "also measure all descendants of the target, now and later")
	f.BoolVar(&o.end, "end", false, "end the program that was started (SIGTERM) when the time is over")
	f.BoolVar(&o.quiet, "quiet", false, "no progress lines")
	addSocketFlag(f, &o.noSocket)
	o.backend.register(f)
}

func newAssert() *cobra.Command {
	var opts assertOptions
	cmd := &cobra.Command{
		Use:   "assert {TARGET... | -- CMD [ARG...]} {--pcl FILE | --against REPORT}",
		Short: "Measure a program and check what a file expects of it",
		Long: `assert measures a running process, or a program that it starts, and compares it with the "expect"
definitions of PCL files. It prints a line for each expectation: ok, FAILED with the value and the
limit, or UNKNOWN with the reason why it could not be measured. Hypotheses are tested on the
averages over the whole time. With --against REPORT each value is expected to be within a tolerance
of what an earlier report says.

Exit status: 0 all hold, 11 some do not, 1 some could not be measured (or the program that was
started failed), 4 a process that was attached to ended before the time was over.`,
		Example: "  culprit assert redis-server --pcl limits.pcl --for 20s\n" +
			"  culprit run --no-search --watch io_latency --for 20s --json base.json -- ./server\n" +
			"  culprit assert --against base.json --tolerance 15% --for 20s --end -- ./server\n" +
			"  culprit assert --pcl limits.pcl --junit results.xml --end -- ./server --port 8080",
		Args: takes(1, anyNumber, "a process, or a program to start: culprit assert PID --pcl FILE, or culprit assert --pcl FILE -- CMD"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			return runAssert(cmd.Context(), &opts, args, cmd.ArgsLenAtDash())
		}),
	}
	opts.register(cmd.Flags())
	return cmd
}

// runAssert measures processes, or the program behind "--", which stands at args[dash:] if dash is not negative.
func runAssert(ctx context.Context, opts *assertOptions, args []string, dash int) error {
	if dash > 0 {
		return usagef("found targets and, behind --, a program to start; name one or the other")
	}
	if opts.end && dash < 0 {
		return usagef("--end is for a program that assert starts: culprit assert --end -- CMD")
	}
	a, err := prepareAssert(opts)
	if err != nil {
		return err
	}
	if dash < 0 {
		pids, err := resolveAll(args)
		if err != nil {
			return err
		}
		return a.run(ctx, pids)
	}
	return a.startProgram(ctx, args)
}

// An assertion is one run of `assert`.
type assertion struct {
	attachment
	opts *assertOptions
	lib  *pcl.Library
	base *expect.Baseline // nil without --against
}

// prepareAssert reads everything that can be wrong before any process is touched.
func prepareAssert(opts *assertOptions) (*assertion, error) {
	lib, err := loadLibrary(opts.files, opts.texts, false)
	if err != nil {
		return nil, err
	}
	a := &assertion{opts: opts, lib: lib}
	if err := a.readBaseline(); err != nil {
		return nil, err
	}
	if len(lib.Expects()) == 0 && a.base == nil {
		return nil, usagef(`there is nothing to expect; name a file that has expect definitions: culprit assert TARGET --pcl FILE; or an earlier report: --against REPORT`)
	}
	a.cfg = session.Config{Tool: toolName(), Library: lib, Budget: 1, Children: opts.children, Socket: !opts.noSocket, Backend: grid.Backend(opts.backend), Log: a.note, Guard: guard,
		Missing: func(key grid.PairKey, err error) { a.note(missingText(key, err)) }}
	for _, k := range a.keys() {
		a.cfg.Watches = append(a.cfg.Watches, watch.Of(k))
	}
	for _, path := range []string{opts.junit, opts.json} {
		if path == "" || path == "-" {
			continue
		}
		if err := report.CheckWritable(path); err != nil {
			return nil, &statusError{exitFailed, err}
		}
	}
	return a, nil
}

// readBaseline reads the report of --against.
func (a *assertion) readBaseline() error {
	if a.opts.against == "" {
		return nil
	}
	r, err := report.Read(a.opts.against)
	if err == nil {
		a.base, err = expect.NewBaseline(a.opts.against, r, float64(a.opts.tolerate), a.lib)
	}
	if err != nil {
		return &statusError{exitUsage, fmt.Errorf("--against: %w", err)}
	}
	return nil
}

// keys are the pairs that are measured, each once.
func (a *assertion) keys() []grid.PairKey {
	keys := expect.Keys(a.lib)
	if a.base != nil {
		for _, k := range a.base.Keys() {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// judge judges what was measured.
func (a *assertion) judge(read expect.Reader) []expect.Verdict {
	verdicts := expect.Judge(a.lib, read)
	if a.base != nil {
		verdicts = append(verdicts, a.base.Judge(a.lib, read)...)
	}
	return verdicts
}

// startProgram starts the program and measures it. It ends if it cannot be measured, and with --end when it has been.
func (a *assertion) startProgram(ctx context.Context, args []string) error {
	out := launch.Through
	if a.opts.json == "-" {
		out = launch.StderrOnly
	}
	err := a.start(args, out, func(pids []int) error { return a.run(ctx, pids) })
	if a.program != nil && (!a.opened || a.opts.end) {
		a.program.End(endWait)
	}
	return err
}

// run attaches, measures, removes the probes and says what holds.
func (a *assertion) run(ctx context.Context, pids []int) error {
	ctx, stop := interruptible(ctx, pids)
	defer stop()
	began := time.Now()
	s, err := a.open(ctx, pids)
	if err != nil {
		return err
	}
	s.Run(ctx, session.Limits{For: time.Duration(a.opts.length)})
	took := time.Since(began)
	closeErr := s.Close()
	for _, note := range s.Notes() { // of --quiet, too: what is ok may not be
		warnf("culprit: warning: %s", safetext.CleanMax(note, maxLine))
	}
	end := s.End() // the target may have ended before its probes were removed
	warnings.flush()
	verdicts := a.judge(s.Read)
	trouble := errors.Join(a.trouble(end), closeErr)
	status := a.status(verdicts, end)
	if trouble != nil {
		status = exitFailed
	}
	results := expect.NewResults(toolName(), verdicts, began, took, status)
	err = errors.Join(a.write(verdicts, results), a.save(verdicts, results, began, took), trouble)
	if err != nil {
		return &statusError{exitFailed, err}
	}
	return exitWith(status)
}

// write prints the verdicts to standard output, as lines or with --json - as JSON.
func (a *assertion) write(verdicts []expect.Verdict, results *expect.Results) (err error) {
	if a.opts.json == "-" {
		err = results.Encode(os.Stdout)
	} else {
		err = expect.WriteText(os.Stdout, verdicts)
	}
	if err = unlessClosed(err); err != nil {
		err = fmt.Errorf("the results cannot be written to standard output: %w", err)
	}
	return err
}

// save writes the files that were asked for.
func (a *assertion) save(verdicts []expect.Verdict, results *expect.Results, began time.Time, took time.Duration) (err error) {
	if a.opts.junit != "" {
		err = report.SaveAs(a.opts.junit, func(w io.Writer) error { return expect.WriteJUnit(w, verdicts, began, took) })
	}
	if a.opts.json != "" && a.opts.json != "-" {
		err = errors.Join(err, report.SaveAs(a.opts.json, results.Encode))
	}
	return err
}

// trouble is what makes the results worthless, whatever they say.
func (a *assertion) trouble(end session.End) error {
	if end == session.EndInterrupted {
		return errors.New("interrupted before the time was over")
	}
	if end != session.EndTarget || a.program == nil {
		return nil
	}
	if code, ended := a.program.ExitCode(true); ended && code != nil && *code != 0 {
		return fmt.Errorf("the program failed: it ended with %s", report.Ending(*code))
	}
	return nil
}

func (a *assertion) status(verdicts []expect.Verdict, end session.End) int {
	switch {
	case expect.Count(verdicts, expect.Unknown) > 0:
		return exitFailed
	case end == session.EndTarget && a.program == nil:
		return exitEnded
	case expect.Count(verdicts, expect.Failed) > 0:
		return exitUnexpected
	}
	return exitNothing
}

func (a *assertion) note(text string) {
	if !a.opts.quiet {
		warnf("culprit: %s", safetext.CleanMax(text, maxLine))
	}
}
