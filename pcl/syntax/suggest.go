package syntax

import (
	"slices"
	"strings"
	"unicode"
)

// DidYouMean returns ` (did you mean "x"?)` for the candidate that Closest finds, or "" if it finds none. It is how every message
// of the language and of the command line suggests a name.
func DidYouMean(s string, candidates []string) string {
	if best := Closest(s, candidates); best != "" {
		return ` (did you mean "` + best + `"?)`
	}
	return ""
}

// Closest returns the candidate that s most likely stands for, the first one of equals, or "": the nearest one; else one whose words
// begin with the words of s ("proc_calls" for "procedure_calls"); else the shortest one that holds s, which has 4 letters at least.
func Closest(s string, candidates []string) string {
	if best := Nearest(s, candidates); best != "" {
		return best
	}
	if len(s) > maxSuggested {
		return ""
	}
	own := wordsOf(s)
	for _, c := range candidates {
		if len(c) <= maxSuggested && abbreviates(own, wordsOf(c)) {
			return c
		}
	}
	return holding(s, candidates)
}

// Nearest returns the candidate nearest to s, the first one of equals, or "" if none is near. Case never
// counts. Near is one that differs only in "_" and "-", and one with at most two changed, missing, added or exchanged characters, and at most half of the word.
func Nearest(s string, candidates []string) string {
	best, bestDistance := "", 3
	for _, c := range candidates {
		d := distance(s, c)
		if d > 1 && sameLetters(s, c) {
			d = 1
		}
		if d < bestDistance && 2*d <= max(len(s), len(c)) {
			best, bestDistance = c, d
		}
	}
	return best
}

// maxSuggested is how long a name may be, in bytes, to be compared with others.
const maxSuggested = 100

// sameLetters reports whether two names are the same but for case, "_" and "-".
func sameLetters(a, b string) bool {
	for {
		a, b = strings.TrimLeft(a, "_-"), strings.TrimLeft(b, "_-")
		if a == "" || b == "" {
			return a == b
		}
		if lower(a[0]) != lower(b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// distance is how many characters of a and b are changed, missing, added or exchanged with their neighbour, case left out, or 3 if it is
// surely more than 2.
func distance(a, b string) int {
	if len(a) > maxSuggested || len(b) > maxSuggested || len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if lower(a[i]) != lower(b[j]) {
				change++
			}
			next[j+1] = min(change, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
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

// wordsOf splits a name at "_", "-", and where a capital follows a small letter; the words are in small letters.
func wordsOf(s string) (words []string) {
	begin, last := 0, ' '
	cut := func(end int) {
		if end > begin {
			words = append(words, strings.ToLower(s[begin:end]))
		}
	}
	for i, r := range s {
		switch {
		case r == '_' || r == '-':
			cut(i)
			begin = i + 1
		case unicode.IsUpper(r) && !unicode.IsUpper(last):
			cut(i)
			begin = i
		}
		last = r
	}
	cut(len(s))
	return words
}

// abbreviates reports whether each word, of two at least, begins the word of full at its place; words of 3 letters at least count.
func abbreviates(short, full []string) bool {
	if len(short) < 2 || len(short) != len(full) {
		return false
	}
	for i := range short {
		if len(short[i]) < 3 && short[i] != full[i] || !strings.HasPrefix(full[i], short[i]) {
			return false
		}
	}
	return true
}

// holding is the shortest candidate that holds s.
func holding(s string, candidates []string) (best string) {
	if len(s) < 4 {
		return ""
	}
	for _, c := range candidates {
		if len(c) <= maxSuggested && strings.Contains(strings.ToLower(c), strings.ToLower(s)) && (best == "" || len(c) < len(best)) {
			best = c
		}
	}
	return best
}
