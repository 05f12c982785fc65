package report

import (
	"fmt"
	"math"
	"strings"
)

// A Distribution tells how large the values of a pair were: what a call took, or what was added each time.
type Distribution struct {
	Unit  string `json:"unit"`       // of all values: "s", "B"
	Count uint64 `json:"count"`      // of values
	Below uint64 `json:"below_zero"` // of them, those below 0, which are smaller than all others
	// Mean is exact. The quantiles are the middle of a bucket, at most 12.5 % off; Max is what no value is above. They are null
	// where there are no values, or the value is below 0.
	Mean Missing `json:"mean"`
	P50  Missing `json:"p50"`
	P90  Missing `json:"p90"`
	P99  Missing `json:"p99"`
	P999 Missing `json:"p999"`
	Max  Missing `json:"max"`
	// Step is the unit that edges of buckets are whole multiples of.
	Step    Number   `json:"step"`
	Buckets []Bucket `json:"buckets"` // those that hold values, in order
}

// A Bucket counts the values from Low to below High. Low is null for values below 0.
type Bucket struct {
	Low   Missing `json:"low"`
	High  Number  `json:"high"`
	Count uint64  `json:"count"`
}

// normal is the distribution with a list of buckets that is never null.
func (d *Distribution) normal() *Distribution {
	if d == nil {
		return nil
	}
	c := *d
	c.Buckets = orEmpty(c.Buckets)
	return &c
}

// chartRows and chartWidth bound the chart of a distribution, in lines and characters.
const (
	chartRows  = 12
	chartWidth = 40
)

// Lines are what people want to know of it, and a chart of at most 12 lines, all in ASCII.
func (d *Distribution) Lines() []string {
	if d.Count == 0 {
		return []string{"no values"}
	}
	head := fmt.Sprintf("%d %s: mean %s, p50 %s, p90 %s, p99 %s, p99.9 %s, max at most %s", d.Count, plural(int(min(d.Count, 2)), "value"),
		d.value(d.Mean), d.value(d.P50), d.value(d.P90), d.value(d.P99), d.value(d.P999), d.value(d.Max))
	return append([]string{head}, d.chart()...)
}

func (d *Distribution) value(v Missing) string {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return "below 0"
	}
	return scaled(float64(v), d.Unit)
}

func (d *Distribution) chart() (lines []string) {
	rows := d.rows()
	var most uint64
	var edges []string
	width := 0
	for _, r := range rows {
		most = max(most, r.Count)
		edges = append(edges, d.edges(r))
		width = max(width, len(edges[len(edges)-1]))
	}
	for i, r := range rows {
		n := int(math.Round(chartWidth * float64(r.Count) / float64(most)))
		if r.Count > 0 {
			n = max(1, n)
		}
		lines = append(lines, fmt.Sprintf("  %*s %-*s %d", width, edges[i], chartWidth, strings.Repeat("#", n), r.Count))
	}
	return lines
}

// edges writes a range of values: times from edge to edge, whole numbers from the least to the largest.
func (d *Distribution) edges(b Bucket) string {
	low, high := d.value(b.Low), scaled(float64(b.High), d.Unit)
	if d.Unit != "s" {
		high = scaled(float64(b.High-d.Step), d.Unit)
	}
	if low == "below 0" || low == high {
		return low
	}
	return low + " to " + high
}

// rows are the lines of the chart: the buckets where they are few, else one row for each power of two, or for two, four, .. of them.
func (d *Distribution) rows() []Bucket {
	if len(d.Buckets) <= chartRows {
		return d.Buckets
	}
	for octaves := 1; ; octaves *= 2 {
		if rows := d.octaves(octaves); len(rows) <= chartRows || octaves >= 64 {
			return rows
		}
	}
}

// octaves merges buckets into rows of n powers of two each, without gaps. Values below 0 and 0 itself have rows of their own.
func (d *Distribution) octaves(n int) (rows []Bucket) {
	next, begun := 0, false // the row behind the last
	edge := func(row int) float64 { return math.Ldexp(float64(d.Step), row*n) }
	for _, bk := range d.Buckets {
		if !(bk.Low > 0) {
			rows = append(rows, bk)
			continue
		}
		row := int(math.Log2(float64(bk.Low/Missing(d.Step)))+1e-9) / n
		for begun && next < row {
			rows = append(rows, Bucket{Low: Missing(edge(next)), High: Number(edge(next + 1))})
			next++
		}
		if !begun || row == next {
			rows = append(rows, Bucket{Low: Missing(edge(row)), High: Number(edge(row + 1))})
			begun, next = true, row+1
		}
		rows[len(rows)-1].Count += bk.Count
	}
	return rows
}

// A prefix stands before a unit.
type prefix struct {
	of   float64
	name string
}

// scaled writes a value with a prefix before its unit: "1.03 ms", "70.2 kB", "17 calls".
func scaled(v float64, unit string) string {
	prefixes := []prefix{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
	if unit == "s" {
		prefixes = []prefix{{1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}}
	}
	last := prefixes[len(prefixes)-1]
	for _, p := range prefixes {
		if math.Abs(v) >= p.of*0.9995 {
			last = p
			break
		}
	}
	if v == 0 {
		last = prefix{1, ""}
	}
	return strings.TrimSuffix(three(v/last.of)+" "+last.name+unit, " ")
}

// three writes a number with three digits, or all of those before its point.
func three(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) || a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
