package pcltest

import (
	"strconv"
	"strings"
)

// A View is what of a pair's values is looked at.
type View string

// The views. Default is the sum where growth is measured, and the average where samples are. Count and Mean, and those of which
// Quantile knows the share, are of single values and need a metric that keeps a distribution.
const (
	Default View = ""
	Sum     View = "sum"     // over the time measured: calls, bytes, seconds
	Average View = "average" // per second for what grows, else the mean
	Min     View = "min"     // the smallest bin, per second for what grows
	Max     View = "max"
	Last    View = "last"  // the last bin, likewise
	Count   View = "count" // how many values there were
	Mean    View = "mean"  // of one value
)

// views are the words for a view; p and a number is another.
var views = []string{string(Sum), string(Average), string(Min), string(Max), string(Last), string(Count), string(Mean)}

// Quantile is the share of all values, 0 to 1, that the view's value is not below: 0.5 for p50, 0.999 for p99.9. ok is false for
// other views.
func (v View) Quantile() (share float64, ok bool) {
	digits, ok := strings.CutPrefix(string(v), "p")
	if !ok || digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	share, err := strconv.ParseFloat(digits+"e-2", 64)
	return share, err == nil && share <= 1
}

// OfValues reports whether the view is of single values.
func (v View) OfValues() bool {
	_, quantile := v.Quantile()
	return quantile || v == Count || v == Mean
}

// isView reports whether a word says what is looked at.
func isView(word string) bool { return contains(views, word) || View(word).OfValues() }
