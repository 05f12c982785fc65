package ask

import (
	"math"
	"strings"
	"testing"

	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/session/report"
)

func library(t *testing.T) *pcl.Library {
	t.Helper()
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return lib
}

func number(v float64) *report.Number { n := report.Number(v); return &n }

// searched is a report as a search makes it.
func searched() *report.Report {
	code := func(name string) report.Focus { return report.Focus{"Code": "/Code/" + name} }
	node := func(id, parent int, hypothesis string, f report.Focus, state string, value, threshold float64, samples int) report.Node {
		return report.Node{ID: id, Parents: []int{parent}, Axis: "where", Hypothesis: hypothesis, Focus: f, State: state, Value: report.Number(value),
			Threshold: report.Number(threshold), Greater: true, Share: true, Unit: "fraction", Confidence: 0.99, Samples: samples, Phase: report.Phase{Name: "global"}}
	}
	r := &report.Report{Schema: report.Schema, Nodes: []report.Node{
		{ID: 1, Hypothesis: "top", State: "true"},
		node(2, 1, "CPUbound", report.Focus{}, "true", 0.45, 0.3, 30),
		node(3, 2, "CPUbound", code("a.c/parse"), "true", 0.40, 0.3, 30),
		node(4, 2, "CPUbound", code("a.c/render"), "false", 0.25, 0.3, 30),
		node(5, 2, "CPUbound", code("a.c/store"), "refused", 0, 0, 0),
		node(6, 1, "ExcessiveSyncWaitingTime", report.Focus{}, "false", 0.02, 0.2, 30),
	}, Bottlenecks: []report.Bottleneck{{Node: 3, Chain: []int{1, 2, 3}, Severity: 0.4}}}
	r.Nodes[4].Reason = "it is too short"
	r.Nodes[3].Error = number(0.001)
	r.Nodes[1].Axis, r.Nodes[5].Axis = "why", "why"
	return r
}

func opinion(a Answer, hypothesis string) Opinion {
	for _, o := range a.Opinions {
		if o.Hypothesis == hypothesis {
			return o
		}
	}
	return Opinion{Verdict: -1}
}

// TestAt: what holds, what was ruled out and what was never measured are three things.
func TestAt(t *testing.T) {
	lib, r := library(t), searched()
	for _, c := range []struct {
		at, hypothesis string
		want           Verdict
		says           string
	}{
		{"/Code/a.c/parse", "CPUbound", Holds, "40.0 % (threshold > 30.0 %"},
		{"/Code/a.c/render", "CPUbound", RuledOut, "25.0 % (threshold > 30.0 %"},
		{"/Code/a.c/store", "CPUbound", Never, "refused: it is too short"},
		{"/Code/a.c/parse", "ExcessiveSyncWaitingTime", Never, "it was ruled out at the whole program, which this belongs to: 2.0 %"},
		{"/Code/a.c/nowhere", "CPUbound", Never, "it holds at the whole program (45.0 %)"},
		{"/Code/a.c/parse", "SystemTimeHigh", Never, "its parent CPUbound holds at /Code/a.c/parse; it was not tested there"},
	} {
		a := At(r, lib, report.Focus{"Code": c.at})
		if o := opinion(a, c.hypothesis); o.Verdict != c.want || !strings.Contains(o.Why, c.says) {
			t.Errorf("%s at %s: %v %q, expected %v %q", c.hypothesis, c.at, o.Verdict, o.Why, c.want, c.says)
		}
	}
	a := At(r, lib, report.Focus{"Code": "/Code/a.c/parse"})
	if text := a.Text(false); a.Found() != Holds || !strings.Contains(text, "found by: CPUbound > /Code/a.c/parse") || strings.Index(text, "  true") > strings.Index(text, "never measured") {
		t.Errorf("%v %s", a.Found(), text)
	}
	if text := a.Text(true); strings.Index(text, "  true") < strings.Index(text, "never measured") {
		t.Errorf("why-not begins with what holds: %s", text)
	}
}

// TestNearest: of a focus that nobody tested the nearest ones are told where somebody did: not store, which was refused.
func TestNearest(t *testing.T) {
	lib, r := library(t), searched()
	for at, want := range map[string]string{"/Code/a.c/prase": "/Code/a.c/parse", "/Code/b.c/render": "/Code/a.c/render", "/Code/a.c": "/", "/Code/a.c/stor": "/"} {
		a := At(r, lib, report.Focus{"Code": at})
		if len(a.Nearest) == 0 || a.Nearest[0].String() != want || a.Found() != Never {
			t.Errorf("%s: %v, expected first %s", at, a.Nearest, want)
		}
	}
	if a := At(r, lib, report.Focus{"Code": "/Code/a.c/parse"}); len(a.Nearest) > 0 {
		t.Errorf("a focus that was tested has nearest ones: %v", a.Nearest)
	}
}

// TestTestedAgain: an answer that was being looked for again when the search ended is told as open, not as if nothing had been measured.
func TestTestedAgain(t *testing.T) {
	lib, r := library(t), searched()
	at := report.Focus{"Code": "/Code/a.c/again"}
	r.Nodes = append(r.Nodes, report.Node{ID: 20, Parents: []int{1}, Hypothesis: "CPUbound", Axis: "where", Focus: at, State: "testing",
		Tests: []report.Test{{Begin: 1, Seconds: 2}}, Reason: "it was ruled out at 3.0 s; the search ended before enough was seen"})
	if o := opinion(At(r, lib, at), "CPUbound"); o.Verdict != Undecided || o.Why != "testing: it was ruled out at 3.0 s; the search ended before enough was seen" {
		t.Errorf("%+v", o)
	}
}

// TestWatched: what was measured at a focus that no hypothesis was tested at is told.
func TestWatched(t *testing.T) {
	lib, r := library(t), searched()
	at := report.Focus{"Code": "/Code/a.c/check"}
	r.Pairs = []report.Pair{{Metric: "cpu", Focus: at, Unit: "CPUs", Tier: "probe", Sum: 9.6, Average: 0.8}, {Metric: "cpu", Unit: "CPUs", Sum: 12}}
	a := At(r, lib, at)
	if text := a.Text(false); !strings.HasPrefix(text, "Measured at /Code/a.c/check:\n  cpu@/Code/a.c/check: sum 9.6") || strings.Contains(text, "sum 12") || strings.Contains(text, "whether there is") {
		t.Error(text)
	}
}

// TestWithoutParameters: a function of C++ may be named without its parameters where that says which one; the root of a phase is no opinion; and a
// test that could not judge so far has no value.
func TestWithoutParameters(t *testing.T) {
	lib, r := library(t), searched()
	for _, name := range []string{"/Code/p.cpp/work(int)", "/Code/p.cpp/put(int)", "/Code/p.cpp/put(char const*)"} {
		n := r.Nodes[3]
		n.ID, n.Focus = len(r.Nodes)+1, report.Focus{"Code": name}
		r.Nodes = append(r.Nodes, n)
	}
	r.Nodes = append(r.Nodes, report.Node{ID: 10, Parents: []int{1}, Hypothesis: "top", Axis: "when", State: "true", Phase: report.Phase{Name: "load"}},
		report.Node{ID: 11, Parents: []int{1}, Hypothesis: "FrequentSyncOperations", Focus: report.Focus{"Code": "/Code/p.cpp/work(int)"}, State: "testing", Value: 200, Threshold: 200, Samples: 5})
	a := At(r, lib, report.Focus{"Code": "/Code/p.cpp/work"})
	if o := opinion(a, "CPUbound"); o.Verdict != RuledOut || a.Focus["Code"] != "/Code/p.cpp/work(int)" {
		t.Errorf("%v: %+v", a.Focus, o)
	}
	if o := opinion(a, "FrequentSyncOperations"); o.Verdict != Undecided || !strings.Contains(o.Why, "too little happened so far") || strings.Contains(o.Why, "200") {
		t.Errorf("%+v", o)
	}
	if text := a.Text(false); strings.Contains(text, "top") {
		t.Error(text)
	}
	a = At(r, lib, report.Focus{"Code": "/Code/p.cpp/put"})
	if a.Found() != Never || len(a.Nearest) < 2 || !strings.HasPrefix(a.Nearest[0].String(), "/Code/p.cpp/put(") || !strings.HasPrefix(a.Nearest[1].String(), "/Code/p.cpp/put(") {
		t.Errorf("of two: %v", a.Nearest)
	}
	a = At(r, lib, report.Focus{"Code": "/Code/p.cpp/nosuch"})
	if text := a.Text(false); !strings.HasPrefix(text, "No hypothesis was tested at /Code/p.cpp/nosuch, whether there is such a place or not") || !strings.Contains(text, "/Code/p.cpp/work(int)") {
		t.Error(text)
	}
}

// TestJudge: other thresholds change answers by the values only; what has none stays never measured, and what is near is undecided.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		value float64
		after [5]Verdict // of nodes 2 to 6
	}{
		{0.2, [5]Verdict{Holds, Holds, Holds, Never, -1}},
		{0.42, [5]Verdict{Holds, RuledOut, RuledOut, Never, -1}},
		{0.251, [5]Verdict{Holds, Holds, Undecided, Never, -1}},
	} {
		r := searched()
		j := NewJudge(library(t), []Setting{{"PC_CPUThreshold", c.value}})
		got := [5]Verdict{-1, -1, -1, -1, -1}
		for _, x := range j.Nodes(r) {
			got[x.Node.ID-2] = x.After
		}
		if got != c.after {
			t.Errorf("PC_CPUThreshold=%v: %v, expected %v", c.value, got, c.after)
		}
	}
	text, found := NewJudge(library(t), []Setting{{"PC_CPUThreshold", 0.42}}).Tell(searched(), nil)
	for _, want := range []string{"CPUbound at /Code/a.c/parse is true, and would be false: 40.0 % (threshold 42.0 % instead of 30.0 %)", "finding 1 (CPUbound at /Code/a.c/parse) would be none",
		"1 answer would change, 2 would stay, 1 never measured", "never measured, so not judged: CPUbound at /Code/a.c/store (refused)"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if found != Holds {
		t.Errorf("found %v", found)
	}
}

// TestJudgeOfWhatIsNotTold: where the report lacks the value that a constant is compared with, nothing is guessed.
func TestJudgeOfWhatIsNotTold(t *testing.T) {
	r := searched()
	r.Nodes = append(r.Nodes, report.Node{ID: 7, Parents: []int{2}, Hypothesis: "FrequentSmallIOOps", Focus: report.Focus{}, State: "true", Value: 100, Threshold: 4096, Samples: 20})
	list := NewJudge(library(t), []Setting{{"PC_SmallIORate", 5}}).Nodes(r)
	if len(list) != 1 || list[0].After != Undecided || !math.IsNaN(list[0].Threshold) {
		t.Errorf("%+v", list)
	}
	text, _ := NewJudge(library(t), []Setting{{"PC_LeastStake", 0.5}}).Tell(searched(), nil)
	if !strings.Contains(text, "finding 1 (CPUbound at /Code/a.c/parse) would be a note: 40.0 % at stake") {
		t.Error(text)
	}
}

// TestParseSetting: what is wrong with a setting is told.
func TestParseSetting(t *testing.T) {
	lib := library(t)
	if s, err := ParseSetting(lib, "PC_CPUThreshold=20%"); err != nil || s.Value != 0.2 {
		t.Errorf("%v %v", s, err)
	}
	for text, want := range map[string]string{"PC_CPU=1": "PC_CPUThreshold", "x": "NAME=VALUE", "PC_CPUThreshold=-1": "not below 0", "PC_CPUThreshold=NaN": "expected a number", "nonsense=1": "the nearest: "} {
		if _, err := ParseSetting(lib, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}
