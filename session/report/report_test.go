package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() *Report {
	end := Number(9.5)
	code := 3
	p50, p99 := int64(150), int64(300)
	return &Report{
		Tool: "culprit 0.1.0", Started: "2026-01-02T03:04:05Z", Seconds: 30,
		Targets: []Target{{Host: "h", PID: 4242, Exe: "/usr/bin/srv", Runtime: "c", Threads: 4, Ended: true, To: 30, Backend: "probe", ExitCode: &code},
			{Host: "h", From: 12, To: 30, PID: 4243, Exe: "/usr/bin/child", Threads: 1, Backend: "sample", Why: "it is traced by 7 (gdb)"}},
		Nodes: []Node{
			{ID: 1, Hypothesis: "top", Axis: "why", State: "true", Phase: Phase{Name: "global"}},
			{ID: 2, Parents: []int{1}, Axis: "why", Hypothesis: "CPUbound", State: "false", Value: 0.02, Threshold: 0.3, Greater: true,
				Unit: "CPUs", Samples: 20, Confidence: 0.99, Phase: Phase{Name: "global"}},
			{ID: 4, Parents: []int{1}, Axis: "why", Hypothesis: "SchedulingDelay", State: "false", Value: 0.3, Threshold: 0.3, Greater: true,
				Unit: "s/s", Samples: 20, Confidence: 0.99, Phase: Phase{Name: "global"}},
			{ID: 5, Parents: []int{1}, Axis: "why", Hypothesis: "LoadImbalance", State: "false", Value: 0.15, Threshold: 0.15, Greater: true,
				Unit: "s/s", Samples: 3, Confidence: 0.8, Phase: Phase{Name: "global"}},
			{ID: 6, Parents: []int{1}, Axis: "why", Hypothesis: "FrequentSmallIOOps", State: "false", Value: 4096, Threshold: 4096,
				Unit: "B", Samples: 3, Confidence: 0.8, Phase: Phase{Name: "global"}},
			{ID: 3, Parents: []int{1}, Axis: "why", Hypothesis: "ExcessiveSyncWaitingTime", State: "true", Value: 0.72, Threshold: 0.2,
				Greater: true, Unit: "fraction", Samples: 46, Confidence: 0.99, Since: 3.1, Phase: Phase{Name: "global"}},
			{ID: 7, Parents: []int{3}, Axis: "where", Hypothesis: "ExcessiveSyncWaitingTime",
				Focus: Focus{"Code": "/Code/cache.c/lookup", "SyncObject": "/SyncObject/Mutex/cache_lock"}, State: "true",
				Value: Number(math.Inf(1)), Threshold: Number(math.NaN()), Phase: Phase{Name: "p1", Start: 1, End: &end}, Cost: 0.0004},
			{ID: 8, Parents: []int{3}, Axis: "where", Hypothesis: "ExcessiveSyncWaitingTime", Focus: Focus{"Code": "/Code/a.c/b"},
				State: "overbudget", Reason: "12 % predicted", Phase: Phase{Name: "global"}},
		},
		Bottlenecks: []Bottleneck{{Node: 7, Sentence: "Threads wait 72 % of their time for <cache_lock>.", Chain: []int{1, 3, 7},
			Severity: 0.72, Source: &Source{File: "cache.c", Line: 41}, Object: "cache_lock",
			By: By{HeldBy: []Held{{"thr_7{writer}", "cache.c/rebuild", 0.81}, {"thr_8", "", 0.1}, {"thr_9", "a.c/b", 0.05}, {"thr_10", "a.c/b", 0.01}}}, Advice: "Hold it shorter."},
			{Node: 3, Sentence: "Another.", Severity: 0.3, Advice: "Hold it shorter.", By: By{WokenBy: []Held{{"thr_7{writer}", "cache.c/rebuild", 0.9}}}}},
		Notes: []Bottleneck{{Node: 8, Sentence: "Threads wait for the writer.", Severity: 0.4, ExplainedBy: 7}, {Node: 2, Sentence: "A little.", Severity: 0.01},
			{Node: 1, Sentence: "Threads wait for those.", ExplainedBy: 8}},
		Pairs: []Pair{{Metric: "procedure_calls", Focus: Focus{"Code": "/Code/cache.c/lookup"}, Unit: "calls/s", Sum: 4e7,
			Average: 1e6, Min: 0, Max: 2e6, Uncertainty: Missing(math.NaN()), Tier: "probe", Start: 0.4, BinSeconds: 0.2, Bins: Bins{1, Missing(math.NaN()), 3}},
			{Metric: "cpu_inclusive", Focus: Focus{"Code": "/Code/cache.c/lookup"}, Unit: "CPUs", Sum: 3.1, Average: 0.62, Min: 0.5, Max: 0.7,
				Uncertainty: 0.0138, Tier: "sample", BinSeconds: 0.2},
			{Metric: "cpu", Uncertainty: Missing(math.NaN()), Error: "refused", Average: Missing(math.NaN()), Min: Missing(math.NaN()), Max: Missing(math.NaN())}},
		Overhead:     Overhead{Budget: 0.02, Observed: 0.004, Pauses: Pauses{Count: 12, MaxUS: 310, TotalUS: 2100, LaterUS: 310, P50US: &p50, P99US: &p99, ThreadStops: 48}, DaemonCPU: 0.008},
		Probes:       Probes{Inserted: 214, Removed: 214, Refused: []Refusal{{"f", "too short"}}},
		RemovedClean: true, ExitStatus: 10, End: "time",
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got); if meant so, run with -update:\n%s", name, d)
	}
}

func TestGoldenJSON(t *testing.T) {
	var b bytes.Buffer
	if err := sample().Encode(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b.Bytes())
}

func TestGoldenText(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	for i, n := range r.Bottlenecks {
		r.Bottlenecks[i].Sentence = n.Told(n.Sentence, r.Targets)
	}
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", b.Bytes())
}

// TestSchemaKeys holds the keys of schema 1 as documented: none may vanish.
func TestSchemaKeys(t *testing.T) {
	var b bytes.Buffer
	if err := sample().Encode(&b); err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	need := map[string]string{
		"":            "schema tool started seconds targets nodes bottlenecks pairs overhead probes removed_clean",
		"targets":     "host pid exe runtime threads ended from to backend",
		"nodes":       "id parents axis hypothesis focus phase state value threshold unit confidence samples since cost reason",
		"bottlenecks": "node sentence chain severity source",
		"pairs":       "metric focus unit sum average min max uncertainty tier start bin_seconds bins",
		"overhead":    "budget observed pauses daemon_cpu",
		"probes":      "inserted removed left refused",
	}
	for part, keys := range need {
		obj := m
		switch v := m[part].(type) {
		case []any:
			obj = v[0].(map[string]any)
		case map[string]any:
			obj = v
		}
		for _, k := range strings.Fields(keys) {
			if _, ok := obj[k]; !ok {
				t.Errorf("%q lacks %q", part, k)
			}
		}
	}
}

// TestEmptyHasNoNull: a consumer may range over every list of a report in which nothing happened.
func TestEmptyHasNoNull(t *testing.T) {
	var b bytes.Buffer
	if err := (&Report{}).Encode(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "null") {
		t.Errorf("null in %s", b.String())
	}
}

func TestRoundTrip(t *testing.T) {
	var a, b bytes.Buffer
	if err := sample().Encode(&a); err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(a.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if err := r.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Bytes(), b.Bytes()) {
		t.Error(cmp.Diff(a.String(), b.String()))
	}
}

func TestSaveKeepsOldReportOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	if err := sample().Save(path); err != nil {
		t.Fatal(err)
	}
	if err := sample().Save("/dev/full"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: %v", err)
	}
	if err := sample().Save(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("directory: %v", err)
	}
	if err := sample().Save(filepath.Join(dir, "no", "r.json")); err == nil {
		t.Error("missing directory: no error")
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".culprit*"))
	if len(names) != 1 || len(hidden) != 0 {
		t.Errorf("left behind: %v %v", names, hidden)
	}
}

func TestSaveThroughLinkKeepsMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("r.json", link); err != nil {
		t.Fatal(err)
	}
	if err := sample().Save(link); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() < 100 {
		t.Errorf("%v %v", info, err)
	}
	if fi, _ := os.Lstat(link); fi.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if err := CheckWritable(path); err != nil {
		t.Error(err)
	}
	if err := CheckWritable(filepath.Join(dir, "no", "x")); err == nil {
		t.Error("CheckWritable of a missing directory: no error")
	}
}

// TestRunning: the answer of a session that goes on says so, and a report comes back from one line as it was.
func TestRunning(t *testing.T) {
	r := &Report{Schema: Schema, Tool: "culprit", End: Running, Targets: []Target{{Exe: "x", PID: 7}}, PairsLeftOut: 3}
	line, err := r.Line()
	if err != nil || bytes.ContainsRune(line, '\n') {
		t.Fatalf("%q %v", line, err)
	}
	back, err := Parse(line)
	if err != nil || back.PairsLeftOut != 3 || back.End != Running {
		t.Fatalf("%+v %v", back, err)
	}
	var text bytes.Buffer
	if err := back.WriteText(&text); err != nil || !strings.Contains(text.String(), "; the session goes on.") || strings.Contains(text.String(), "as it was") {
		t.Errorf("%v\n%s", err, text.String())
	}
	for _, bad := range []string{"", "{", `{"schema":2}`, "[]"} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a report", bad)
		}
	}
}

// What was ruled out long before the end says until when it was measured: the program may behave otherwise since.
func TestRuledOutLongAgo(t *testing.T) {
	r := &Report{Seconds: 30, Nodes: []Node{{ID: 1, Hypothesis: Root, State: "true"},
		{ID: 2, Hypothesis: "SystemTimeHigh", State: "false", Samples: 6, Confidence: 0.9, Greater: true, Threshold: 0.5, Tests: []Test{{Begin: 2, Seconds: 1}, {Begin: 7, Seconds: 2}}},
		{ID: 3, Hypothesis: "CPUbound", State: "false", Samples: 60, Confidence: 0.9, Greater: true, Threshold: 0.3, Tests: []Test{{Begin: 0.3, Seconds: 29}}},
	}}
	var b strings.Builder
	r.writeRuledOut(&b)
	if text := b.String(); strings.Count(text, "measured until") != 1 || !strings.Contains(text, "90 % sure); measured until 9 s\n") {
		t.Error(text)
	}
}
