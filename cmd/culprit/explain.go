package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/session/report"
)

func newExplain() *cobra.Command {
	var files, texts []string
	cmd := &cobra.Command{
		Use: "explain NAME...", Short: "Say in full what a metric measures, a hypothesis tests or a tunable constant sets", Args: takes(1, anyNumber, "the name of a metric, a hypothesis or a tunable constant: culprit explain CPUbound"),
		Long: `explain says of a metric what it counts, what it does not see, and which hypotheses read it; and of a
hypothesis its test, the thresholds in it, where it is refined, and the advice that is given if it
holds; and of a tunable constant its value, what it sets, and which hypotheses read it. "culprit
metrics" and "culprit hypotheses" list the names.`,
		RunE: body(func(cmd *cobra.Command, args []string) error {
			lib, err := loadLibrary(files, texts, false)
			if err != nil {
				return err
			}
			var all []string
			for _, name := range args {
				text, err := explain(lib, name)
				if err != nil {
					return err
				}
				all = append(all, text)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), strings.Join(all, "\n"))
			return err
		}),
	}
	addLibraryFlags(cmd, &files, &texts)
	return cmd
}

// explain is all that the library says of a metric, a hypothesis or a tunable constant. A name that is none of them is an error of usage.
func explain(lib *pcl.Library, name string) (string, error) {
	var b strings.Builder
	var names []string
	for _, h := range lib.Hypotheses() {
		if names = append(names, h.Name); h.Name == name {
			writeHypothesis(&b, lib, h)
		}
	}
	for _, m := range lib.Metrics() {
		if names = append(names, m.Name); m.Name == name {
			fmt.Fprintf(&b, "%s, a metric in %s\n", cleanLines(m.Name), cleanLines(m.RateUnits()))
			writeField(&b, "measures", m.Doc)
			writeField(&b, "read by", strings.Join(readers(lib, name), ", "))
		}
	}
	if v, ok := lib.Tunable(name); ok {
		writeTunable(&b, lib, name, v)
	}
	if b.Len() == 0 {
		return "", usagef("there is no metric, hypothesis or tunable constant %q%s; culprit metrics and culprit hypotheses list the first two",
			safetext.CleanMax(name, maxLine), syntax.DidYouMean(name, append(names, lib.Tunables()...)))
	}
	return b.String(), nil
}

// readers are the hypotheses whose test reads a metric.
func readers(lib *pcl.Library, metric string) (names []string) {
	for _, h := range lib.Hypotheses() {
		if slices.Contains(h.Metrics, metric) {
			names = append(names, h.Name)
		}
	}
	return names
}

func writeHypothesis(b *strings.Builder, lib *pcl.Library, h *pcl.Hypothesis) {
	fmt.Fprintf(b, "%s, a hypothesis\n", cleanLines(h.Name))
	writeField(b, "below", h.Parent)
	var with []string
	for _, key := range expressions {
		if text := writtenIn(lib, h.Name, key); text != nil {
			writeField(b, key, text.String())
			with = append(with, tunablesIn(lib, text)...)
		}
	}
	slices.Sort(with)
	writeField(b, "with", strings.Join(slices.Compact(with), ", "))
	writeField(b, "says", h.Label)
	writeField(b, "refined", strings.Join(h.Along(), ", "))
	writeField(b, "advice", h.Explain)
}

// writeTunable writes the value of a constant, what is written beside it where it is defined, and which hypotheses read it.
func writeTunable(b *strings.Builder, lib *pcl.Library, name string, value float64) {
	fmt.Fprintf(b, "%s, a tunable constant: %g\n", cleanLines(name), value)
	writeField(b, "meaning", lib.AboutTunable(name))
	var by []string
	for _, h := range lib.Hypotheses() {
		for _, key := range expressions {
			text := writtenIn(lib, h.Name, key)
			if text != nil && reads(text, name) && !slices.Contains(by, h.Name) {
				by = append(by, h.Name)
			}
		}
	}
	if len(by) == 0 && name == report.LeastStake {
		by = []string{"the search itself"}
	}
	writeField(b, "read by", strings.Join(by, ", "))
	writeField(b, "change", fmt.Sprintf(`-e 'tunable_constant "%s" VALUE;'`, name))
}

// reads reports whether an expression has a name in it.
func reads(e *syntax.Expr, name string) bool {
	found := false
	e.Walk(func(x *syntax.Expr) bool {
		found = found || x.Text == name
		return true
	})
	return found
}

// expressions are the items of a hypothesis that are expressions.
var expressions = []string{"test", "given", "stake", "whole"}

// writtenIn is an item of a hypothesis, such as its test, as it is written; nil if it has none.
func writtenIn(lib *pcl.Library, hypothesis, item string) *syntax.Expr {
	for _, d := range lib.Trees() {
		if d.Keyword != "hypothesis" || d.Name != hypothesis {
			continue
		}
		for _, it := range d.Items {
			if it.Key == item {
				return it.Expr
			}
		}
	}
	return nil
}

// tunablesIn are the constants in an expression, each once, with their values.
func tunablesIn(lib *pcl.Library, e *syntax.Expr) (out []string) {
	e.Walk(func(x *syntax.Expr) bool {
		if v, ok := lib.Tunable(x.Text); ok {
			if text := fmt.Sprintf("%s = %g", x.Text, v); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}

// writeField writes a line with a title, nothing if there is no text.
func writeField(b *strings.Builder, title, text string) {
	if text != "" {
		fmt.Fprintf(b, "  %-9s %s\n", title, safetext.CleanMax(text, maxField))
	}
}

// maxField bounds a text of PCL on the terminal: the longest docstring of the library has some 1,000 characters.
const maxField = 4000
