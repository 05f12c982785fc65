package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/session"
	"culprit/session/report"
	"culprit/session/watch"
)

// measureOptions are the flags of the commands that measure.
type measureOptions struct {
	length   lengthFlag
	budget   budgetFlag
	files    []string
	texts    []string
	noSearch bool
	noPhases bool
	noTUI    bool
	noSocket bool
	ascii    bool
	json     string
	history  string
	watch    []string
	children bool
	quiet    bool
	backend  backendFlag
}

func (o *measureOptions) register(f *pflag.FlagSet) {
	o.budget = 0.02
	f.Var(&o.length, "for", "how long to measure (30s, 2m, or seconds); default: until you quit, or without a terminal until the search has settled (10 s to 60 s)")
	f.Var(&o.budget, "budget", "maximum overhead, as a share of the target's CPU time (2% or 0.02)")
	f.StringArrayVar(&o.files, "pcl", nil, "read metrics and hypotheses from a `FILE` (repeatable)")
	f.StringArrayVarP(&o.texts, "expr", "e", nil, "metrics and hypotheses as `PCL` text (repeatable)")
	f.BoolVar(&o.noSearch, "no-search", false, "only measure what --watch names")
	f.BoolVar(&o.noPhases, "no-phases", false, "do not begin a phase by itself when the program begins to behave otherwise")
	f.BoolVar(&o.noTUI, "no-tui", false, "print lines instead of screens")
	addSocketFlag(f, &o.noSocket)
	f.BoolVar(&o.ascii, "ascii", false, "only ASCII characters on the screens")
	f.Var(fileFlag{&o.json}, "json", "write the report as JSON to a `FILE`; - is standard output")
	f.Var(fileFlag{&o.history}, "history", "begin with what an earlier run of the program has found: the report `FILE` that its --json has written")
	f.StringArrayVar(&o.watch, "watch", nil, "also measure `METRIC[@FOCUS]` (repeatable; cpu@/Code/a.c/* means each function)")
	f.BoolVar(&o.children, "children", true, "also measure all descendants of the target, now and later")
	f.BoolVar(&o.quiet, "quiet", false, "no progress lines")
	o.backend.register(f)
}

func addSocketFlag(f *pflag.FlagSet, off *bool) {
	f.BoolVar(off, "no-socket", false, "do not answer culprit why, nor other programs of this user")
}

// library loads the PCL that the flags name. Problems in what the user gave are an error of usage that shows each place.
func (o *measureOptions) library() (*pcl.Library, error) { return loadLibrary(o.files, o.texts, false) }

func (o *measureOptions) watches(lib *pcl.Library) ([]watch.Watch, error) {
	var list []watch.Watch
	for _, text := range o.watch {
		w, err := watch.Parse(text, lib.Defined()...)
		if err != nil {
			return nil, &statusError{exitUsage, fmt.Errorf("--watch: %w", err)}
		}
		list = append(list, w)
	}
	return list, nil
}

// earlier reads the report that --history names; nil if it names none.
func (o *measureOptions) earlier() (*session.History, error) {
	if o.history == "" {
		return nil, nil
	}
	r, err := report.Read(o.history)
	switch {
	case err != nil:
		return nil, usagef("--history: %s", safetext.CleanMax(err.Error(), maxLine))
	case o.noSearch:
		return nil, usagef("--history is for the search, and --no-search leaves that out: give one of them")
	case r.NotSearched || len(r.Nodes) == 0:
		return nil, usagef("--history: %s is of a measurement without a search: nothing was found in it", safetext.CleanMax(o.history, maxLine))
	}
	return &session.History{File: o.history, Report: r}, nil
}

// screens reports whether the terminal screens are to be opened.
func (o *measureOptions) screens() bool {
	return !o.noTUI && o.json != "-" && isTerminal(os.Stdin) && isTerminal(os.Stdout) && os.Getenv("TERM") != "dumb"
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// A fileFlag is the name of a file. "" is refused: a script whose variable is not set would else write nothing, and not notice.
type fileFlag struct{ name *string }

// String implements pflag.Value.
func (f fileFlag) String() string {
	if f.name == nil {
		return ""
	}
	return *f.name
}

// Type implements pflag.Value.
func (f fileFlag) Type() string { return "FILE" }

// Set implements pflag.Value.
func (f fileFlag) Set(s string) error {
	if s == "" {
		return errors.New("expected the name of a file")
	}
	*f.name = s
	return nil
}

// A lengthFlag is a length of time greater than 0; a bare number is seconds.
type lengthFlag time.Duration

// maxLength bounds --for: ten years, far from the end of what a Duration holds.
const maxLength = 10 * 365 * 24 * time.Hour

// String implements pflag.Value.
func (l *lengthFlag) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// Type implements pflag.Value.
func (l *lengthFlag) Type() string { return "TIME" }

// Set implements pflag.Value.
func (l *lengthFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		sec, numErr := strconv.ParseFloat(s, 64)
		if numErr != nil || math.IsNaN(sec) || math.Abs(sec) > maxLength.Seconds() {
			return fmt.Errorf("expected a length of time such as 30s, 2m or 1h")
		}
		d = time.Duration(sec * float64(time.Second))
	}
	if d <= 0 || d > maxLength {
		return fmt.Errorf("expected more than 0 and at most ten years")
	}
	*l = lengthFlag(d)
	return nil
}

// leastBudget is a share of the target's time in which no probe could be kept: less of it says nothing else.
const leastBudget = 1e-6

// A budgetFlag is a share of the target's time, from leastBudget to 1.
type budgetFlag float64

// String implements pflag.Value.
func (b *budgetFlag) String() string { return strconv.FormatFloat(100*float64(*b), 'g', 4, 64) + "%" }

// Type implements pflag.Value.
func (b *budgetFlag) Type() string { return "SHARE" }

// Set implements pflag.Value.
func (b *budgetFlag) Set(s string) error {
	f, err := parseShare(s)
	if err != nil || !(f >= leastBudget && f <= 1) {
		return fmt.Errorf("expected a share such as 2%% or 0.02, from 0.0001%% to 100%%")
	}
	*b = budgetFlag(f)
	return nil
}

// A toleranceFlag is a share by which a value may differ, more than 0 and at most 10.
type toleranceFlag float64

// String implements pflag.Value.
func (t *toleranceFlag) String() string {
	return strconv.FormatFloat(100*float64(*t), 'g', 4, 64) + "%"
}

// Type implements pflag.Value.
func (t *toleranceFlag) Type() string { return "SHARE" }

// Set implements pflag.Value.
func (t *toleranceFlag) Set(s string) error {
	f, err := parseShare(s)
	if err != nil || !(f > 0 && f <= 10) {
		return fmt.Errorf("expected a share such as 10%% or 0.1, more than 0 and at most 1000%%")
	}
	*t = toleranceFlag(f)
	return nil
}

// parseShare reads 2% or 0.02.
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		f /= 100
	}
	return f, err
}

// A backendFlag says how values are come by: auto, probe, sample or ebpf.
type backendFlag grid.Backend

func (b *backendFlag) register(f *pflag.FlagSet) {
	*b = backendFlag(grid.BackendAuto)
	f.Var(b, "backend", "how to measure. auto: probes if possible, else sampling; probe: probes or fail; sample: never stop or modify the program; ebpf: sampling plus kernel wait times, or fail")
}

// String implements pflag.Value.
func (b *backendFlag) String() string { return grid.Backend(*b).String() }

// Type implements pflag.Value.
func (b *backendFlag) Type() string { return "BACKEND" }

// Set implements pflag.Value.
func (b *backendFlag) Set(s string) error {
	v, err := grid.ParseBackend(s)
	if err == nil {
		*b = backendFlag(v)
	}
	return err
}
