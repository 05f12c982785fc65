package session

import (
	"strings"
	"testing"

	"culprit/consultant/prior"
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/session/report"
)

func shippedLibrary(t *testing.T) *pcl.Library {
	t.Helper()
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return lib
}

// earlierRun is the report of a program with one lock that is waited for, one function that was ruled out, and one that was not decided.
func earlierRun(exe, build string) *report.Report {
	return &report.Report{
		Schema: 1, Started: "2026-01-02T03:04:05Z", Targets: []report.Target{{PID: 7, Exe: exe, BuildID: build}},
		Settings: map[string]report.Number{"PC_CPUThreshold": 0.11, "noSuchConstant": 1, "PC_LeastStake": -1e9},
		Nodes: []report.Node{
			{ID: 1, Hypothesis: report.Root, State: "true"},
			{ID: 2, Parents: []int{1}, Hypothesis: "ExcessiveSyncWaitingTime", State: "true", Value: 0.7, Threshold: 0.2, Greater: true, Confidence: 0.99, Samples: 9},
			{ID: 3, Parents: []int{2}, Hypothesis: "ExcessiveSyncWaitingTime", Focus: report.Focus{"Code": "/Code/srv.c/lookup"}, State: "true", Value: 0.7, Threshold: 0.2, Greater: true, Confidence: 0.99, Samples: 9},
			{ID: 4, Parents: []int{3}, Hypothesis: "ExcessiveSyncWaitingTime", Focus: report.Focus{"Code": "/Code/srv.c/lookup", "SyncObject": "/SyncObject/Mutex/0x7f12"}, State: "true", Value: 0.7, Threshold: 0.2, Greater: true, Confidence: 0.99, Samples: 9},
			{ID: 5, Parents: []int{1}, Hypothesis: "CPUbound", State: "false", Value: 0.05, Threshold: 0.3, Greater: true, Confidence: 0.99, Samples: 9},
			{ID: 6, Parents: []int{2}, Hypothesis: "ExcessiveSyncWaitingTime", Focus: report.Focus{"Code": "/Code/srv.c/near"}, State: "false", Value: 0.15, Threshold: 0.2, Greater: true, Confidence: 0.99, Samples: 9},
			{ID: 7, Parents: []int{2}, Hypothesis: "ExcessiveSyncWaitingTime", Focus: report.Focus{"Code": "/Code/srv.c/once"}, State: "false", Value: 0.01, Threshold: 0.2, Greater: true, Confidence: 0.99, Samples: 9},
			{ID: 8, Parents: []int{2}, Hypothesis: "ExcessiveSyncWaitingTime", Focus: report.Focus{"Code": "/Code/srv.c/phase"}, State: "true", Phase: report.Phase{Name: "phase 1"}, Value: 0.7, Threshold: 0.2, Greater: true, Confidence: 0.99, Samples: 9},
			{ID: 9, Parents: []int{2, 99}, Hypothesis: "ExcessiveSyncWaitingTime", Focus: report.Focus{"Code": "none such"}, State: "true", Samples: 9},
		},
		Earlier: []report.Earlier{{Node: 7}},
	}
}

// What is taken from an earlier run depends on whether it was one of the same program, and of the same build.
func TestUseHistory(t *testing.T) {
	code := func(name string) grid.Focus { return grid.Whole().Refine(grid.Code, "srv.c", name) }
	for _, c := range []struct {
		now     report.Target
		program string
		says    string
	}{
		{report.Target{Exe: "/opt/new/srv", BuildID: "aa"}, report.SameBuild, "ruled out is left to stack samples (1)"},
		{report.Target{Exe: "/usr/bin/srv", BuildID: "bb"}, report.AnotherBuild, "another build"},
		{report.Target{Exe: "/usr/bin/srv"}, report.AnotherBuild, "not known"},
		{report.Target{Exe: "/usr/bin/srv", BuildID: "aa", Interprets: "Python"}, report.AnotherBuild, "another build"},
		{report.Target{Exe: "/usr/bin/other", BuildID: "aa"}, report.AnotherProgram, "is not used"},
	} {
		lib := shippedLibrary(t)
		p, told := useHistory(&History{File: "old.json", Report: earlierRun("/usr/bin/srv", "aa")}, []report.Target{c.now}, lib)
		if told.Program != c.program || !strings.Contains(historyText(told), c.says) || !strings.Contains(historyText(told), "old.json") {
			t.Errorf("%+v: %+v: %s", c.now, told, historyText(told))
		}
		if c.program == report.AnotherProgram {
			if v, _ := lib.Tunable("PC_CPUThreshold"); p != nil || v == 0.11 {
				t.Errorf("of another program something was used: %+v, %g", p, v)
			}
			continue
		}
		const waits = "ExcessiveSyncWaitingTime"
		for f, want := range map[grid.Focus]prior.Answer{
			grid.Whole(): prior.Held, code("lookup"): prior.Held, code("lookup").Refine(grid.SyncObject, "Mutex", "0x7fee"): prior.Held,
			code("near"): prior.Unsure, code("once"): prior.Unsure, code("phase"): prior.Unsure, code("never"): prior.Unsure,
		} {
			if got := p.Of(waits, f); got != want {
				t.Errorf("%v: %v, expected %v", f, got, want)
			}
		}
		if p.Of("CPUbound", grid.Whole()) != prior.RuledOut || p.IsSame() != (c.program == report.SameBuild) {
			t.Errorf("CPUbound %v, same build %v", p.Of("CPUbound", grid.Whole()), p.IsSame())
		}
		held := p.Held()
		if len(held) != 3 || held[2].Focus != code("lookup") || len(held[2].From) != 1 || held[2].From[0] != 1 {
			t.Errorf("held: %+v; the lock has an address, which is another one in each run", held)
		}
		if v, _ := lib.Tunable("PC_CPUThreshold"); v != 0.11 || len(told.Settings) != 1 || len(told.Unused) != 2 {
			t.Errorf("PC_CPUThreshold is %g, set: %v, not: %v", v, told.Settings, told.Unused)
		}
	}
}

// What the texts of a run set goes before what was set in the earlier one.
func TestSettingsOfThisRun(t *testing.T) {
	lib, problems, err := check.Load(check.Options{Texts: []string{"tunable_constant { \"PC_CPUThreshold\" 0.4; }"}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	_, told := useHistory(&History{Report: earlierRun("srv", "aa")}, []report.Target{{Exe: "srv"}}, lib)
	if v, _ := lib.Tunable("PC_CPUThreshold"); v != 0.4 || len(told.Settings) != 0 {
		t.Errorf("PC_CPUThreshold is %g, set: %v", v, told.Settings)
	}
	if got := settings(lib); len(got) != 1 || got["PC_CPUThreshold"] != 0.4 {
		t.Errorf("settings %v", got)
	}
}
