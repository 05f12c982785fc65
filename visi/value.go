package visi

import (
	"math"
	"strconv"
	"strings"
)

// FormatValue writes a value with three significant digits and its unit. Units that take SI prefixes (s, B, Hz and rates
// of them, such as B/s) get them: "1.50 MB/s", "320 µs". Counts and other words get k, M, G, T on the number when it is
// large: "1.33 M calls/s", "0.720 CPUs". "fraction" is shown in percent. A gap is "-".
func FormatValue(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return joinUnit(strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "+"), "", unit)
	case unit == "fraction":
		return strconv.FormatFloat(v*100, 'f', 1, 64) + " %"
	}
	number, prefix := scale(v, takesPrefix(unit))
	if takesPrefix(unit) {
		return joinUnit(number, "", prefix+unit)
	}
	return joinUnit(number, prefix, unit)
}

func joinUnit(parts ...string) string {
	var words []string
	for _, p := range parts {
		if p != "" {
			words = append(words, p)
		}
	}
	return strings.Join(words, " ")
}

// takesPrefix reports a unit whose symbol an SI prefix may be put before. Ratios of the same unit (s/s) are read as
// plain numbers.
func takesPrefix(unit string) bool {
	switch unit {
	case "s", "B", "Hz", "B/s", "bit/s":
		return true
	}
	return false
}

var largePrefixes = []string{"", "k", "M", "G", "T", "P", "E"}
var smallPrefixes = []string{"", "m", "µ", "n"}

// scale chooses the power of 1,000 so that 1 to 3 digits stand before the point.
func scale(v float64, small bool) (number, prefix string) {
	i := 0
	for math.Abs(rounded(v)) >= 1000 && i < len(largePrefixes)-1 {
		v /= 1000
		i++
	}
	if i > 0 {
		return digits(v), largePrefixes[i]
	}
	for small && v != 0 && math.Abs(rounded(v)) < 1 && i < len(smallPrefixes)-1 {
		v *= 1000
		i++
	}
	return digits(v), smallPrefixes[i]
}

// rounded is the value as three digits show it, so that 999.9 becomes 1 k rather than 1000.
func rounded(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	return r
}

// digits writes a number with three significant digits, a whole one without a point.
func digits(v float64) string {
	switch a := math.Abs(rounded(v)); {
	case v == 0:
		return "0"
	case v == math.Trunc(v) && a < 1e6:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case a >= 1e6 || a < 1e-4:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2-int(math.Floor(math.Log10(a))), 64)
	}
}

// FormatTime writes a time of the session: "0.4 s", "12.0 s", "3m20s", "1h05m".
func FormatTime(seconds float64) string {
	switch {
	case gap(seconds):
		return "-"
	case seconds < 0:
		return "-" + FormatTime(-seconds)
	case seconds < 59.95:
		return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
	case seconds >= 1e9:
		return strconv.FormatFloat(seconds, 'e', 1, 64) + " s"
	}
	s := int64(math.Round(seconds))
	if s < 3600 {
		return strconv.FormatInt(s/60, 10) + "m" + twoDigits(s%60) + "s"
	}
	return strconv.FormatInt(s/3600, 10) + "h" + twoDigits(s%3600/60) + "m"
}

func twoDigits(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// asciiText replaces what the plots and values of this package use beyond ASCII.
var asciiText = strings.NewReplacer("µ", "u", "…", "~", "│", "|", "┤", "+", "└", "+", "─", "-", "┴", "+", "·", "?")

// ASCII rewrites text that this package made for a terminal that shows ASCII only. Plots are drawn in ASCII instead.
func ASCII(s string) string { return asciiText.Replace(s) }
