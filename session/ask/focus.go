package ask

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"culprit/pcl/syntax"
	"culprit/session/report"
)

// same tells whether two foci select the same.
func same(f, g report.Focus) bool { return maps.Equal(f, g) }

func depth(f report.Focus) (n int) {
	for h, path := range f {
		n += report.DepthOf(h, path)
	}
	return n
}

// meant is the focus of a report that differs from f in the parameters of a function alone, which f leaves out; f where there is none, or several.
func meant(r *report.Report, f report.Focus) report.Focus {
	var found report.Focus
	for i := range r.Nodes {
		g := r.Nodes[i].Focus
		switch {
		case same(f, g):
			return f
		case !alikeBut(f, g) || found != nil && same(found, g):
		case found != nil:
			return f
		default:
			found = g
		}
	}
	if found == nil {
		return f
	}
	return found
}

// alikeBut tells that g is f with parameters behind the function.
func alikeBut(f, g report.Focus) bool {
	if len(f) != len(g) {
		return false
	}
	for h, path := range f {
		if g[h] != path && !(h == "Code" && strings.HasPrefix(g[h], path+"(")) {
			return false
		}
	}
	return true
}

// mostNearest bounds the foci that are named where one is not known.
const mostNearest = 4

// nearest are the foci where a hypothesis was tested that a focus may be meant for, the most likely first: one with a similar name, one with the same last
// name elsewhere, what it is a part of, what are parts of it, and what are parts of the same.
func nearest(r *report.Report, f report.Focus) (list []report.Focus) {
	foci := map[string]report.Focus{}
	var texts []string
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if g := n.Focus; foci[g.String()] == nil && verdictOf(n) != Never {
			foci[g.String()] = g
			texts = append(texts, g.String())
		}
	}
	add := func(text string) {
		if g := foci[text]; g != nil && !slices.ContainsFunc(list, func(h report.Focus) bool { return same(g, h) }) && len(list) < mostNearest {
			list = append(list, g)
		}
	}
	for _, text := range texts {
		if alikeBut(f, foci[text]) {
			add(text)
		}
	}
	add(syntax.Nearest(f.String(), texts))
	add(likeName(f, foci, texts))
	for _, text := range related(f, foci, texts) {
		add(text)
	}
	return list
}

// likeName is the focus with the last name that is most like that of f, in the same hierarchy; "" if there is none.
func likeName(f report.Focus, foci map[string]report.Focus, texts []string) string {
	if len(f) != 1 {
		return ""
	}
	var names, of []string
	for _, text := range texts {
		for h := range f {
			if g := foci[text]; len(g) == 1 && g[h] != "" {
				names, of = append(names, lastName(g[h])), append(of, text)
			}
		}
	}
	for _, path := range f {
		if i := slices.Index(names, syntax.Closest(lastName(path), names)); i >= 0 {
			return of[i]
		}
	}
	return ""
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// related are the foci of a report that cover f, the narrowest first, and those that f covers, the widest first.
func related(f report.Focus, foci map[string]report.Focus, texts []string) (list []string) {
	var above, below []string
	for _, text := range texts {
		switch g := foci[text]; {
		case same(f, g):
		case g.Covers(f):
			above = append(above, text)
		case f.Covers(g):
			below = append(below, text)
		}
	}
	byDepth := func(sign int) func(a, b string) int {
		return func(a, b string) int {
			return cmp.Or(sign*cmp.Compare(depth(foci[a]), depth(foci[b])), strings.Compare(a, b))
		}
	}
	slices.SortFunc(above, byDepth(-1))
	slices.SortFunc(below, byDepth(1))
	return slices.Concat(above[:min(len(above), 1)], below, beside(f, foci, texts))
}

// beside are the foci of a report that are parts of the same as f.
func beside(f report.Focus, foci map[string]report.Focus, texts []string) (list []string) {
	for _, text := range texts {
		g := foci[text]
		for h, path := range f {
			if i := strings.LastIndexByte(path, '/'); len(f) == 1 && len(g) == 1 && i > 0 && strings.HasPrefix(g[h], path[:i+1]) {
				list = append(list, text)
			}
		}
	}
	slices.Sort(list)
	return list
}
