package pcltest

import (
	"strings"

	"culprit/pcl/syntax"
)

// Text is the body without the blanks that all of its lines begin with. Empty lines do not count.
func (b *Body) Text() string {
	lines := strings.Split(b.Raw, "\n")
	indent := ""
	for i, l := range lines {
		if strings.Trim(l, " \t\r") == "" {
			lines[i] = ""
			continue
		}
		own := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if indent == "" {
			indent = own
		}
		indent = common(indent, own)
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, indent)
	}
	return strings.Join(lines, "\n")
}

// common is what two texts begin with.
func common(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// Place turns a place in Raw into one of the file.
func (b *Body) Place(pos syntax.Pos) syntax.Pos {
	return syntax.Pos{File: b.Pos.File, Off: b.Pos.Off + pos.Off, Line: b.Pos.Line + pos.Line - 1, Col: pos.Col}
}
