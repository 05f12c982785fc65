package arrows

import (
	"path"
	"strings"
	"testing"
)

// How large things may be, tests not counted.
const (
	mostLines     = 4000 // of a package
	mostFiles     = 30   // in a directory
	mostFileLines = 600  // of a file
)

// larger are packages that may have more lines or files: what is being cut into smaller ones. A limit goes down with what leaves the
// package, and never up.
var larger = map[string]struct{ lines, files int }{
	"daemon/image": {5000, mostFiles},
}

func TestSizes(t *testing.T) {
	lines, files := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		n := strings.Count(s.text, "\n")
		lines[s.pkg] += n
		files[s.pkg]++
		if n > mostFileLines {
			t.Errorf("%s has %d lines, and a file may have %d: one concern a file", s.path, n, mostFileLines)
		}
	}
	for pkg, n := range lines {
		limit, ok := larger[pkg]
		if !ok {
			limit.lines, limit.files = mostLines, mostFiles
		}
		if n > limit.lines || files[pkg] > limit.files {
			t.Errorf("%s has %d lines in %d files, and may have %d in %d: cut it by who owns the state", path.Clean(pkg), n, files[pkg], limit.lines, limit.files)
		}
	}
}
