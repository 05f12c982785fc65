package pcl

import (
	"regexp"

	"culprit/pcl/syntax"
)

// An Exclusion is a pattern over "/Code/module" and "/Code/module/function".
type Exclusion struct {
	Pos     syntax.Pos
	Pattern *regexp.Regexp
}

// Excluded reports whether an exclude statement covers the function or its whole module; function may be "".
func (l *Library) Excluded(module, function string) bool {
	_, ok := l.Exclusion(module, function)
	return ok
}

// Exclusion is the exclude statement that covers the function or its whole module; function may be "".
func (l *Library) Exclusion(module, function string) (Exclusion, bool) {
	path := "/Code/" + module
	for _, x := range l.defs.Excludes {
		if x.Pattern.MatchString(path) || function != "" && x.Pattern.MatchString(path+"/"+function) {
			return x, true
		}
	}
	return Exclusion{}, false
}

// HasExcludes reports whether there are exclude statements.
func (l *Library) HasExcludes() bool { return len(l.defs.Excludes) > 0 }
