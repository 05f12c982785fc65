package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// writePairs lists the pairs that were watched. Where they are too many each metric has its share of the lines, for those that the user named
// himself, and for the largest values.
func (r *Report) writePairs(b *strings.Builder) {
	if len(r.Pairs) == 0 {
		return
	}
	b.WriteString("\nWatched:\n")
	metrics := byMetric(r.Pairs)
	for _, pairs := range metrics {
		shown := pairs
		if len(r.Pairs) > maxLines {
			shown = asked(pairs)
			shown = append(shown, largest(others(pairs, shown), max(maxLines/len(metrics), 3)-len(shown))...)
		}
		for _, p := range shown {
			p.write(b)
		}
		if rest := len(pairs) - len(shown); rest > 0 {
			fmt.Fprintf(b, "  and %d more of %s%s (--json FILE has them all)\n", rest, pairs[0].Metric, unmeasured(pairs, shown))
		}
	}
	if r.PairsLeftOut > 0 {
		fmt.Fprintf(b, "  and %d more pairs, which the session tells at its end\n", r.PairsLeftOut)
	}
}

// asked are the pairs that the user named himself, as far as anybody reads them.
func asked(pairs []*Pair) (list []*Pair) {
	for _, p := range pairs {
		if p.Asked && len(list) < maxAsked {
			list = append(list, p)
		}
	}
	return list
}

// maxAsked bounds the lines for pairs that were named.
const maxAsked = 100

// others are the pairs that are not shown.
func others(pairs, shown []*Pair) []*Pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p *Pair) bool { return slices.Contains(shown, p) })
}

// byMetric puts the pairs of each metric together, in the order in which they come.
func byMetric(pairs []Pair) (groups [][]*Pair) {
	of := map[string]int{}
	for i := range pairs {
		p := &pairs[i]
		at, seen := of[p.Metric]
		if !seen {
			at = len(groups)
			of[p.Metric] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], p)
	}
	return groups
}

// unmeasured says how many of the pairs that are not shown were not measured.
func unmeasured(pairs, shown []*Pair) string {
	n := 0
	for _, p := range pairs {
		if p.Error != "" && !slices.Contains(shown, p) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them not measured", n)
}

// largest are at most n pairs of a metric: those with the largest values.
func largest(pairs []*Pair, n int) []*Pair {
	if n <= 0 {
		return nil
	}
	if len(pairs) <= n {
		return pairs
	}
	size := func(p *Pair) float64 {
		switch {
		case p.Error != "":
			return -1
		case p.Gauge != nil:
			return math.Abs(float64(p.Average))
		}
		return math.Abs(float64(p.Sum))
	}
	sorted := slices.Clone(pairs)
	slices.SortStableFunc(sorted, func(p, q *Pair) int { return cmp.Compare(size(q), size(p)) })
	return sorted[:n]
}

// Lines are what is told of a pair, the first line with its name.
func (p *Pair) Lines() []string {
	var b strings.Builder
	p.write(&b)
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func (p *Pair) write(b *strings.Builder) {
	if p.Error != "" {
		fmt.Fprintf(b, "  %s@%s: not measured: %s\n", p.Metric, p.Focus, p.Error)
		return
	}
	fmt.Fprintf(b, "  %s@%s: %s %s (%s)\n", p.Metric, p.Focus, p.values(), p.Unit, p.Origin())
	if p.Note != "" {
		fmt.Fprintf(b, "    warning: %s\n", p.Note)
	}
	if p.Distribution != nil {
		fmt.Fprintf(b, "    %s\n", strings.Join(p.Distribution.Lines(), "\n    "))
	}
}

// values is what a pair has measured, without its unit.
func (p *Pair) values() string {
	if p.Gauge != nil {
		return p.gaugeText()
	}
	return fmt.Sprintf("sum %s, average %s%s", amount(float64(p.Sum)), amount(float64(p.Average)), errorNote(*p))
}

// errorNote is the standard error of an estimate.
func errorNote(p Pair) string {
	if u := float64(p.Uncertainty); p.Tier == "sample" && u == u {
		return fmt.Sprintf(" +- %.2g", u)
	}
	return ""
}
