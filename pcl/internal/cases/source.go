package cases

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

// SourceFiles are the files of pcl and of the packages below it, but for pcltest: those of tests, or the others.
func SourceFiles(t *testing.T, tests bool) (files []*ast.File) {
	t.Helper()
	root := testprog.Root(t)
	for _, dir := range []string{"pcl", "pcl/syntax", "pcl/types", "pcl/check", "pcl/compile"} {
		list, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			if strings.HasSuffix(name, "_test.go") != tests {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	return files
}

// CalledName is the name of what is called, without the package or the receiver.
func CalledName(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// Literals are the texts among expressions that are literals.
func Literals(list []ast.Expr) (out []string) {
	for _, e := range list {
		if l, ok := e.(*ast.BasicLit); ok {
			s, _ := strconv.Unquote(l.Value)
			out = append(out, s)
		}
	}
	return out
}

// manualFiles are the tutorial and, last, the reference, below the top directory.
var manualFiles = []string{"docs/pcl-tutorial.md", "docs/pcl-reference.md"}

// A fence is a fenced block of the manual.
type fence struct {
	Place      string // file and line of its first line
	Lang, name string
	Text       string
}

var fenced = regexp.MustCompile("(?ms)^```([a-z-]+)(?: ([a-z.]+))?\n(.*?)^```$")

// Manual returns the text of the reference of the language, and the blocks of it and of the tutorial in their order.
func Manual(t *testing.T) (text string, fences []fence) {
	t.Helper()
	for _, file := range manualFiles {
		b, err := os.ReadFile(filepath.Join(testprog.Root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
		for _, m := range fenced.FindAllStringSubmatchIndex(text, -1) {
			f := fence{Lang: text[m[2]:m[3]], Text: text[m[6]:m[7]]}
			f.Place = fmt.Sprintf("%s:%d", file, 2+strings.Count(text[:m[0]], "\n"))
			if m[4] >= 0 {
				f.name = text[m[4]:m[5]]
			}
			fences = append(fences, f)
		}
	}
	return text, fences
}
