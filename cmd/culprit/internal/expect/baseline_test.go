package expect

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
)

// before is a report as an earlier session left it.
func before(t *testing.T, pairs ...report.Pair) *report.Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base.json")
	r := &report.Report{Pairs: pairs}
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := report.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestBaseline: each pair of a report is held against what it was, its distribution too; what cannot be compared is said.
func TestBaseline(t *testing.T) {
	lib := library(t, "")
	none := report.Missing(math.NaN())
	old := before(t,
		report.Pair{Metric: "cpu", Unit: "CPUs", Average: 1},
		report.Pair{Metric: "cpu", Unit: "CPUs", Average: 1, Focus: report.Focus{"Code": "/Code/a.c/f"}},
		report.Pair{Metric: "io_ops", Unit: "ops/s", Average: 0},
		report.Pair{Metric: "io_latency", Unit: "s/s", Average: 0.5, Distribution: &report.Distribution{Unit: "s", P50: 0.001, P99: 0.004}},
		report.Pair{Metric: "opens", Unit: "files/s", Average: 3},
		report.Pair{Metric: "sync_wait", Unit: "s/s", Average: none, Error: "no such function"},
		report.Pair{Metric: "blocked", Unit: "s/s", Average: none},
	)
	b, err := NewBaseline("base.json", old, 0.1, lib)
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]float64{"cpu@/": 1.09, "cpu@/Code/a.c/f": 1.2, "io_ops@/": 0, "io_latency@/": 0.46, "io_latency@/p50": 0.0012, "io_latency@/p99": 0.0052}
	read := func(k grid.PairKey, v pcl.View) (float64, error) {
		x, ok := now[k.String()+string(v)]
		if !ok {
			return 0, errors.New("refused")
		}
		return x, nil
	}
	want := []string{
		"ok cpu@/: 1.09 CPUs, expected within 10 % of 1 CPUs",
		"FAILED cpu@/Code/a.c/f: 1.2 CPUs, expected within 10 % of 1 CPUs",
		"ok io_ops@/: 0 ops/s, expected within 10 % of 0 ops/s",
		"ok io_latency@/: 0.46 s/s, expected within 10 % of 0.5 s/s",
		"ok p50(io_latency) at /: 0.0012 s, expected within 25 % of 0.001 s",
		"FAILED p99(io_latency) at /: 0.0052 s, expected within 25 % of 0.004 s",
		`UNKNOWN opens@/: it could not be measured: its unit is "opens/s", and was "files/s"`,
		"UNKNOWN sync_wait@/: it could not be measured: the report has no value: no such function",
		"UNKNOWN blocked@/: it could not be measured: the report has no value",
	}
	list := b.Judge(lib, read)
	for i, v := range list {
		if got := string(v.Outcome) + " " + v.Text + ": " + v.Detail; i >= len(want) || got != want[i] || v.Set != "as in base.json" {
			t.Errorf("got  %s\nwant %s", got, want[min(i, len(want)-1)])
		}
	}
	if len(list) != len(want) || len(b.Keys()) != 7 {
		t.Errorf("%d verdicts, %d pairs", len(list), len(b.Keys()))
	}
}

// TestBadBaseline: what is no report, or of something that is not known, is an error at once.
func TestBadBaseline(t *testing.T) {
	lib := library(t, "")
	for want, r := range map[string]*report.Report{
		"has no pairs":              before(t),
		"unknown metric":            before(t, report.Pair{Metric: "takes"}),
		"cannot be read at /IO/Fil": before(t, report.Pair{Metric: "cpu", Focus: report.Focus{"IO": "/IO/File"}}),
		"did you mean":              before(t, report.Pair{Metric: "sync_wiat"}),
	} {
		if _, err := NewBaseline("r", r, 0.1, lib); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	for _, text := range []string{"", "[]", `{"schema": 7}`, `{"held": 3}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := report.Read(path); err == nil || !strings.Contains(err.Error(), "is no report") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := report.Read(path + "none"); err == nil {
		t.Error("a file that is not there was read")
	}
}

const finer = `expect Finer {
	cpu <= 0.5;
	cpu >= 0.5 at "/Code/m.c";
	not cpu <= 0.5;
	p99(io_latency) < 0.01;
	p95(io_latency) > 0.01;
	mean(io_size) >= 512;
}`

// TestViews: quantiles are read as such, <= and >= hold at the limit, and JSON says the same as the lines.
func TestViews(t *testing.T) {
	lib := library(t, finer)
	read := func(k grid.PairKey, v pcl.View) (float64, error) {
		switch k.String() + string(v) {
		case "cpu@/", "cpu@/Code/m.c":
			return 0.5, nil
		case "io_latency@/p99":
			return 0.02, nil
		case "io_latency@/p95":
			return 0.015, nil
		}
		return 0, errors.New("refused")
	}
	list := Judge(lib, read)
	var out bytes.Buffer
	if err := NewResults("culprit 1", list, time.Unix(1, 0), 1500*time.Millisecond, 11).Encode(&out); err != nil {
		t.Fatal(err)
	}
	var back Results
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	want := []string{
		"ok 0.5 CPUs, expected at most 0.5 CPUs", "ok 0.5 CPUs, expected at least 0.5 CPUs", "failed 0.5 CPUs, expected more than 0.5 CPUs",
		"failed 0.02 s, expected below 0.01 s", "ok 0.015 s, expected above 0.01 s", "unknown it could not be measured: refused",
	}
	for i, r := range back.Expectations {
		if got := r.Outcome + " " + r.Detail; got != want[i] || r.Set != "Finer" {
			t.Errorf("got %s, want %s", got, want[i])
		}
	}
	if e := back.Expectations; e[3].Value != 0.02 || e[3].Threshold != 0.01 || e[3].Unit != "s" || e[3].Relation != "<" || e[2].Relation != "not <=" ||
		!math.IsNaN(float64(e[5].Value)) {
		t.Errorf("%+v", e)
	}
	if back.Schema != 1 || back.Held != 3 || back.Failed != 2 || back.Unknown != 1 || back.ExitStatus != 11 || back.Seconds != 1.5 || back.Started != "1970-01-01T00:00:01Z" {
		t.Errorf("%+v", back)
	}
}
