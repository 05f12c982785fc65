package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"culprit/internal/safetext"
	"culprit/session/diff"
	"culprit/session/report"
)

func newDiff() *cobra.Command {
	var json string
	cmd := &cobra.Command{
		Use: "diff A B", Short: "Compare two reports: which bottlenecks are new, gone, worse or better", Args: takes(2, 2, "two reports: culprit diff A.json B.json"),
		Long: `diff compares two reports that attach or run have written with --json, A being the earlier one. A
bottleneck is new, gone, worse or better if its value differs by more than the two measurements err,
and by more than one run differs from the next. The largest change comes first. Else it is undecided,
as is one that was never measured in one of them. Bottlenecks are matched by hypothesis and focus;
the names are matched without numbers of processes and threads, and without addresses.

Exit status: 0 no bottleneck is new or worse, 12 at least one is, 2 a file is no report.`,
		Example: "  culprit run --for 20s --json before.json -- ./server\n  culprit diff before.json after.json",
		RunE: body(func(cmd *cobra.Command, args []string) error {
			return diffReports(cmd.OutOrStdout(), args[0], args[1], json)
		}),
	}
	cmd.Flags().Var(fileFlag{&json}, "json", "write the changes as JSON to a `FILE`; - is standard output")
	return cmd
}

func diffReports(w io.Writer, a, b, json string) error {
	var reports [2]*report.Report
	for i, path := range []string{a, b} {
		r, err := report.Read(path)
		if err != nil {
			return &statusError{exitUsage, err}
		}
		reports[i] = r
	}
	changes, err := diff.Compare(reports[0], reports[1])
	if err != nil {
		return &statusError{exitUsage, err}
	}
	status := exitNothing
	if diff.IsWorse(changes) {
		status = exitWorse
	}
	if x, y := exeOf(reports[0]), exeOf(reports[1]); x != y {
		warnf("culprit: warning: the reports are of different programs: %s and %s", safetext.Clean(x), safetext.Clean(y))
	}
	note := diff.Crowded(reports[0], reports[1])
	if note != "" {
		warnf("culprit: warning: %s", note)
	}
	result := diff.Result{Tool: toolName(), A: a, B: b, Changes: changes, Note: note, ExitStatus: status}
	if json != "" && json != "-" {
		if err := report.SaveAs(json, result.Encode); err != nil {
			return &statusError{exitFailed, err}
		}
	}
	if json == "-" {
		err = result.Encode(w)
	} else {
		_, err = io.WriteString(w, safetext.CleanLines(strings.TrimSuffix(diff.Text(changes), "\n"), maxAnswerLine, maxAnswerLines)+"\n")
	}
	if unlessClosed(err) != nil {
		return fmt.Errorf("the changes cannot be written to standard output: %w", err)
	}
	return exitWith(status)
}

// exeOf is the name of the program that a report is about.
func exeOf(r *report.Report) string {
	if len(r.Targets) == 0 {
		return ""
	}
	return filepath.Base(r.Targets[0].Exe)
}
