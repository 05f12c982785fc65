package syntax

import (
	"slices"
	"strings"
)

// DidYouMean returns ` (did you mean "x"?)` for the candidate that is nearest to s, or "" if none is near.
// Near is at most two changed, missing or added characters, and at most half of the word.
func DidYouMean(s string, candidates []string) string {
	if best := Nearest(s, candidates); best != "" {
		return ` (did you mean "` + best + `"?)`
	}
	return ""
}

// Nearest returns the candidate nearest to s, the first one of equals, or "" if none is near.
func Nearest(s string, candidates []string) string {
	best, bestDistance := "", 3
	for _, c := range candidates {
		if d := distance(s, c); d < bestDistance && 2*d <= max(len(s), len(c)) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the edit distance of a and b, or 3 if it is surely more than 2.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 || len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Similar returns up to n candidates that somebody may have meant by s, best first: those that are near, as Nearest has it, then those that
// hold it or that it holds.
func Similar(s string, candidates []string, n int) []string {
	const far = 3
	var by [far + 1][]string
	lower := strings.ToLower(s)
	for _, c := range candidates {
		d := distance(s, c)
		small := strings.ToLower(c)
		switch {
		case d < far && 2*d <= max(len(s), len(c)):
		case len(s) > 2 && strings.Contains(small, lower), len(c) > 2 && strings.Contains(lower, small):
			d = far
		default:
			continue
		}
		by[d] = append(by[d], c)
	}
	slices.SortStableFunc(by[far], func(a, b string) int { return len(a) - len(b) })
	all := slices.Compact(slices.Concat(by[:]...))
	return all[:min(n, len(all))]
}
