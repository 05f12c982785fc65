package report

import "strings"

// Covers tells whether everything in g is also in f.
func (f Focus) Covers(g Focus) bool {
	for h, path := range f {
		if !pathCovers(h, path, g[h]) {
			return false
		}
	}
	return true
}

// pathDepth is the number of names in a path of a kind of input and output: its last one is the name of a file, slashes and all.
const pathDepth = 2

func pathCovers(hierarchy, outer, inner string) bool {
	if outer == inner {
		return true
	}
	if hierarchy == "IO" && DepthOf(hierarchy, outer) == pathDepth {
		return false // the file "/a" does not hold the file "/a/b"
	}
	return strings.HasPrefix(inner, outer+"/")
}

// DepthOf is how many names a path of a hierarchy selects below its root.
func DepthOf(hierarchy, path string) int {
	n := strings.Count(path, "/") - 1
	if hierarchy == "IO" {
		n = min(n, pathDepth)
	}
	return max(n, 1)
}

// hasStar tells whether the focus stands for whatever there is below a path.
func (f Focus) hasStar() bool {
	for _, path := range f {
		if strings.HasSuffix(path, "/*") {
			return true
		}
	}
	return false
}
