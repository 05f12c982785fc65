package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/cmd/culprit/internal/launch"
	"culprit/session"
)

// An attachment is what attach, run and assert share: a session on processes that ran already, or on a program that was
// started for it.
type attachment struct {
	cfg     session.Config
	program *launch.Program // nil for processes that ran already
	opened  bool            // the session was opened
}

// endWait is how long a program gets to end after SIGTERM.
const endWait = 2 * time.Second

// start starts a program and has it measured, or what it has left behind if it has ended before. The error is that of measure, or says why there is no program.
func (a *attachment) start(args []string, out launch.Output, measure func(pids []int) error) error {
	p, err := launch.Start(args, out)
	if err != nil {
		return err
	}
	p.AwaitImage()
	a.program = p
	err = measure([]int{p.PID})
	if !a.opened && isGone(err) && a.cfg.Children {
		if left := p.Left(); len(left) > 0 { // it has gone into the background
			return measure(left)
		}
	}
	return err
}

// open opens the session. Without Close probes stay in the processes.
func (a *attachment) open(ctx context.Context, pids []int) (*session.Session, error) {
	a.cfg.PIDs = pids
	s, err := session.Open(ctx, a.cfg)
	if err != nil {
		return nil, openError(ctx, err)
	}
	a.opened = true
	if a.program != nil {
		a.program.Measured()
	}
	return s, nil
}

func openError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		text := "interrupted before anything was measured"
		if errors.Is(err, context.Canceled) {
			return &statusError{exitFailed, errors.New(text)}
		}
		return &statusError{exitFailed, fmt.Errorf("%s: %w", text, err)}
	}
	return err
}
