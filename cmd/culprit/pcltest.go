package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/testrun"
	"culprit/pcl/pcltest"
	"culprit/pcl/syntax"
)

func newPCLTest() *cobra.Command {
	var only string
	var opts testrun.Options
	cmd := &cobra.Command{
		Use: "test FILE...", Short: "Run tests of metrics against real programs", Args: takes(1, anyNumber, "a file of tests: culprit pcl test FILE"),
		Long: `test runs files of tests. A test starts a program, tells it what to do, measures it meanwhile, and
compares the values with what is expected (docs/pcl-reference.md, "Testing metrics"). The programs
run as they would from a shell: run only files that you trust.

It prints a line for each expectation. Exit status: 0 all hold, 1 some do not, 2 a file is
wrong, 3 not permitted.`,
		RunE: body(func(cmd *cobra.Command, args []string) error {
			var err error
			if only != "" {
				if opts.Only, err = regexp.Compile(only); err != nil {
					return usagef("--run: %v", err)
				}
			}
			opts.Out, opts.Guard = cmd.OutOrStdout(), guard
			return testPCL(cmd.Context(), args, opts)
		}),
	}
	cmd.Flags().StringVar(&only, "run", "", "run only the tests whose name matches a `REGEXP`")
	cmd.Flags().BoolVarP(&opts.Verbose, "verbose", "v", false, "print also what the programs print")
	return cmd
}

// testPCL reads all files before it runs the first.
func testPCL(ctx context.Context, names []string, opts testrun.Options) error {
	files, err := readTests(names)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx, nil)
	defer stop()
	var all testrun.Summary
	for _, f := range files {
		s, err := testrun.Run(ctx, f, opts)
		all.Tests, all.Passed, all.Failed = all.Tests+s.Tests, all.Passed+s.Passed, all.Failed+s.Failed
		all.Skipped = append(all.Skipped, s.Skipped...)
		var bad *testrun.BadFile
		if errors.As(err, &bad) {
			return usagef("the PCL has errors:\n%w", bad)
		}
		if err != nil {
			return err
		}
	}
	return tell(opts.Out, all)
}

// tell prints the counts and finds the exit status.
func tell(w io.Writer, s testrun.Summary) error {
	text := fmt.Sprintf("%d tests: %d passed, %d failed", s.Tests, s.Passed, s.Failed)
	if n := len(s.Skipped); n > 0 {
		text += fmt.Sprintf("; %d tests skipped", n)
	}
	if _, err := fmt.Fprintln(w, text); err != nil {
		return err
	}
	if s.Failed > 0 {
		return exitWith(exitFailed)
	}
	return nil
}

// readTests reads and checks files of tests. Whatever is wrong in any is an error of usage that shows each place.
func readTests(names []string) (files []*pcltest.File, err error) {
	var all []*syntax.Error
	for _, name := range names {
		text, err := readTest(name)
		if err != nil {
			return nil, usagef("cannot read the test %s: %w", name, err)
		}
		f, errs := pcltest.Parse(name, text)
		all = append(all, errs...)
		files = append(files, f)
	}
	if len(all) > 0 {
		return nil, usagef("the tests have errors:\n%w", &testrun.BadFile{Problems: all})
	}
	return files, nil
}

// readTest reads one file, no more of it than the parser would take.
func readTest(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, pcltest.MaxText+1))
	return strings.TrimPrefix(string(b), "\ufeff"), err
}
