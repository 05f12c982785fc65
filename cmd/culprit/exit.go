package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/pcl"
)

// The exit statuses; docs/output.md is their reference.
const (
	exitNothing    = 0  // nothing found, or the command did what it should
	exitFailed     = 1  // something went wrong
	exitUsage      = 2  // wrong use, or bad PCL
	exitForbidden  = 3  // not permitted; the message has the command that helps
	exitEnded      = 4  // the target ended before the session did
	exitBottleneck = 10 // at least one bottleneck was found
	exitUnexpected = 11 // at least one expectation did not hold
	exitWorse      = 12 // of diff: at least one bottleneck is new or worse
	exitUnknown    = 12 // no bottleneck was found, but a question about the whole program was not answered
)

// A statusError is an error with an exit status of its own. Its message may be empty: then all was said already.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// exitWith ends the program with a status and without a message; status 0 is no error.
func exitWith(status int) error {
	if status == 0 {
		return nil
	}
	return &statusError{status: status}
}

// usagef is an error about how the program was called.
func usagef(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// statusOf finds the exit status for an error of any room.
func statusOf(err error) int {
	var own *statusError
	var bad *proclist.BadTarget
	var many *proclist.Ambiguous
	var denied *process.NotPermitted
	var forbidden grid.ErrNotPermitted
	var focus *grid.FocusError
	var metric grid.ErrUnknownMetric
	var nowhere *pcl.NoConstraint
	var item *pcl.UnknownItem
	switch {
	case err == nil:
		return exitNothing
	case errors.As(err, &own):
		return own.status
	case errors.As(err, &bad), errors.As(err, &many), errors.As(err, &focus), errors.As(err, &metric), errors.As(err, &nowhere), errors.As(err, &item):
		return exitUsage
	case errors.As(err, &denied), errors.As(err, &forbidden):
		return exitForbidden
	case errors.Is(err, process.ErrTargetExited), errors.Is(err, process.ErrTargetExeced):
		return exitEnded
	}
	return exitFailed
}

// unlessClosed is an error of writing an answer to standard output, nil if nobody reads there any more: who has read enough (head, a pager) wants to know
// no more of it, and the exit status is the answer's.
func unlessClosed(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// printError says what went wrong and, where it is known, what would help.
func printError(err error) {
	helpAs(err, os.Args)
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return
	}
	fmt.Fprintf(os.Stderr, "culprit: %s\n", cleanLines(text))
	var focus *grid.FocusError
	if errors.As(err, &focus) {
		fmt.Fprintf(os.Stderr, "%s\n", focus.Caret())
	}
}

// helpAs has the command that would help be the one that was typed, where it is one that names a process and attaches to none.
func helpAs(err error, typed []string) {
	var denied *process.NotPermitted
	if len(typed) < 3 || !slices.Contains([]string{"detach", "restore", "list", "why", "why-not"}, typed[1]) || !errors.As(err, &denied) {
		return
	}
	if strings.HasPrefix(denied.Command, "sudo culprit ") {
		denied.Command = "sudo culprit " + strings.Join(typed[1:], " ")
	}
}
