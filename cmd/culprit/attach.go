package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/browse"
	"culprit/cmd/culprit/internal/proclist"
)

func newAttach() *cobra.Command {
	var opts measureOptions
	cmd := &cobra.Command{
		Use: "attach TARGET...", Short: "Measure running processes (pid or name) and search for the bottleneck",
		Example: "  culprit attach 4242\n  culprit attach redis-server --for 20s --json report.json\n" +
			"  culprit attach 4242 --no-search --watch 'procedure_calls@/Code/cache.c/*'",
		Args: takes(1, anyNumber, "a process: culprit attach PID, or culprit attach NAME"),
		RunE: body(func(cmd *cobra.Command, args []string) error { return attachTo(cmd.Context(), &opts, args) }),
	}
	opts.register(cmd.Flags())
	return cmd
}

func attachTo(ctx context.Context, opts *measureOptions, targets []string) error {
	m, err := prepare(opts)
	if err != nil {
		return err
	}
	pids, err := resolveAll(targets)
	if err != nil {
		return err
	}
	return m.run(ctx, pids)
}

// resolveAll finds the pids of all targets; one that is named twice counts once.
func resolveAll(targets []string) ([]int, error) {
	var pids []int
	for _, t := range targets {
		pid, err := proclist.Resolve(t)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// pickAndAttach lets the user choose a process and measures it.
func pickAndAttach(ctx context.Context, opts *measureOptions) error {
	if !opts.screens() {
		return usagef("there is no terminal to choose a process on; name one: culprit attach TARGET")
	}
	m, err := prepare(opts)
	if err != nil {
		return err
	}
	pickCtx, stop := signal.NotifyContext(ctx, ending...)
	pid, err := browse.Pick(pickCtx, browse.Options{Mono: os.Getenv("NO_COLOR") != "", ASCII: opts.ascii || !utf8Locale()})
	stop()
	switch {
	case errors.Is(err, browse.ErrQuit):
		return nil
	case err != nil:
		return fmt.Errorf("the list cannot be shown: %w; name the process: culprit attach TARGET", err)
	}
	return m.run(ctx, []int{pid})
}

// utf8Locale reports whether the terminal is said to show UTF-8 (locale(7): LC_ALL before LC_CTYPE before LANG).
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			return isUTF8(v)
		}
	}
	return false
}

func isUTF8(locale string) bool {
	l := strings.ToLower(locale)
	return strings.Contains(l, "utf-8") || strings.Contains(l, "utf8")
}
