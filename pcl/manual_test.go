package pcl

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// manualFiles are the tutorial and, last, the reference.
var manualFiles = []string{"../docs/pcl-tutorial.md", "../docs/pcl-reference.md"}

// A fence is a fenced block of the manual.
type fence struct {
	place      string // file and line of its first line
	lang, name string
	text       string
}

var fenced = regexp.MustCompile("(?ms)^```([a-z-]+)(?: ([a-z.]+))?\n(.*?)^```$")

// manual returns the text of the reference, and the blocks of both files in their order.
func manual(t *testing.T) (text string, fences []fence) {
	t.Helper()
	for _, file := range manualFiles {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
		for _, m := range fenced.FindAllStringSubmatchIndex(text, -1) {
			f := fence{lang: text[m[2]:m[3]], text: text[m[6]:m[7]]}
			f.place = fmt.Sprintf("%s:%d", file, 2+strings.Count(text[:m[0]], "\n"))
			if m[4] >= 0 {
				f.name = text[m[4]:m[5]]
			}
			fences = append(fences, f)
		}
	}
	return text, fences
}

// TestManualExamples: every block of PCL in the manual loads behind those above it, without a problem or a warning, and
// its metrics compile to something that is inserted.
func TestManualExamples(t *testing.T) {
	_, fences := manual(t)
	env := newTarget()
	env.modules = append(env.modules, "shop.c")
	env.funcs = append(env.funcs, fakeFunc{70, "shop.c", []string{"take"}, nil}, fakeFunc{71, "shop.c", []string{"sell"}, []FuncID{70}},
		fakeFunc{72, "shop.c", []string{"audit"}, []FuncID{70}}, fakeFunc{63, "libc.so.6", []string{"read"}, nil}, fakeFunc{64, "libc.so.6", []string{"malloc"}, nil},
		fakeFunc{65, "shop.c", []string{"price"}, nil})
	var above []string
	examples, metrics, requests := 0, 0, 0
	for _, f := range fences {
		if f.lang != "pcl" {
			continue
		}
		examples++
		above = append(above, f.text)
		lib, problems, err := Load(Options{Texts: above})
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v %v", f.place, problems, err)
		}
		own := fmt.Sprintf("-e[%d]", len(above))
		for _, p := range lib.Warnings() {
			if p.Pos.File.Name == own {
				t.Errorf("%s: %s", f.place, p.Detail())
			}
		}
		tree, _ := syntax.Parse("", f.text)
		for _, d := range tree.Defs {
			if d.Keyword != "metric" {
				continue
			}
			plan, err := lib.Compile(d.Name, grid.Whole(), env)
			if err != nil || plan.Kind != Kernel && len(plan.Requests) == 0 {
				t.Errorf("%s: metric %s: %v, plan %v", f.place, d.Name, err, plan)
				continue
			}
			metrics++
			requests += len(plan.Requests)
		}
	}
	t.Logf("%d examples, %d metrics, %d requests", examples, metrics, requests)
	if examples < 10 || metrics < 5 {
		t.Error("the manual has hardly any examples")
	}
}

// TestManualIsComplete: whatever a text of PCL may hold is named in the reference.
func TestManualIsComplete(t *testing.T) {
	text, _ := manual(t)
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
		"definition": syntax.Keywords, "kind": syntax.Kinds, "primitive": slices.Concat(slices.Sorted(maps.Keys(timers)), slices.Sorted(maps.Keys(notYet))),
		"name": append(slices.Sorted(maps.Keys(environment)), "$function", "$line"), "list": slices.Sorted(maps.Keys(listTypes)),
		"quantity of the kernel": KernelNames, "operator": slices.Sorted(maps.Keys(operatorOf)),
		"word": wordsOfSource(t),
	}
	for _, p := range placeholders {
		out["placeholder"] = append(out["placeholder"], "{"+p+"}")
	}
	for _, keyword := range syntax.Keywords {
		out["item of a "+keyword] = syntax.ItemNames(keyword)
	}
	for t, known := range fields {
		out["field of "+t.String()] = slices.Sorted(maps.Keys(known))
	}
	for h, known := range levels {
		out["type below "+h.String()] = known
	}
	for _, h := range hierarchies() {
		out["hierarchy"] = append(out["hierarchy"], h.String())
	}
	return out
}

// wordsOfSource are the words that parser and checker ask for by name.
func wordsOfSource(t *testing.T) (words []string) {
	t.Helper()
	for _, f := range sourceFiles(t, false) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if slices.Contains([]string{"expectWord", "acceptWord", "isWord", "oneOf"}, calledName(n)) {
					words = append(words, literals(n.Args)...)
				}
			case *ast.KeyValueExpr: // of the table of words that are items of a metric
				if list, ok := n.Value.(*ast.CompositeLit); ok && list.Type == nil {
					words = append(words, literals(list.Elts)...)
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
