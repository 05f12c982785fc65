package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon"
	"culprit/daemon/callees"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/session"
)

func newCallees() *cobra.Command {
	span := time.Second
	cmd := &cobra.Command{
		Use: "callees PID FUNCTION", Short: "List what a function calls, through pointers as well",
		Long: `callees lists what a function calls at each of its call instructions. Calls through pointers are
watched for a while (--time). FUNCTION is a name as culprit shows it, with or without its module:
server.c/main, /Code/server.c/main, main.`, Args: takes(2, 2, "a process and a function: culprit callees PID FUNCTION"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			return listCallees(cmd.Context(), cmd.OutOrStdout(), args[0], args[1], span)
		}),
	}
	cmd.Flags().DurationVar(&span, "time", span, "how long to watch the indirect calls")
	return cmd
}

func listCallees(ctx context.Context, w io.Writer, target, name string, span time.Duration) error {
	path, _ := strings.CutPrefix(name, "/Code/")
	module, function, ok := strings.Cut(path, "/")
	if !ok {
		module, function = "", path
	}
	if function == "" || ok && module == "" {
		return usagef("found %q, expected FUNCTION, or MODULE/FUNCTION as culprit shows them, such as server.c/main", name)
	}
	pid, err := proclist.Resolve(target)
	if err != nil {
		return err
	}
	lib, err := loadLibrary(nil, nil, false)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx, []int{pid})
	defer stop()
	var calls []callees.Call
	err = briefly(ctx, lib, pid, func(d *daemon.Daemon) (err error) {
		calls, err = d.Callees(ctx, module, function, span)
		if ctx.Err() != nil {
			return nil
		}
		if module == "" {
			return err
		}
		return session.WithSimilarCode(d, err, grid.Whole().Refine(grid.Code, module, function))
	})
	if err != nil {
		return err
	}
	return writeCallees(w, calls)
}

// briefly attaches for as long as ask takes. What it found is printed by the caller, when nothing is left in the target.
func briefly(ctx context.Context, lib *pcl.Library, pid int, ask func(*daemon.Daemon) error) error {
	say := func(s string) { warn("culprit: " + s) }
	d, err := daemon.Attach(ctx, daemon.Options{Library: lib, Log: say, Guard: guardBySelf}, pid)
	if err != nil {
		return err
	}
	err = ask(d)
	if clean, e := d.Detach(); !clean {
		err = errors.Join(err, e)
	}
	warnings.flush()
	return err
}

// writeCallees prints a line for each call and one for each of its callees.
func writeCallees(w io.Writer, calls []callees.Call) error {
	var b strings.Builder
	several := slices.ContainsFunc(calls, func(c callees.Call) bool { return c.From != calls[0].From })
	from := ""
	for _, c := range calls {
		if several && c.From != from {
			from = c.From
			fmt.Fprintf(&b, "%s:\n", safetext.CleanMax(from, maxLine))
		}
		kind := "direct"
		if c.Indirect {
			kind = "indirect"
		}
		if c.Tail {
			kind += " tail call"
		}
		fmt.Fprintf(&b, "+%#x %s", c.Offset, kind)
		if c.Line > 0 {
			fmt.Fprintf(&b, " (%s:%d)", safetext.CleanMax(c.File, maxLine), c.Line)
		}
		b.WriteByte('\n')
		for _, name := range c.Callees {
			fmt.Fprintf(&b, "    %s\n", safetext.CleanMax(name, maxLine))
		}
		if c.Refused != "" {
			fmt.Fprintf(&b, "    cannot be watched: %s\n", safetext.CleanMax(c.Refused, maxLine))
		} else if len(c.Callees) == 0 {
			b.WriteString("    not called while it was watched, or not known\n")
		}
	}
	if len(calls) == 0 {
		b.WriteString("it makes no calls\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
