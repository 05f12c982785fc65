package session

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"culprit/consultant/prior"
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/session/report"
)

// The report of an earlier run, which the search begins with.

// A History is the report of an earlier run of the program.
type History struct {
	File   string // where it was read, as it is told
	Report *report.Report
}

// mostSetting is the largest value of a tunable constant that is taken from a file.
const mostSetting = 1e12

// useHistory has the search begin with what an earlier run has found, if it was one of the same program, and sets the tunable constants that were set then
// and that the texts of this run leave as they are shipped. It returns what is told of it; both are nil without history.
func useHistory(h *History, targets []report.Target, lib *pcl.Library) (*prior.Prior, *report.History) {
	if h == nil {
		return nil, nil
	}
	told := &report.History{File: clean(h.File), Started: clean(h.Report.Started), Program: sameProgram(h.Report.Targets, targets)}
	if told.Program == report.AnotherProgram {
		return nil, told
	}
	p := priorOf(h.Report, told.Program == report.SameBuild, lib)
	told.Held, told.RuledOut = p.Count()
	now := settings(lib)
	for _, name := range slices.Sorted(maps.Keys(h.Report.Settings)) {
		if _, set := now[name]; set {
			continue
		}
		if v := float64(h.Report.Settings[name]); v >= 0 && v <= mostSetting && lib.SetTunable(name, v) {
			told.Settings = append(told.Settings, name)
		} else {
			told.Unused = append(told.Unused, name)
		}
	}
	return p, told
}

// shipped is the library that comes with the program. Nobody changes it.
var shipped = sync.OnceValue(func() *pcl.Library {
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		panic("BUG: the library that is shipped: " + err.Error())
	}
	return lib
})

// settings are the tunable constants that are not as they are shipped.
func settings(lib *pcl.Library) map[string]report.Number {
	list := map[string]report.Number{}
	for _, name := range lib.Tunables() {
		v, _ := lib.Tunable(name)
		if w, ok := shipped().Tunable(name); !ok || v != w {
			list[name] = report.Number(v)
		}
	}
	return list
}

// sameProgram says how the targets of an earlier run are those of this one. What an interpreter runs is not known: it is another build of the same program.
func sameProgram(before, now []report.Target) string {
	programs, builds := map[string]bool{}, map[string]bool{}
	for _, t := range before {
		programs[path.Base(t.Exe)] = true
		if t.BuildID != "" && t.Interprets == "" {
			builds[t.BuildID] = true
		}
	}
	how := report.SameBuild
	if !slices.ContainsFunc(now, func(t report.Target) bool { return programs[path.Base(t.Exe)] }) {
		return report.AnotherProgram
	}
	for _, t := range now {
		if programs[path.Base(t.Exe)] && (!builds[t.BuildID] || t.Interprets != "") {
			how = report.AnotherBuild
		}
	}
	return how
}

// priorOf reads from a report what was found, about the whole of the session.
func priorOf(r *report.Report, sameBuild bool, lib *pcl.Library) *prior.Prior {
	p := prior.New(sameBuild, lasting)
	known := map[string]bool{report.Root: true}
	for _, h := range lib.Hypotheses() {
		known[h.Name] = true
	}
	numbers, over := map[int]int{}, map[int]bool{}
	for _, e := range r.Earlier {
		over[e.Node] = true
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		f, err := grid.FocusFromMap(n.Focus, lib.Defined()...)
		if err != nil || !known[n.Hypothesis] || n.Phase.Name != "" && n.Phase.Name != wholePhase {
			continue // of a hierarchy or a hypothesis that this run does not have, or of a phase
		}
		place := prior.Place{Hypothesis: n.Hypothesis, Focus: f, Answer: answerOf(n, over[n.ID])}
		for _, id := range n.Parents {
			if number, known := numbers[id]; known {
				place.From = append(place.From, number)
			}
		}
		numbers[n.ID] = p.Add(place)
	}
	return p
}

// wholePhase is the name of the phase that lasts as long as the session.
const wholePhase = "global"

// answerOf is what a report says of a node; over says that it held for a while.
func answerOf(n *report.Node, over bool) prior.Answer {
	switch {
	case n.Hypothesis == report.Root:
		return prior.Held
	case n.NoValue != "" || over || n.Samples == 0 || n.State != "true" && n.State != "false":
		return prior.Unsure
	}
	return prior.Judge(n.State == "true", float64(n.Value), float64(n.Threshold), n.Greater, float64(n.Confidence))
}

// lasting is the name of a focus in each run of a program, and whether it is the focus itself.
func lasting(f grid.Focus) (name string, lasts bool) {
	here := focusReport(f)
	name = here.Lasting().String()
	return name, name == here.String()
}

// historyText says what was taken from an earlier run.
func historyText(h *report.History) string {
	where := "history: " + h.File
	switch h.Program {
	case report.AnotherProgram:
		return where + " is of another program and is not used; give the report of a run of this one (--json FILE writes it)"
	case report.AnotherBuild:
		where += ": an earlier run of another build, or of one whose build is not known"
	default:
		where += ": an earlier run of the same build"
	}
	text := fmt.Sprintf("%s; what held, as far as it is there now, is tested first (%d)", where, h.Held)
	if h.Program == report.SameBuild {
		text += fmt.Sprintf(", and what was ruled out is left to stack samples (%d)", h.RuledOut)
	}
	if len(h.Settings) > 0 {
		text += "; as set then: " + strings.Join(h.Settings, ", ")
	}
	if len(h.Unused) > 0 {
		text += "; not known here, or without a value that can be: " + clean(strings.Join(h.Unused, ", "))
	}
	return text
}
