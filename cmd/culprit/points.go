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
	"culprit/daemon"
)

func newPoints() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "points PATH|PID", Short: "Say which functions of a program can be instrumented, and why others cannot", Args: cobra.ExactArgs(1),
		RunE: body(func(cmd *cobra.Command, args []string) error { return points(cmd.OutOrStdout(), args[0], asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON")
	return cmd
}

func points(w io.Writer, target string, asJSON bool) error {
	target, err := pointsTarget(target)
	if err != nil {
		return err
	}
	r, err := daemon.Points(target)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(r)
	}
	var b strings.Builder
	share := 0.0
	if r.Functions > 0 {
		share = 100 * float64(r.Instrumentable) / float64(r.Functions)
	}
	fmt.Fprintf(&b, "%d functions, %d of them can be instrumented (%.1f %%)\n", r.Functions, r.Instrumentable, share)
	writeCounts(&b, "how:", r.Tactics)
	writeCounts(&b, "why not:", r.Refused)
	_, err = io.WriteString(w, b.String())
	return err
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
