package check_test

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// TestManualIsComplete: whatever a text of PCL may hold is named in the reference.
func TestManualIsComplete(t *testing.T) {
	text, _ := cases.Manual(t)
	_, reference, _ := strings.Cut(text, "\n# Reference\n")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(reference, -1) {
		for _, w := range regexp.MustCompile(`\$?[A-Za-z_]\w*|\{[a-z]+\}|[^\w\s]+`).FindAllString(m[1], -1) {
			named[w] = true
		}
		named[m[1]] = true
	}
	total, missing := 0, 0
	for what, words := range vocabulary(t) {
		for _, w := range words {
			total++
			if !named[w] {
				missing++
				t.Errorf("the reference does not name the %s `%s`", what, w)
			}
		}
	}
	t.Logf("%d words of the language, %d not in the reference", total, missing)
}

// vocabulary is all that the source knows, by what it is.
func vocabulary(t *testing.T) map[string][]string {
	out := map[string][]string{
		"definition": syntax.Keywords, "kind": syntax.Kinds, "primitive": slices.Concat(slices.Sorted(maps.Keys(types.Timers)), slices.Sorted(maps.Keys(check.NotYet))),
		"name": append(slices.Sorted(maps.Keys(check.Environment)), "$function", "$line"), "list": slices.Sorted(maps.Keys(types.ListTypes)),
		"operator": slices.Sorted(maps.Keys(pcl.Operators)),
		"word":     wordsOfSource(t),
	}
	for _, p := range check.Placeholders {
		out["placeholder"] = append(out["placeholder"], "{"+p+"}")
	}
	for _, keyword := range syntax.Keywords {
		out["item of a "+keyword] = syntax.ItemNames(keyword)
	}
	for t, known := range check.Fields {
		out["field of "+t.String()] = slices.Sorted(maps.Keys(known))
	}
	for h, known := range check.Levels(cases.Load(t)) {
		out["type below "+h.String()] = known
	}
	for _, h := range check.Hierarchies() {
		out["hierarchy"] = append(out["hierarchy"], h.String())
	}
	return out
}

// wordsOfSource are the words that parser and checker ask for by name.
func wordsOfSource(t *testing.T) (words []string) {
	t.Helper()
	for _, f := range cases.SourceFiles(t, false) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if slices.Contains([]string{"expectWord", "acceptWord", "isWord", "oneOf"}, cases.CalledName(n)) {
					words = append(words, cases.Literals(n.Args)...)
				}
			case *ast.KeyValueExpr: // of the table of words that are items of a metric
				if list, ok := n.Value.(*ast.CompositeLit); ok && list.Type == nil {
					words = append(words, cases.Literals(list.Elts)...)
				}
			}
			return true
		})
	}
	if len(words) < 30 {
		t.Errorf("only these words were found in the source: %v", words)
	}
	return words
}
