package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// distributions are some that differ in what has to be drawn.
func distributions() map[string]*Distribution {
	list := map[string]*Distribution{
		"few": {Unit: "s", Count: 1000, Mean: 0.0023, P50: 1.1e-3, P90: 1.1e-3, P99: 10.2e-3, P999: 52e-3, Max: 57.3e-3, Step: 1e-9,
			Buckets: []Bucket{{917504e-9, 1048576e-9, 900}, {8388608e-9, 10485760e-9, 90}, {50331648e-9, 58720256e-9, 10}}},
		"none": {Unit: "s", Mean: Missing(math.NaN()), P50: Missing(math.NaN()), P90: Missing(math.NaN()), P99: Missing(math.NaN()),
			P999: Missing(math.NaN()), Max: Missing(math.NaN())},
		"one": {Unit: "B", Count: 1, Mean: 70000, P50: 73727.5, P90: 73727.5, P99: 73727.5, P999: 73727.5, Max: 81919, Step: 1,
			Buckets: []Bucket{{65536, 81920, 1}}},
		"below zero": {Unit: "", Count: 13, Below: 3, Mean: -0.5, P50: 0, P90: 7, P99: 7, P999: 7, Max: 7, Step: 1,
			Buckets: []Bucket{{Missing(math.Inf(-1)), 0, 3}, {0, 1, 5}, {1, 2, 1}, {7, 8, 4}}},
		"all below zero": {Unit: "calls", Count: 3, Below: 3, Mean: -2, P50: Missing(math.Inf(-1)), P90: Missing(math.Inf(-1)), P99: Missing(math.Inf(-1)),
			P999: Missing(math.Inf(-1)), Max: Missing(math.Inf(-1)), Step: 1, Buckets: []Bucket{{Missing(math.Inf(-1)), 0, 3}}},
	}
	wide := &Distribution{Unit: "s", Step: 1e-9, Mean: 1, P50: 1e-6, P90: 0.1, P99: 10, P999: 1000, Max: 4e4}
	for e := 3; e < 45; e += 2 {
		low := math.Ldexp(1.25, e) * 1e-9
		wide.Buckets = append(wide.Buckets, Bucket{Missing(low), Number(low * 1.2), uint64(e * e)})
		wide.Count += uint64(e * e)
	}
	list["wide"] = wide
	return list
}

// TestDistributionText holds how distributions are told; charts are bounded, and every value is in one of their lines.
func TestDistributionText(t *testing.T) {
	var all strings.Builder
	for _, name := range []string{"few", "none", "one", "below zero", "all below zero", "wide"} {
		d := distributions()[name]
		all.WriteString(name + "\n")
		all.WriteString("  " + strings.Join(d.Lines(), "\n  ") + "\n")
		rows, n := d.rows(), uint64(0)
		for _, r := range rows {
			n += r.Count
		}
		if n != d.Count || len(rows) > chartRows {
			t.Errorf("%s: %d values in %d lines, want %d in at most %d", name, n, len(rows), d.Count, chartRows)
		}
	}
	golden(t, "distributions.txt", []byte(all.String()))
}

// TestDistributionJSON: the layout, lists that are never null, and numbers that are when there is no value.
func TestDistributionJSON(t *testing.T) {
	r := &Report{Pairs: []Pair{{Metric: "plain"}, {Metric: "none", Distribution: distributions()["none"]}, {Metric: "m", Distribution: distributions()["below zero"]}}}
	var b bytes.Buffer
	if err := r.Encode(&b); err != nil {
		t.Fatal(err)
	}
	var m struct{ Pairs []map[string]any }
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if _, there := m.Pairs[0]["distribution"]; there {
		t.Error("a pair without a distribution has one")
	}
	none := m.Pairs[1]["distribution"].(map[string]any)
	if none["p50"] != nil || none["count"] != 0.0 || len(none["buckets"].([]any)) != 0 {
		t.Errorf("a distribution without values: %v", none)
	}
	d := m.Pairs[2]["distribution"].(map[string]any)
	for _, k := range strings.Fields("unit count below_zero mean p50 p90 p99 p999 max step buckets") {
		if _, ok := d[k]; !ok {
			t.Errorf("%q is missing", k)
		}
	}
	first := d["buckets"].([]any)[0].(map[string]any)
	if first["low"] != nil || first["high"] != 0.0 || first["count"] != 3.0 {
		t.Errorf("the first bucket is %v", first)
	}
}

func TestScaled(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{{0, "s", "0 s"}, {1.5e-9, "s", "1.50 ns"}, {0.9996e-6, "s", "1.00 us"}, {12.34e-6, "s", "12.3 us"}, {123.4e-3, "s", "123 ms"}, {5000, "s", "5000 s"},
		{3e-10, "s", "0.30 ns"}, {17, "B", "17 B"}, {1234567, "B", "1.23 MB"}, {2e13, "calls", "20 Tcalls"}, {-2000, "B", "-2 kB"}, {0.5, "B", "0.50 B"}} {
		if got := scaled(c.v, c.unit); got != c.want {
			t.Errorf("%g %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
