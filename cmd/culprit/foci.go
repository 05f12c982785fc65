package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// fociOptions are the flags of `foci`.
type fociOptions struct {
	depth  int
	most   int
	asJSON bool
	span   time.Duration
}

func newFoci() *cobra.Command {
	opts := fociOptions{depth: 2, most: 1000, span: 500 * time.Millisecond}
	cmd := &cobra.Command{
		Use: "list TARGET [PATTERN]", Aliases: []string{"foci"}, Short: "List the modules, functions, threads, locks and files that can be measured", Args: takes(1, 2, "a process, and a pattern if you like: culprit list PID, or culprit list NAME '*lock*'"),
		Long: `list prints the parts of a process under the names that --watch and PCL use: modules and functions
(Code), threads (Process), the locks that threads were seen waiting for (SyncObject) and open files,
sockets and pipes (IO). The number behind a name counts its parts. A PATTERN selects by name
("*lock*") or, with a slash, by the whole path ("/Code/server.c/*") at any depth. The process is
neither stopped nor changed. foci is another name of this command.`,
		Example: "  culprit list 4242\n  culprit list redis-server '/Code/t_string.c/*'\n  culprit list 4242 --depth 3 --json",
		RunE: body(func(cmd *cobra.Command, args []string) error {
			if opts.depth < 1 || opts.most < 1 {
				return usagef("--depth and --max: expected 1 or more")
			}
			return foci(cmd.Context(), cmd.OutOrStdout(), args, opts)
		}),
	}
	cmd.Flags().IntVar(&opts.depth, "depth", opts.depth, "how many `LEVELS` to list: 1 hierarchies, 2 modules and processes, 3 functions, threads, locks and files (loops: a pattern such as /Code/MODULE/FUNCTION/*)")
	cmd.Flags().IntVar(&opts.most, "max", opts.most, "list at most `N` of them")
	cmd.Flags().BoolVar(&opts.asJSON, "json", false, "print a list as JSON")
	cmd.Flags().DurationVar(&opts.span, "time", opts.span, "how long to look for locks that threads wait for")
	return cmd
}

// A focusLine is one resource as it is listed.
type focusLine struct {
	Path  string `json:"path"`
	Parts int    `json:"parts"`           // below it, one level down
	Label string `json:"label,omitempty"` // of a thread: the function that it began with
}

func foci(ctx context.Context, w io.Writer, args []string, opts fociOptions) error {
	pid, err := proclist.Resolve(args[0])
	if err != nil {
		return err
	}
	lib, err := loadLibrary(nil, nil, false)
	if err != nil {
		return err
	}
	l := fociList{opts: opts, selects: func(string, string) bool { return true }}
	if len(args) > 1 {
		l.selects, l.opts.depth = focusPattern(args[1]), maxFocusDepth
	}
	err = lookInto(ctx, lib, pid, func(d *daemon.Daemon) error {
		if err := learnFoci(ctx, d, opts.span); err != nil {
			return err
		}
		if len(args) > 1 {
			listLoops(d, args[1])
		}
		for h := range grid.Defined {
			l.add(d.Tree(), h)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if opts.asJSON {
		err = encodeList(w, l.lines)
	} else {
		err = l.write(w)
	}
	if err == nil && len(l.lines) == 0 && len(args) > 1 {
		return l.nothing(args[1])
	}
	return err
}

// nothing says that no part of the process matches the pattern.
func (l *fociList) nothing(pattern string) error {
	near := syntax.DidYouMean(lastName(pattern), l.names)
	return fmt.Errorf("nothing in the process matches %q%s; * and ? stand for other characters, and a pattern with a slash is matched with whole paths", safetext.CleanMax(pattern, maxLine), safetext.CleanMax(near, maxLine))
}

// lastName is the part of a pattern behind its last slash.
func lastName(pattern string) string { return pattern[strings.LastIndexByte(pattern, '/')+1:] }

// learnFoci waits until code is listed and locks have been seen. What is open may be hidden from us: then it is left out.
func learnFoci(ctx context.Context, d *daemon.Daemon, span time.Duration) error {
	_ = d.ListOpen() // what may not be seen is not listed
	d.Known()
	select {
	case <-ctx.Done():
	case <-d.Ended():
	case <-time.After(span):
	}
	return ctx.Err()
}

// maxLoopFunctions bounds the functions whose loops are looked for: that decodes their code.
const maxLoopFunctions = 1000

// listLoops makes the loops known that a pattern of a path may select: /Code/MODULE/FUNCTION/LOOP.
func listLoops(d *daemon.Daemon, pattern string) {
	elems := strings.Split(pattern, "/")
	if len(elems) != 5 || elems[1] != grid.Code.String() {
		return
	}
	isModule, isFunction := pcl.Matcher(elems[2], false), pcl.Matcher(elems[3], false)
	tree, left := d.Tree(), maxLoopFunctions
	for _, module := range tree.Children(grid.Code) {
		if !isModule(module) {
			continue
		}
		for _, function := range tree.Children(grid.Code, module) {
			if !isFunction(function) {
				continue
			}
			if left--; left < 0 {
				return
			}
			_, _ = d.ListLoops(module, function) // there may be none, or none that is known
		}
	}
}

// maxFocusDepth is deeper than any resource lies.
const maxFocusDepth = 8

// focusPattern selects by the last name of a path, or, if the pattern has a slash, by all of it.
func focusPattern(pattern string) func(path, name string) bool {
	match := pcl.Matcher(pattern, false)
	if strings.Contains(pattern, "/") {
		return func(path, _ string) bool { return match(path) }
	}
	return func(_, name string) bool { return match(name) }
}

// A fociList collects what is listed.
type fociList struct {
	opts    fociOptions
	selects func(path, name string) bool
	lines   []focusLine
	left    int
	names   []string // of all that was looked at, for suggestions
}

// add lists a resource and what is below it.
func (l *fociList) add(tree *grid.Tree, h grid.Hierarchy, elems ...string) {
	parts := tree.Children(h, elems...)
	if len(elems) == 0 && len(parts) == 0 {
		return
	}
	path, name := "/"+h.String(), h.String()
	if n := len(elems); n > 0 {
		path, name = grid.Whole().Refine(h, elems...).String(), elems[n-1]
	}
	l.names = append(l.names, name)
	if l.selects(path, name) {
		if len(l.lines) < l.opts.most {
			l.lines = append(l.lines, focusLine{safetext.CleanMax(path, maxLine), len(parts), safetext.CleanMax(tree.Label(h, elems...), maxLine)})
		} else {
			l.left++
		}
	}
	if len(elems)+1 >= l.opts.depth {
		return
	}
	for _, p := range parts {
		l.add(tree, h, append(elems[:len(elems):len(elems)], p)...)
	}
}

func (l *fociList) write(w io.Writer) error {
	var b strings.Builder
	for _, x := range l.lines {
		text := x.Path
		if x.Parts > 0 {
			text += fmt.Sprintf("  (%d)", x.Parts)
		}
		if x.Label != "" {
			text += "  " + x.Label
		}
		fmt.Fprintln(&b, text)
	}
	if l.left > 0 {
		fmt.Fprintf(&b, "and %d more: --max, or a pattern\n", l.left)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
