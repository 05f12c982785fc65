package visi

import (
	"math"
	"strings"
)

// The levels of a cell, from the lowest value to the highest. The lowest is visible: a gap is a space.
const (
	sparkLevels      = "▁▂▃▄▅▆▇█"
	sparkLevelsASCII = "_.-:=+*#"
)

// Sparkline draws the values in one line of exactly width cells. Levels go from 0 (or the smallest value if one is
// negative) to the largest. More values than cells are averaged, fewer stand at the left; a gap (NaN) is a space.
func Sparkline(values []float64, width int, ascii bool) string {
	width = cells(width)
	levels := []rune(sparkLevels)
	if ascii {
		levels = []rune(sparkLevelsASCII)
	}
	points := Resample(values, width)
	lo, hi := Range(points)
	var b strings.Builder
	for i := range width {
		if i >= len(points) || gap(points[i]) {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[level(points[i], lo, hi, len(levels))])
	}
	return b.String()
}

// Resample averages the values to at most n, each over its share of the input; gaps do not count, and where there is
// nothing else the result is a gap. Fewer values than n come back as they are.
func Resample(values []float64, n int) []float64 {
	if n <= 0 {
		return nil
	}
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = mean(values[i*len(values)/n : (i+1)*len(values)/n])
	}
	return out
}

func mean(values []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if !gap(v) {
			n++
			sum += (v - sum) / n // stays finite where a plain sum would not
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum
}

// Range is the scale for some series: from 0, or the smallest value if one is negative, to the largest. It is 0 to 1 if
// no value is above 0.
func Range(series ...[]float64) (lo, hi float64) {
	for _, values := range series {
		for _, v := range values {
			if !gap(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if hi == lo {
		hi = lo + 1
	}
	return lo, hi
}

// level is the step of n that a value is on; values out of range are on the first or last.
func level(v, lo, hi float64, n int) int {
	return min(max(int(share(v, lo, hi)*float64(n)), 0), n-1)
}

// share is where the value lies between lo and hi, from 0 to 1.
func share(v, lo, hi float64) float64 {
	d := hi/2 - lo/2 // halves, because the whole range may not be finite
	if !(d > 0) {
		return 0
	}
	return min(max((v/2-lo/2)/d, 0), 1)
}

// gap reports a value that cannot be drawn.
func gap(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
