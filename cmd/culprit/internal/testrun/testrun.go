// Package testrun runs the tests of PCL that package pcl/pcltest reads: it builds and starts programs, drives them, measures
// them with a daemon, and says of each expectation whether it holds.
//
// It must not import anything that draws. Run is called from one goroutine at a time. Every program that it starts is ended
// before Run returns, also when its context ends; should this process be killed, the kernel ends them.
package testrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"culprit/internal/safetext"
	"culprit/pcl/pcltest"
	"culprit/pcl/syntax"
)

// Options say how tests are run.
type Options struct {
	Out     io.Writer        // a line for each expectation
	Guard   func() *exec.Cmd // as daemon.Options.Guard
	Only    *regexp.Regexp   // names of the tests that are run; nil = all
	Verbose bool             // print what programs print
	TempDir string           // where directories of tests are made; "" = the system's
}

// A Summary counts.
type Summary struct {
	Tests, Passed, Failed int      // tests that ran; expectations, with each statement that could not be done among the failed
	Skipped               []string // for each test that was not run: its place, and what it needs
}

// ErrInterrupted says that the context ended before all tests had run.
var ErrInterrupted = errors.New("interrupted: the remaining tests did not run, and all programs of the tests have ended")

// Run runs the tests of a file. The error is of the file as a whole (PCL in it that has errors, of type *BadFile), of the
// system, or ErrInterrupted; what fails in a test is counted.
func Run(ctx context.Context, f *pcltest.File, o Options) (s Summary, err error) {
	for _, t := range f.Tests {
		if err := checkPCL(f, t); err != nil {
			return s, err
		}
	}
	starter := newStarter()
	defer starter.close()
	for _, t := range f.Tests {
		if o.Only != nil && !o.Only.MatchString(t.Name) {
			continue
		}
		r := &run{ctx: ctx, opts: o, file: f, test: t, sum: &s, starter: starter, vars: map[string]string{}}
		if err := r.all(); err != nil {
			return s, err
		}
		if ctx.Err() != nil {
			return s, ErrInterrupted
		}
	}
	return s, nil
}

// A run is one test that is being run.
type run struct {
	ctx      context.Context
	opts     Options
	file     *pcltest.File
	test     *pcltest.Test
	sum      *Summary
	starter  *starter
	dir      string
	vars     map[string]string
	out      output
	programs []*program // in order of their start
	measured *measured  // nil before the first measure
	printing sync.Mutex // lines of programs come from goroutines of their own
}

// failed ends a test: a statement could not be done, and what follows makes no sense.
type failed struct {
	pos syntax.Pos
	err error
}

func (f *failed) Error() string { return f.pos.String() + ": " + f.err.Error() }

// missing ends a test: the machine lacks what it needs.
type missing struct{ what string }

func (m *missing) Error() string { return m.what }

// all runs the test, from its directory to the end of its programs. The error is one of the system.
func (r *run) all() (err error) {
	if r.dir, err = os.MkdirTemp(r.opts.TempDir, "culprit-test-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	r.vars["dir"], r.vars["here"] = r.dir, filepath.Dir(r.file.Source.Name)
	if here, err := filepath.Abs(r.vars["here"]); err == nil {
		r.vars["here"] = here
	}
	defer r.endPrograms()
	defer r.detach()
	r.printf("test  %s", r.test.Name)
	err = r.steps()
	var lacks *missing
	switch {
	case r.ctx.Err() != nil:
	case errors.As(err, &lacks):
		r.printf("skip  %s: %v", r.test.Pos, lacks)
		r.sum.Skipped = append(r.sum.Skipped, fmt.Sprintf("%s: %v", r.test.Pos, lacks))
		return nil
	case err != nil:
		r.fail("%v", err)
		r.story()
	}
	r.sum.Tests++
	return nil
}

// steps does the statements in order.
func (r *run) steps() error {
	for i, s := range r.test.Steps {
		if r.ctx.Err() != nil {
			return nil
		}
		err := r.step(i, s)
		var lacks *missing
		if errors.As(err, &lacks) {
			return err
		}
		if err != nil {
			return &failed{s.Place(), err}
		}
	}
	return nil
}

// step does statement i.
func (r *run) step(i int, s pcltest.Step) error {
	switch s := s.(type) {
	case pcltest.Needs:
		return r.needs(s)
	case pcltest.Compile:
		return r.compile(s)
	case pcltest.WriteFile:
		return r.writeFile(s)
	case pcltest.PCL:
		return r.refusePCL(s)
	case pcltest.Start:
		return r.start(s)
	case pcltest.Run:
		return r.runCommand(s.Args)
	case pcltest.Say:
		return r.say(s)
	case pcltest.Await:
		return r.await(s)
	case pcltest.Take:
		return r.take(s)
	case pcltest.Sleep:
		r.pause(s.For)
		return nil
	}
	return r.measuring(i, s)
}

// measuring does the statements that measure.
func (r *run) measuring(i int, s pcltest.Step) error {
	switch s := s.(type) {
	case pcltest.Measure:
		return r.measure(s, r.test.Steps[i+1:])
	case pcltest.Enable:
		return r.measured.enable(s.Pair)
	case pcltest.Disable:
		return r.measured.disable(s.Pair)
	case pcltest.Search:
		return r.measured.search(s, r.test.Steps[i+1:])
	case pcltest.Stop:
		return r.measured.stop()
	case pcltest.Expect:
		return r.expect(s)
	case pcltest.Hypothesis:
		return r.hypothesis(s)
	case pcltest.Check:
		return r.check(s)
	}
	panic(fmt.Sprintf("BUG: no code for the statement %T", s))
}

// maxShown bounds a line of output, in characters: text of programs may be in it.
const maxShown = 1000

func (r *run) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.printing.Lock()
	defer r.printing.Unlock()
	for i, l := range strings.Split(text, "\n") {
		if i > 0 {
			l = "      " + l
		}
		fmt.Fprintln(r.opts.Out, safetext.CleanMax(l, maxShown))
	}
}

func (r *run) pass(format string, args ...any) {
	r.sum.Passed++
	r.printf("ok    "+format, args...)
}

func (r *run) fail(format string, args ...any) {
	r.sum.Failed++
	r.printf("FAIL  "+format, args...)
}

// value is what a variable stands for in a word.
func (r *run) value(name string) (string, error) {
	if v, ok := r.vars[name]; ok {
		return v, nil
	}
	return noValue(name)
}

// noValue is what a variable stands for before anything is started.
func noValue(name string) (string, error) { return "", fmt.Errorf("$%s has no value", name) }

// number is what a variable stands for in an expression: what was taken or measured, else what a program has printed.
func (r *run) number(name string) (float64, error) {
	if text, ok := r.vars[name]; ok {
		v, err := parseNumber(text)
		if err != nil {
			return 0, fmt.Errorf("$%s is %q, which is no number", name, text)
		}
		return v, nil
	}
	if v, ok := r.out.count(name); ok {
		return v, nil
	}
	return 0, fmt.Errorf("there is no $%s: no program has printed a line \"COUNT %s NUMBER\", and no take names it; printed were: %s", name, name, r.out.counted())
}

// parseNumber reads decimal and, behind 0x, hexadecimal numbers.
func parseNumber(s string) (float64, error) {
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return float64(n), nil
	}
	return strconv.ParseFloat(s, 64)
}

// words puts the variables into words.
func (r *run) words(words []pcltest.Word) ([]string, error) {
	var out []string
	for _, w := range words {
		text, err := w.Expand(r.value)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}
