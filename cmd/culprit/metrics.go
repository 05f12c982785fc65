package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/doctor"
	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
)

func newMetrics() *cobra.Command {
	var files, texts []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "metrics [TARGET]", Short: "List the metrics, and how each can be measured in a process", Args: takes(0, 1, "at most one process: culprit metrics, or culprit metrics PID"),
		Long: `metrics lists the metrics of the library. With a TARGET it also says how each of them can be
measured in that process with your present permissions: by the kernel's own accounting (kernel), by
probes (probe) or by stack samples (sample). "-" and a reason mean that the program has no code for
it. The process is neither stopped nor changed.`,
		RunE: body(func(cmd *cobra.Command, args []string) error {
			lib, err := loadLibrary(files, texts, false)
			if err != nil {
				return err
			}
			list, err := metricsOf(cmd.Context(), lib, args)
			if err != nil {
				return err
			}
			if asJSON {
				return encodeList(cmd.OutOrStdout(), list)
			}
			return writeMetrics(cmd.OutOrStdout(), list, len(args) > 0)
		}),
	}
	addLibraryFlags(cmd, &files, &texts)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return cmd
}

// A metricLine is a metric as it is listed. Tiers and HasCode are there if a target was named.
type metricLine struct {
	Name    string      `json:"name"`
	Unit    string      `json:"unit"`
	Doc     string      `json:"doc"`
	Tiers   []grid.Tier `json:"tiers,omitempty"`
	HasCode *bool       `json:"has_code,omitempty"`
	Why     string      `json:"why,omitempty"`
}

func metricsOf(ctx context.Context, lib *pcl.Library, args []string) (list []metricLine, err error) {
	if len(args) == 0 {
		for _, m := range lib.Metrics() {
			list = append(list, lineOf(m))
		}
		return list, nil
	}
	pid, err := proclist.Resolve(args[0])
	if err != nil {
		return nil, err
	}
	verdict := doctor.Judge(rights(), doctor.FactsOf(pid))
	err = lookInto(ctx, lib, pid, func(d *daemon.Daemon) error {
		for _, s := range d.Survey() {
			line := lineOf(s.Metric)
			line.HasCode, line.Why = &s.Code, cleanLines(s.Why)
			line.Tiers = slices.DeleteFunc(s.Tiers, func(t grid.Tier) bool { return t == grid.TierProbe && verdict.Tier < doctor.TierProbe })
			if line.Why == "" && len(line.Tiers) == 0 {
				line.Why = "it takes probes: " + cleanLines(verdict.Why)
			}
			list = append(list, line)
		}
		return nil
	})
	return list, err
}

func lineOf(m grid.Metric) metricLine {
	return metricLine{Name: m.Name, Unit: m.RateUnits(), Doc: cleanLines(firstSentence(m.Doc))}
}

// lookInto looks at a process without stopping it.
func lookInto(ctx context.Context, lib *pcl.Library, pid int, f func(d *daemon.Daemon) error) error {
	d, err := daemon.Attach(ctx, daemon.Options{Library: lib, Backend: grid.BackendSample}, pid)
	if err != nil {
		return err
	}
	defer d.Detach() // there is nothing that could be left behind
	return f(d)
}

func encodeList[T any](w io.Writer, list []T) error {
	if list == nil {
		list = []T{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(list)
}

func writeMetrics(w io.Writer, list []metricLine, ofTarget bool) error {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%-24s %-10s ", m.Name, m.Unit)
		if ofTarget {
			fmt.Fprintf(&b, "%-21s ", tierNames(m.Tiers))
		}
		text := m.Doc
		if ofTarget && len(m.Tiers) == 0 {
			text = m.Why
		}
		fmt.Fprintln(&b, safetext.CleanMax(text, maxLine))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tierNames writes tiers from the most exact; "-" for none.
func tierNames(tiers []grid.Tier) string {
	var names []string
	for _, t := range []grid.Tier{grid.TierKernel, grid.TierProbe, grid.TierSample} {
		if slices.Contains(tiers, t) {
			names = append(names, string(t))
		}
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ",")
}
