package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// A score is how often culprit was right.
type score struct {
	Category string   `json:"category"`
	Searches int      `json:"searches"`
	First    int      `json:"first"`
	Found    int      `json:"found"`
	Median   *float64 `json:"median_seconds,omitempty"` // to a right finding, where there is one
	Blamed   int      `json:"false_blame"`              // searches with a false blame
	Trouble  int      `json:"trouble,omitempty"`
	seconds  []float64
}

// A summary is the score of all, and of each category.
type summary struct {
	All        score   `json:"all"`
	Categories []score `json:"categories"`
}

// Share is how many per cent of the first findings are right.
func (s summary) Share() float64 { return 100 * float64(s.All.First) / float64(max(s.All.Searches, 1)) }

func (s *score) add(r result) {
	s.Searches++
	s.First += count(r.First)
	s.Found += count(r.Found)
	s.Blamed += count(len(r.Blamed) > 0)
	s.Trouble += count(r.Trouble != "")
	if r.Seconds != nil {
		s.seconds = append(s.seconds, *r.Seconds)
		s.Median = median(s.seconds)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// median is the middle value, or the lower one of two.
func median(v []float64) *float64 {
	sorted := slices.Sorted(slices.Values(v))
	return &sorted[(len(sorted)-1)/2]
}

func summarise(all []result) summary {
	s := summary{All: score{Category: "all"}}
	for _, r := range all {
		s.All.add(r)
		i := slices.IndexFunc(s.Categories, func(c score) bool { return c.Category == r.Category })
		if i < 0 {
			i = len(s.Categories)
			s.Categories = append(s.Categories, score{Category: r.Category})
		}
		s.Categories[i].add(r)
	}
	slices.SortFunc(s.Categories, func(a, b score) int { return cmp.Compare(a.Category, b.Category) })
	return s
}

// A line of the table is one program with all its rounds.
type line struct {
	rounds []result
}

// lines puts the rounds of each program together.
func lines(all []result) []line {
	var list []line
	for _, r := range all {
		if n := len(list); n == 0 || list[n-1].rounds[0].Program != r.Program {
			list = append(list, line{})
		}
		last := &list[len(list)-1]
		last.rounds = append(last.rounds, r)
	}
	return list
}

// tell writes yes or no of one round, and how often of several.
func (l line) tell(is func(r result) bool) string {
	n := 0
	for _, r := range l.rounds {
		n += count(is(r))
	}
	switch {
	case len(l.rounds) > 1:
		return fmt.Sprintf("%d/%d", n, len(l.rounds))
	case n == 1:
		return "yes"
	}
	return "no"
}

// same is in how many rounds the first finding was the commonest one.
func (l line) same() (most int) {
	times := map[string]int{}
	for _, r := range l.rounds {
		times[r.Place]++
		most = max(most, times[r.Place])
	}
	return most
}

// levels are those of all rounds, each once.
func (l line) levels() string {
	var list []string
	for _, r := range l.rounds {
		if !slices.Contains(list, r.Level) {
			list = append(list, r.Level)
		}
	}
	return strings.Join(list, ", ")
}

func (l line) seconds() string {
	var s score
	for _, r := range l.rounds {
		s.add(r)
	}
	return secondsText(s.Median)
}

func secondsText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *v)
}

// overhead is the largest one.
func (l line) overhead() (most float64) {
	for _, r := range l.rounds {
		most = max(most, r.Overhead)
	}
	return most
}

// said is what the last round said first, or what went wrong.
func (l line) said() string {
	r := l.rounds[len(l.rounds)-1]
	switch {
	case r.Trouble != "":
		return "TROUBLE: " + strings.Join(strings.Fields(r.Trouble), " ")
	case r.Said == "":
		return "(nothing found)"
	}
	return r.Said
}

func writeTable(out io.Writer, all []result, rounds int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	same := ""
	if rounds > 1 {
		same = "\tsame"
	}
	fmt.Fprintf(w, "program\tfirst\tfound%s\tlevel\ts\toverhead\tfalse\twhat was said first\n", same)
	for _, l := range lines(all) {
		if rounds > 1 {
			same = fmt.Sprintf("\t%d/%d", l.same(), len(l.rounds))
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\t%s\t%s\t%.2f %%\t%s\t%s\n", l.rounds[0].Program, l.tell(func(r result) bool { return r.First }),
			l.tell(func(r result) bool { return r.Found }), same, l.levels(), l.seconds(), 100*l.overhead(),
			l.tell(func(r result) bool { return len(r.Blamed) > 0 }), l.said())
	}
	return w.Flush()
}

func writeSummary(out io.Writer, s summary) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\ncategory\tsearches\tfirst\tfound\tmedian s\tfalse blame\ttrouble\n")
	for _, c := range append(slices.Clone(s.Categories), s.All) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%d\t%d\n", c.Category, c.Searches, c.First, c.Found, secondsText(c.Median), c.Blamed, c.Trouble)
	}
	fmt.Fprintf(w, "%.0f %% of the first findings are right.\n", s.Share())
	return w.Flush()
}

func writeJSON(file string, all []result, s summary) error {
	text, err := json.MarshalIndent(struct {
		Results []result `json:"results"`
		Summary summary  `json:"summary"`
	}{all, s}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
