package ask

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/session/report"
)

// A Setting is a tunable constant with another value.
type Setting struct {
	Name  string
	Value float64
}

// mostNames bounds the names that are told where one is not known.
const mostNames = 3

// ParseSetting reads NAME=VALUE; the value is a number, or a share in per cent. The error says what is wrong; if no text of the library defines
// the name it has the nearest ones.
func ParseSetting(lib *pcl.Library, text string) (Setting, error) {
	name, value, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return Setting{}, fmt.Errorf("found %q, expected NAME=VALUE, such as PC_CPUThreshold=0.2", text)
	}
	if _, ok := lib.Tunable(name); !ok {
		return Setting{}, fmt.Errorf("no tunable constant has the name %q; the nearest: %s", name, strings.Join(nearestNames(name, lib.Tunables()), ", "))
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(value), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return Setting{}, fmt.Errorf("%s: found the value %q, expected a number that is not below 0, such as 0.2 or 20%%", name, value)
	}
	if percent {
		v /= 100
	}
	return Setting{name, v}, nil
}

// nearestNames are the names that one may be meant for; where none is like it, those that share most of its letters.
func nearestNames(name string, all []string) (near []string) {
	left := slices.Clone(all)
	for range mostNames {
		best := syntax.Closest(name, left)
		if best == "" {
			break
		}
		near = append(near, best)
		left = slices.DeleteFunc(left, func(s string) bool { return s == best })
	}
	if len(near) > 0 {
		return near
	}
	slices.SortStableFunc(left, func(a, b string) int { return alike(name, b) - alike(name, a) })
	return left[:min(len(left), mostNames)]
}

// alike counts the pairs of letters of a name that another one has, too.
func alike(a, b string) (n int) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	for i := 0; i+2 <= len(a); i++ {
		if strings.Contains(b, a[i:i+2]) {
			n++
		}
	}
	return n
}

// A Judge judges the values of a report again, with other tunable constants.
type Judge struct {
	lib      *pcl.Library
	settings []Setting
	was      map[string]float64 // what the library says of the constants
	effects  map[string]effect  // by hypothesis
}

// An effect is what the settings change of a hypothesis.
type effect struct {
	threshold float64 // the new one; NaN if it is no number that the report tells
	changed   bool    // the threshold is another one
	hidden    bool    // what is compared, or when, is another one: no report has the values for that
	stake     bool    // what is at stake is another one
}

// NewJudge makes a judge. The settings are those of constants that the library has. It changes the library's constants.
func NewJudge(lib *pcl.Library, settings []Setting) *Judge {
	j := &Judge{lib: lib, settings: settings, was: map[string]float64{}, effects: map[string]effect{}}
	before := map[string]outline{}
	for _, h := range lib.Hypotheses() {
		before[h.Name] = outlineOf(h)
	}
	for _, s := range settings {
		if _, told := j.was[s.Name]; !told {
			j.was[s.Name], _ = lib.Tunable(s.Name)
		}
		lib.SetTunable(s.Name, s.Value)
	}
	for _, h := range lib.Hypotheses() {
		b, a := before[h.Name], outlineOf(h)
		e := effect{threshold: a.threshold[0], changed: b.threshold != a.threshold, hidden: b.value != a.value || b.given != a.given, stake: b.stake != a.stake}
		if a.threshold[0] != a.threshold[1] {
			e.threshold = math.NaN()
		}
		j.effects[h.Name] = e
	}
	return j
}

// probes are made-up values of metrics at which formulas are compared: formulas that are equal there are taken for equal.
var probes = [4]float64{1, 2.5, 7, 4000}

// An outline is what the formulas of a hypothesis give at the probes. The metrics get unequal values, so that a part in a whole is not always 1.
type outline struct{ threshold, value, given, stake [2 * len(probes)]float64 }

func outlineOf(h *pcl.Hypothesis) (o outline) {
	for i := range 2 * len(probes) {
		get := func(metric string) float64 {
			v := probes[i/2]
			if i%2 == 1 {
				v *= 1 + float64(slices.Index(h.Metrics, metric))
			}
			return v
		}
		o.threshold[i], o.value[i] = h.Threshold(get), h.Value(get)
		if h.Given != nil {
			o.given[i] = h.Given.Value(get) - h.Given.Threshold(get)
		}
		if h.Stake != nil {
			o.stake[i] = h.Stake(get)
		}
	}
	return o
}

// A Rejudged is a node whose hypothesis the settings change.
type Rejudged struct {
	Node      *report.Node
	Before    Verdict
	After     Verdict // Undecided where the value is not sure enough to be told from the new threshold, or the report does not have what is needed
	Threshold float64 // the new one; NaN if it is not known
	Why       string  // why it is Undecided
}

// Changes tells that the answer is another one.
func (r *Rejudged) Changes() bool { return r.Before != r.After }

// Nodes judges the nodes of hypotheses that the settings change, in the order of the report. A node that was never measured stays so.
func (j *Judge) Nodes(r *report.Report) (list []Rejudged) {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		e := j.effects[n.Hypothesis]
		if len(n.Parents) == 0 || !e.changed && !e.hidden {
			continue
		}
		list = append(list, judged(n, e))
	}
	return list
}

// sureBy is how many standard errors a value must be away from a threshold.
const sureBy = 2

// atLimit is how near below a threshold a value is at it, as a part of it; the search judges sizes so.
const atLimit = 0.01

func judged(n *report.Node, e effect) Rejudged {
	out := Rejudged{Node: n, Before: verdictOf(n), After: Undecided, Threshold: e.threshold}
	value, threshold := float64(n.Value), e.threshold
	margin := value - threshold
	if !n.Greater {
		if margin = -margin; margin > 0 && margin <= atLimit*math.Abs(threshold) {
			margin = 0
		}
	}
	applies := report.NoValue(n.Greater, value, float64(n.Threshold)) == ""
	switch {
	case out.Before == Never:
		out.After = Never
	case e.hidden || math.IsNaN(threshold):
		out.Threshold, out.Why = math.NaN(), "the report has the value of the test, and not those that the constant is compared with"
	case !applies:
		out.After = out.Before
	case out.Before == Undecided:
		out.Why = "it was not decided before"
	case tooNear(n, margin):
		out.Why = "its value is not sure enough to be told from the new threshold"
	case margin > 0:
		out.After = Holds
	default:
		out.After = RuledOut
	}
	return out
}

// tooNear tells that the error of a value may explain its margin.
func tooNear(n *report.Node, margin float64) bool {
	return n.Error != nil && math.Abs(margin) < sureBy*float64(*n.Error)
}
