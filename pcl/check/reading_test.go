package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"culprit/pcl/internal/cases"
)

// TestReadings: what expectations read, in which unit, and that <= and >= hold at the threshold.
func TestReadings(t *testing.T) {
	lib := cases.Load(t, `expect E {
		cpu <= 0.5;
		cpu >= 0.5 at "/Code/work.c";
		not cpu <= 0.5;
		p99(io_latency) < 0.01;
		p95(io_size) - p50(io_size) < 1000;
		count(io_latency) > 3;
		io_bytes / io_ops < 64;
		io_bytes / max(cpu, 1) > 2;
		2 * sync_wait / active_threads@"/" < 1;
		-mean(io_latency) < 0;
		CPUbound;
	}`)
	get := func(string) float64 { return 0.5 }
	want := []string{
		`cpu | <= CPUs | true`,
		`cpu | >= CPUs | true`,
		`cpu | <= CPUs | false`,
		`p99(io_latency) | < s | false`,
		`p95(io_size) p50(io_size) | < B | true`,
		`count(io_latency) | > values | false`,
		`io_bytes io_ops | < B per ops | true`,
		`io_bytes cpu | > B/s per CPUs | false`,
		`sync_wait active_threads@/ | < s/s per threads | false`,
		`mean(io_latency) | < s | true`,
		`cpu_inclusive cpu@/ run_queue_wait@/ number_of_cpus@/ active_threads@/ ready_after_wait@/ | >  | false`,
	}
	for i, e := range lib.Expects()[0].Of {
		var names []string
		for _, r := range e.Readings {
			name := r.Name
			if r.Whole {
				name += "@/"
			}
			names = append(names, name)
		}
		got := fmt.Sprintf("%s | %s %s | %v", strings.Join(names, " "), e.Relation(), e.Unit, e.Holds(get))
		if got != want[i] {
			t.Errorf("%s: got  %s\nwant %s", e.Text, got, want[i])
		}
	}
	e := lib.Expects()[0].Of[1]
	if k := e.Key(e.Readings[0]); k.String() != "cpu@/Code/work.c" {
		t.Errorf("read at %v", k)
	}
	if e := lib.Expects()[0].Of[4]; !slices.Equal(e.Metrics, []string{"io_size"}) || e.Readings[0].View != "p95" {
		t.Errorf("%+v", e)
	}
}
