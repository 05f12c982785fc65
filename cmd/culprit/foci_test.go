package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// working is a program that computes, and waits for a mutex, a semaphore and a pipe.
func working(t *testing.T) *testprog.Prog {
	t.Helper()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
	p.Say(t, "go")
	p.MustBeat(t, 5*time.Second)
	return p
}

// TestMetricsOfATarget: each metric says from where it can come, and why not where the program has no code for it.
func TestMetricsOfATarget(t *testing.T) {
	t.Parallel()
	p := working(t)
	lib, err := loadLibrary(nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	list, err := metricsOf(context.Background(), lib, []string{strconv.Itoa(p.PID)})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]metricLine{}
	for _, m := range list {
		byName[m.Name] = m
		if m.Unit == "" || m.Doc == "" || m.HasCode == nil || len(m.Tiers) == 0 && m.Why == "" {
			t.Errorf("%+v", m)
		}
	}
	if len(list) != len(lib.Metrics()) {
		t.Errorf("%d of %d metrics", len(list), len(lib.Metrics()))
	}
	for name, want := range map[string]string{
		"cpu": "kernel,probe,sample", "exec_time_inclusive": "kernel,probe,sample", "sync_wait_inclusive": "probe,sample", "io_wait": "probe,sample",
		"procedure_calls": "probe", "lock_hold": "probe", "io_bytes": "probe", "active_threads": "kernel", "mpi_p2p_time": "-",
	} {
		if got := tierNames(byName[name].Tiers); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if m := byName["mpi_p2p_time"]; *m.HasCode || !strings.Contains(m.Why, "flavor mpi") {
		t.Errorf("%+v", m)
	}
	var b bytes.Buffer
	if err := writeMetrics(&b, list, true); err != nil || strings.Count(b.String(), "\n") != len(list) {
		t.Errorf("%v\n%s", err, b.String())
	}
	p.Stop(t)
}

// TestFoci lists the where axis of a program: its code, threads, locks and what it has open.
func TestFoci(t *testing.T) {
	t.Parallel()
	p := working(t)
	pid := strconv.Itoa(p.PID)
	opts := fociOptions{depth: 2, most: 1000, span: time.Second, asJSON: true}
	list := func(opts fociOptions, args ...string) (paths []string, lines map[string]focusLine) {
		t.Helper()
		var b bytes.Buffer
		if err := foci(context.Background(), &b, append([]string{pid}, args...), opts); err != nil {
			t.Fatal(err)
		}
		var all []focusLine
		if err := json.Unmarshal(b.Bytes(), &all); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		lines = map[string]focusLine{}
		for _, l := range all {
			paths, lines[l.Path] = append(paths, l.Path), l
			if _, err := grid.ParseFocus(l.Path); err != nil {
				t.Errorf("%s is no focus: %v", l.Path, err)
			}
		}
		return paths, lines
	}
	paths, lines := list(opts)
	for _, want := range []string{"/Code", "/Code/shares.c", "/Code/libc.so.6", "/Process/shares{" + pid + "}", "/SyncObject/Mutex", "/SyncObject/Semaphore", "/IO/Pipe"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is missing in %v", want, paths)
		}
	}
	if n := lines["/Code/shares.c"].Parts; n < 10 || lines["/Process/shares{"+pid+"}"].Parts != 4 || slices.Contains(paths, "/Code/shares.c/half") {
		t.Errorf("%d functions, %+v", n, lines)
	}
	if paths, _ := list(opts, "/Code/shares.c/wait_*"); !slices.Equal(paths, []string{"/Code/shares.c/wait_for_mail", "/Code/shares.c/wait_for_mutex", "/Code/shares.c/wait_for_ticket"}) {
		t.Errorf("%v", paths)
	}
	if paths, _ := list(opts, "gate_lock"); !slices.Equal(paths, []string{"/SyncObject/Mutex/gate_lock"}) {
		t.Errorf("%v", paths)
	}
	_, lines = list(opts, "thr_*")
	var labels []string
	for _, l := range lines {
		labels = append(labels, l.Label)
	}
	if slices.Sort(labels); len(labels) != 4 || !slices.Contains(labels, "visitor") || !slices.Contains(labels, "porter") {
		t.Errorf("threads began with %v", labels)
	}
	opts.asJSON, opts.most, opts.depth = false, 3, 3
	var b bytes.Buffer
	if err := foci(context.Background(), &b, []string{pid}, opts); err != nil || strings.Count(b.String(), "\n") != 4 || !strings.Contains(b.String(), "more: --max") {
		t.Errorf("%v\n%s", err, b.String())
	}
	p.Stop(t)
}
