package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon/plans"
	"culprit/daemon/survey"
	"culprit/internal/safetext"
)

func newPoints() *cobra.Command {
	var asJSON, names bool
	cmd := &cobra.Command{
		Use: "points PATH|PID", Short: "List which functions of a program can be instrumented, and why others cannot", Args: takes(1, 1, "a program, a library or a process: culprit points PATH, or culprit points PID"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			return points(cmd.OutOrStdout(), args[0], asJSON, names)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the figures and every refused function as JSON")
	cmd.Flags().BoolVar(&names, "names", false, "list every function that cannot be instrumented")
	return cmd
}

func points(w io.Writer, target string, asJSON, names bool) error {
	target, err := pointsTarget(target)
	if err != nil {
		return err
	}
	r, err := survey.Points(target)
	if err != nil {
		return err
	}
	clean(&r)
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d functions, %d of them can be instrumented (%.2f %% of the candidates)\n", r.Functions, r.Instrumentable, r.Coverage)
	fmt.Fprintf(&b, "%d are no candidates (resolvers, setjmp and the like); of the other refused ones at least %d are hand-written assembly\n", r.ByRule, r.HandWritten)
	writeCounts(&b, "how:", r.Tactics)
	writeCounts(&b, "why not:", r.Refused)
	if names {
		writeRefused(&b, &r)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// clean makes what comes from the program safe to show.
func clean(r *plans.Report) {
	for i := range r.RefusedNames {
		p := &r.RefusedNames[i]
		p.Name, p.Object, p.Reason = safetext.CleanMax(p.Name, maxLine), safetext.CleanMax(p.Object, maxLine), safetext.CleanMax(p.Reason, maxLine)
	}
	refused := map[string]int{}
	for reason, n := range r.Refused {
		refused[safetext.CleanMax(reason, maxLine)] += n
	}
	r.Refused = refused
}

// writeRefused lists the refused functions by name.
func writeRefused(b *strings.Builder, r *plans.Report) {
	fmt.Fprintln(b, "which:")
	for _, p := range r.RefusedNames {
		fmt.Fprintf(b, "  %s in %s: %s\n", p.Name, p.Object, p.Reason)
	}
	if r.RefusedMore > 0 {
		fmt.Fprintf(b, "  and %d more\n", r.RefusedMore)
	}
}

// pointsTarget takes a file as it is, and resolves a pid or a name to a pid.
func pointsTarget(target string) (string, error) {
	if info, err := os.Stat(target); err == nil {
		if info.IsDir() {
			return "", usagef("%s is a directory; give a program, a library, or a pid", target)
		}
		return target, nil
	}
	if strings.Contains(target, "/") {
		return "", fmt.Errorf("there is no file %s", target)
	}
	pid, err := proclist.Resolve(target)
	return strconv.Itoa(pid), err
}

// writeCounts lists counts, the largest first.
func writeCounts(b *strings.Builder, title string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), strings.Compare(x, y))
	})
	fmt.Fprintln(b, title)
	for _, n := range names {
		fmt.Fprintf(b, "  %8d  %s\n", counts[n], cleanLines(n))
	}
}
