package diff

import (
	"math/rand/v2"
	"strings"
	"testing"

	"culprit/session/report"
)

// run is a report of a program in which functions have shares of the time, as measured with some noise.
func run(r *rand.Rand, pid string, shares map[string]float64) *report.Report {
	out := &report.Report{Schema: report.Schema, Nodes: []report.Node{{ID: 1, Hypothesis: "top", State: "true"}}}
	for name, share := range shares {
		v := share * (1 + 0.012*r.NormFloat64())
		e := report.Number(0.005)
		n := report.Node{ID: len(out.Nodes) + 1, Parents: []int{1}, Hypothesis: "CPUbound", State: "false", Greater: true, Threshold: 0.3, Unit: "fraction", Samples: 30,
			Focus: report.Focus{"Code": "/Code/a.c/" + name, "Process": "/Process/srv{" + pid + "}/thr_" + pid + "{work}"}, Value: report.Number(v), Error: &e, Mean: &report.Mean{Value: report.Number(v), Error: e}}
		if v > 0.3 {
			n.State = "true"
			out.Bottlenecks = append(out.Bottlenecks, report.Bottleneck{Node: n.ID, Severity: report.Number(v)})
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}

// TestCompare: equal runs report nothing; a change of 10 % is found, and is the first, though all numbers of processes differ.
func TestCompare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	equal, changed := map[string]float64{"parse": 0.4, "render": 0.45}, map[string]float64{"parse": 0.44, "render": 0.45}
	wrong, found := 0, 0
	for range 200 {
		same, err := Compare(run(r, "10", equal), run(r, "20", equal))
		if err != nil || len(same) != 2 {
			t.Fatal(same, err)
		}
		if same[0].Kind != Undecided && same[0].Kind != Same {
			wrong++
		}
		other, _ := Compare(run(r, "10", equal), run(r, "20", changed))
		if len(other) == 2 && other[0].Kind == Worse && strings.Contains(other[0].Focus.String(), "parse") {
			found++
		}
	}
	if wrong > 4 || found < 180 {
		t.Errorf("of 200 pairs: %d equal ones differ, %d changes are found", wrong, found)
	}
}

// TestKinds: each kind of change, and what counts as worse.
func TestKinds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		a, b  float64
		kind  Kind
		worse bool
	}{{0.1, 0.6, New, true}, {0.6, 0.1, Gone, false}, {0.4, 0.7, Worse, true}, {0.7, 0.4, Better, false}, {0.5, 0.5, Same, false}, {0.5, 0.53, Undecided, false}} {
		list, err := Compare(run(r, "1", map[string]float64{"f": c.a}), run(r, "2", map[string]float64{"f": c.b}))
		if err != nil || len(list) != 1 || list[0].Kind != c.kind || IsWorse(list) != c.worse {
			t.Errorf("%v, then %v: %+v %v, expected %s", c.a, c.b, list, err, c.kind)
		}
	}
}

// TestNeverMeasuredIsNoChange: of what one report has no value nothing is concluded; a report without values cannot be compared.
func TestNeverMeasuredIsNoChange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	a, b := run(r, "1", map[string]float64{"g": 0.1}), run(r, "2", map[string]float64{"f": 0.6})
	list, err := Compare(a, b)
	if err != nil || len(list) != 1 || list[0].Kind != Undecided || !strings.Contains(list[0].Why, "never measured in the first report") {
		t.Errorf("%+v %v", list, err)
	}
	if text := Text(list); !strings.Contains(text, "never measured, then 60") && !strings.Contains(text, "never measured, then 5") && !strings.Contains(text, "never measured, then 6") {
		t.Error(text)
	}
	if _, err := Compare(&report.Report{Schema: 1}, b); err == nil || !strings.Contains(err.Error(), "the first report has no value") {
		t.Errorf("an empty report: %v", err)
	}
	if _, err := Compare(a, &report.Report{Schema: 1, NotSearched: true}); err == nil || !strings.Contains(err.Error(), "the second report is of a measurement without a search") {
		t.Errorf("a report without a search: %v", err)
	}
}

// TestBounds: of what was not measured in one report, since what it is a part of was ruled out, is known that it is not more than that.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	slow := run(r, "1", map[string]float64{"f": 0.6})
	whole := func(share float64, state string) *report.Report {
		fast := run(r, "2", map[string]float64{"f": share})
		n := &fast.Nodes[len(fast.Nodes)-1]
		n.Focus, n.State, fast.Bottlenecks = report.Focus{}, state, nil
		return fast
	}
	for _, c := range []struct {
		a, b *report.Report
		kind Kind
		says string
	}{
		{slow, whole(0.05, "false"), Gone, "then at most "},
		{whole(0.05, "false"), slow, New, ": at most "},
		{slow, whole(0.8, "true"), Undecided, "around it there is more"},
		{whole(0.8, "true"), slow, Undecided, "around it there is more"},
	} {
		list, err := Compare(c.a, c.b)
		if err != nil || len(list) == 0 || list[0].Kind != c.kind || !strings.Contains(Text(list), c.says) {
			t.Errorf("%v, expected %s: %s", err, c.kind, Text(list))
		}
	}
}
