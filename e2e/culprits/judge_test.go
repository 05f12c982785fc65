package main

import (
	"strings"
	"testing"

	"culprit/session/report"
)

// A found is a finding of a report that was written by hand: a hypothesis, the foci on its way, and its own last.
type found struct {
	hypothesis string
	foci       []report.Focus
	sentence   string
}

func code(path string) report.Focus { return report.Focus{"Code": "/Code/" + path} }

// reportOf makes a report; the first finding turned out true after 1 s, the next after 2 s, and so on.
func reportOf(list ...found) *report.Report {
	r := &report.Report{Schema: report.Schema, Nodes: []report.Node{{ID: 1, Hypothesis: "top"}}}
	for i, f := range list {
		chain := []int{1}
		for _, focus := range f.foci {
			id := len(r.Nodes) + 1
			r.Nodes = append(r.Nodes, report.Node{ID: id, Hypothesis: f.hypothesis, Focus: focus, State: "true", Since: report.Number(i + 1)})
			chain = append(chain, id)
		}
		r.Bottlenecks = append(r.Bottlenecks, report.Bottleneck{Node: chain[len(chain)-1], Chain: chain, Sentence: f.sentence})
	}
	return r
}

func TestJudge(t *testing.T) {
	waiting := "// Cause: x\n// Right: ExcessiveSyncWaitingTime|SchedulingDelay at lock table and find()\n// Right: CPUbound at hash()\n// Never: render()\n// Never: lock log_lock\n"
	lock := report.Focus{"Code": "/Code/a.c/find", "SyncObject": "/SyncObject/Mutex/table"}
	for name, c := range map[string]struct {
		head               string
		found              []found
		first, right       bool
		level              string
		seconds            float64 // 0: none
		blamed             int
		said, firstAtPlace string
	}{
		"nothing found":        {head: waiting, level: "-"},
		"right":                {waiting, []found{{"ExcessiveSyncWaitingTime", []report.Focus{{}, lock}, "s"}}, true, true, "place", 1, 0, "s", "ExcessiveSyncWaitingTime /Code/a.c/find,/SyncObject/Mutex/table"},
		"by the way":           {waiting, []found{{"SchedulingDelay", []report.Focus{{"SyncObject": "/SyncObject/Mutex/table"}, code("a.c/find")}, "s"}}, true, true, "place", 1, 0, "s", "SchedulingDelay /Code/a.c/find"},
		"in the sentence":      {waiting, []found{{"ExcessiveSyncWaitingTime", []report.Focus{{}}, "mutex table in find (a.c:3)"}}, true, true, "place", 1, 0, "mutex table in find (a.c:3)", "ExcessiveSyncWaitingTime /"},
		"one place of two":     {waiting, []found{{"ExcessiveSyncWaitingTime", []report.Focus{code("a.c/find")}, "find_all, tables"}}, false, false, "1 of 2 places", 0, 0, "find_all, tables", "ExcessiveSyncWaitingTime /Code/a.c/find"},
		"hypothesis only":      {waiting, []found{{"ExcessiveSyncWaitingTime", []report.Focus{{}}, "s"}}, false, false, "hypothesis", 0, 0, "s", "ExcessiveSyncWaitingTime /"},
		"place, not the why":   {waiting, []found{{"ExcessiveIOBlockingTime", []report.Focus{lock}, "s"}}, false, false, "-", 0, 0, "s", "ExcessiveIOBlockingTime /Code/a.c/find,/SyncObject/Mutex/table"},
		"the alternative":      {waiting, []found{{"CPUbound", []report.Focus{code("a.c/hash")}, "s"}}, true, true, "place", 1, 0, "s", "CPUbound /Code/a.c/hash"},
		"second":               {waiting, []found{{"CPUbound", []report.Focus{code("a.c/other")}, "s"}, {"CPUbound", []report.Focus{code("a.c/hash")}, "u"}}, false, true, "place", 2, 0, "s", "CPUbound /Code/a.c/other"},
		"blamed":               {waiting, []found{{"CPUbound", []report.Focus{code("a.c/hash"), code("a.c/render")}, "s"}}, false, false, "hypothesis", 0, 1, "s", "CPUbound /Code/a.c/render"},
		"blamed on the way":    {waiting, []found{{"CPUbound", []report.Focus{code("a.c/render"), code("a.c/hash")}, "s"}}, true, true, "place", 1, 0, "s", "CPUbound /Code/a.c/hash"},
		"blamed second":        {waiting, []found{{"CPUbound", []report.Focus{code("a.c/hash")}, "s"}, {"ExcessiveSyncWaitingTime", []report.Focus{{"SyncObject": "/SyncObject/Mutex/log_lock"}}, "u"}}, true, true, "place", 1, 1, "s", "CPUbound /Code/a.c/hash"},
		"blamed, but right":    {waiting, []found{{"CPUbound", []report.Focus{code("a.c/render")}, "hash is called from render"}}, true, true, "place", 1, 0, "hash is called from render", "CPUbound /Code/a.c/render"},
		"healthy":              {"// Cause: x\n// Right: none\n", nil, true, true, "-", 0, 0, "", ""},
		"not found healthy":    {"// Cause: x\n// Right: none\n", []found{{"CPUbound", []report.Focus{{}}, "s"}, {"CPUbound", []report.Focus{{}}, "u"}}, false, false, "-", 0, 2, "s", "CPUbound /"},
		"anywhere":             {"// Cause: x\n// Right: CPUbound at *\n", []found{{"CPUbound", []report.Focus{{}}, "s"}}, true, true, "place", 1, 0, "s", "CPUbound /"},
		"never anywhere else":  {"// Cause: x\n// Right: CPUbound at f()\n// Never: *\n", []found{{"CPUbound", []report.Focus{{}}, "s"}}, false, false, "hypothesis", 0, 1, "s", "CPUbound /"},
		"numbers of processes": {"// Cause: x\n// Right: CPUbound at thread conn_*\n", []found{{"CPUbound", []report.Focus{{"Process": "/Process/srv{42}/thr_43{conn_7}"}}, "s"}}, true, true, "place", 1, 0, "s", "CPUbound /Process/srv/{conn_7}"},
	} {
		e, err := parseExpectation(c.head)
		if err != nil {
			t.Fatal(err)
		}
		v := judge(e, reportOf(c.found...))
		if v.First != c.first || v.Found != c.right || v.Level != c.level || len(v.Blamed) != c.blamed || v.Said != c.said || v.Place != c.firstAtPlace {
			t.Errorf("%s: %+v", name, v)
		}
		if (v.Seconds == nil) != (c.seconds == 0) || v.Seconds != nil && *v.Seconds != c.seconds {
			t.Errorf("%s: after %s s, expected %.1f", name, secondsText(v.Seconds), c.seconds)
		}
	}
}

// TestNotesDoNotCount: what is told as a note, or was true on the way, is no finding.
func TestNotesDoNotCount(t *testing.T) {
	e, err := parseExpectation("// Cause: x\n// Right: CPUbound at f()\n")
	if err != nil {
		t.Fatal(err)
	}
	r := reportOf(found{"CPUbound", []report.Focus{code("a.c/f")}, "s"})
	r.Notes, r.Bottlenecks = r.Bottlenecks, nil
	if v := judge(e, r); v.First || v.Found || v.Level != "-" {
		t.Errorf("%+v", v)
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		place    string
		focus    report.Focus
		sentence string
		want     bool
	}{
		{"f()", code("a.c/f"), "", true},
		{"f()", code("a.c/f/loop_1"), "", true},
		{"f()", code("a.c/ff"), "", false},
		{"f()", code("f"), "", false}, // a module
		{"f()", code("a.c/f.constprop.0"), "", true},
		{"f()", code("a.c/f.part.0.cold"), "", true},
		{"f()", code("a.cc/Cache::f(int, char*)"), "", true},
		{"Cache::f()", code("a.cc/ns::Cache::f(int) const"), "", true},
		{"Cache::f()", code("a.cc/Cache2::f(int)"), "", false},
		{"f()", code("a.cc/void f<int, std::vector<int> >(int)"), "", true},
		{"f()", code("a.cc/(anonymous namespace)::f(int)"), "", true},
		{"f()", code("a.cc/g(void (*)(f))"), "", false},
		{"f()", code("a.rs/prog::f::h0123456789abcdef"), "", true},
		{"f()", code("a.rs/prog::f::{{closure}}"), "", true},
		{"get()", code("a.rs/<prog::Cache as prog::Store>::get"), "", true},
		{"operator()()", code("a.cc/Job::operator()() const"), "", true},
		{"pass_*()", code("a.c/pass_blur"), "", true},
		{"f()", nil, "threads wait 90 % in f (a.c:3)", true},
		{"f()", nil, "threads wait 90 % in Cache::f, since 1 s", true},
		{"f()", nil, "threads wait in ff and f_2", false},
		{"module libz.so", code("libz.so.1.2/deflate"), "", true},
		{"module libz.so", code("libzz.so/deflate"), "", false},
		{"lock m", report.Focus{"SyncObject": "/SyncObject/Mutex/m"}, "", true},
		{"lock m", report.Focus{"SyncObject": "/SyncObject/CondVar/q.m"}, "", true},
		{"lock m", report.Focus{"SyncObject": "/SyncObject/Mutex/m+16"}, "", true},
		{"lock m", report.Focus{"SyncObject": "/SyncObject/Mutex/m2"}, "", false},
		{"lock m", report.Focus{"SyncObject": "/SyncObject/Mutex"}, "", false},
		{"lock Mutex", report.Focus{"SyncObject": "/SyncObject/Mutex"}, "", false},
		{"file data", report.Focus{"IO": "/IO/File/%2Ftmp%2Fx%2Fdata"}, "", true},
		{"file tmp", report.Focus{"IO": "/IO/File/%2Ftmp%2Fx%2Fdata"}, "", false},
		{"file data", nil, "threads wait for file /tmp/x/data", true},
		{"file data", nil, "threads wait for file /tmp/x/data.log", true},
		{"file data", nil, "threads wait for file /tmp/x/mydata", false},
		{"pipe", report.Focus{"IO": "/IO/Pipe/pipe:[17]"}, "", true},
		{"socket", report.Focus{"IO": "/IO/Pipe/pipe:[17]"}, "", false},
		{"pipe", nil, "threads wait for files, sockets or pipes", false},
		{"thread conn", report.Focus{"Process": "/Process/srv{4}/thr_5{conn}"}, "", true},
		{"thread a_name_that_is_too_long", report.Focus{"Process": "/Process/srv{4}/thr_5{a_name_that_is_}"}, "", true},
		{"thread srv", report.Focus{"Process": "/Process/srv{4}"}, "", false},
		{"process srv", report.Focus{"Process": "/Process/srv{4}/thr_5{conn}"}, "", true},
		{"process conn", report.Focus{"Process": "/Process/srv{4}/thr_5{conn}"}, "", false},
		{"*", nil, "", true},
	} {
		p, err := parsePlace(c.place)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.at(c.focus) || p.in(c.sentence); got != c.want {
			t.Errorf("%s at %v in %q: %v", c.place, c.focus, c.sentence, got)
		}
		if p.String() != c.place {
			t.Errorf("%s is written %s", c.place, p)
		}
	}
}

func TestTable(t *testing.T) {
	three := 3.0
	all := []result{
		{Program: "a", Category: "cpu", Round: 1, Overhead: 0.01, verdict: verdict{First: true, Found: true, Level: "place", Seconds: &three, Said: "f uses", Place: "p"}},
		{Program: "a", Category: "cpu", Round: 2, verdict: verdict{Level: "-", Blamed: []string{"g"}, Said: "g uses", Place: "q"}},
		{Program: "b", Category: "io", Round: 1, Trouble: "it has\nended", verdict: verdict{Level: "-"}},
		{Program: "b", Category: "io", Round: 2, verdict: verdict{Found: true, Level: "place"}},
	}
	sum := summarise(all)
	if sum.Share() != 25 || sum.All.Found != 2 || sum.All.Blamed != 1 || sum.All.Trouble != 1 || len(sum.Categories) != 2 || *sum.All.Median != 3 {
		t.Errorf("%+v", sum)
	}
	var b strings.Builder
	if err := writeTable(&b, all, 2); err != nil {
		t.Fatal(err)
	}
	want := `program  first  found  same  level     s    overhead  false  what was said first
a        1/2    1/2    1/2   place, -  3.0  1.00 %    1/2    g uses
b        0/2    1/2    2/2   -, place  -    0.00 %    0/2    (nothing found)
`
	if b.String() != want {
		t.Errorf("\n%s", b.String())
	}
	b.Reset()
	if err := writeTable(&b, all[2:3], 1); err != nil || !strings.HasSuffix(b.String(), "b        no     no     -      -  0.00 %    no     TROUBLE: it has ended\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := writeSummary(&b, sum); err != nil || !strings.Contains(b.String(), "all       4         1      2      3.0       1            1\n25 % of the first findings are right.\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
