package pcl

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// GlobRegexp translates a glob: "*" is any text, "?" any character; everything else is itself (names of C++ hold
// brackets).
func GlobRegexp(glob string) string {
	var sb strings.Builder
	for _, r := range glob {
		switch r {
		case '*':
			sb.WriteString(".*")
		case '?':
			sb.WriteString(".")
		default:
			sb.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return sb.String()
}

// Matcher returns the test of whether a name matches a pattern of a resourceList, as Env.Matching is to apply it: a glob covers
// the whole name, a regular expression is found anywhere in it. A bad regular expression matches nothing.
func Matcher(pattern string, regex bool) func(name string) bool {
	if !regex {
		return func(name string) bool { return matchGlob(pattern, name) }
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return func(string) bool { return false }
	}
	return re.MatchString
}

// matchGlob is several times as quick as a regular expression. The last "*" takes as little as it can, and more when what
// follows does not fit; those before it need not be tried again.
func matchGlob(glob, name string) bool {
	behind, taken := -1, 0 // behind the last "*" in glob, and up to where it takes of name
	g, n := 0, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			g++
			behind, taken = g, n
		case g < len(glob) && glob[g] == '?':
			_, w := utf8.DecodeRuneInString(name[n:])
			g, n = g+1, n+w
		case g < len(glob) && glob[g] == name[n]:
			g, n = g+1, n+1
		case behind >= 0:
			_, w := utf8.DecodeRuneInString(name[taken:])
			taken += w
			g, n = behind, taken
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
