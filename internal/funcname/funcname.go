// Package funcname writes names of functions as the source has them. It knows what compilers add to names, and nothing of programs or files.
package funcname

import (
	"regexp"
	"strings"
)

// marks are what compilers add to the names of copies and parts of functions, as symbols and as demanglers have them: "f.isra.0",
// "f(int) [clone .isra.0]".
var marks = regexp.MustCompile(`((\.(isra|constprop|part|cold|lto_priv|llvm)\.[0-9]+)+| \[clone [^\]]*\])+$`)

// AsWritten is a name without what compilers add to it.
func AsWritten(name string) string { return marks.ReplaceAllString(name, "") }

// partOfName ends what stands before a bracket that belongs to a name: "operator()", "(anonymous namespace)::f", "pkg.(*T).Get".
var partOfName = regexp.MustCompile(`(^|[/.:]|operator)$`)

// Brief is AsWritten without the parameters of a C++ function. A module may stand in front: "a.cc/f(int)" is "a.cc/f".
func Brief(name string) string {
	name = AsWritten(name)
	depth := 0
	for i, c := range name {
		switch c {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if before := name[:i]; depth == 0 && !partOfName.MatchString(before) {
				return strings.TrimSpace(before)
			}
		}
	}
	return name
}
