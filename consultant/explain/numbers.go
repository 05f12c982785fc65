package explain

import (
	"fmt"
	"math"
	"strconv"
)

// Percent writes a fraction: "72 %", and small ones with more digits.
func Percent(v float64) string {
	p := v * 100
	switch a := math.Abs(p); {
	case a == 0 || a >= 9.95:
		return fmt.Sprintf("%.0f %%", p)
	case a >= 0.995:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.2g %%", p)
}

// Quantity writes a number in at most four digits with k, M or G.
func Quantity(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e4, " k"}} {
		if math.Abs(v) >= u.size {
			if u.name == " k" {
				return fmt.Sprintf("%.3g k", v/1e3)
			}
			return fmt.Sprintf("%.3g%s", v/u.size, u.name)
		}
	}
	if v == math.Trunc(v) || math.Abs(v) >= 999.5 { // %.3g would write 2.54e+03
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// amount writes a number of things as people say it: "5.5", "6", "120".
func amount(v float64) string {
	switch a := math.Abs(v); {
	case a >= 9.95, math.Abs(v-math.Round(v)) < 0.05 && a >= 0.5:
		return fmt.Sprintf("%.0f", v)
	case a >= 0.095:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.1g", v)
}

// Seconds writes a time: "3.1 s".
func Seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }

// Count writes a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// sure writes a confidence rounded down, so that nothing is ever 100 % sure.
func sure(c float64) string { return fmt.Sprintf("%d %%", int(math.Min(c*100, 99))) }

// Takes says by what probes take time: their executions a second at so many points, and the share of time that the accounting at context switches takes
// (0: none).
func Takes(rate float64, points int, accounting float64) string {
	text := fmt.Sprintf("%s executions a second at %s", Quantity(rate), Count(points, "point", "points"))
	if accounting > 0 {
		text += fmt.Sprintf("; eBPF accounting at context switches alone costs %s", Percent(accounting))
	}
	return text
}
