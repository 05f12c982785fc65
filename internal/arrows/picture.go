// Package arrows checks which package may import which, and how large each may be (ARCHITECTURE.md): its tests hold the
// rules, and Picture draws the imports that there are.
package arrows

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The lines of ARCHITECTURE.md between which the picture stands.
const (
	PictureBegins = "<!-- picture: make picture -->"
	PictureEnds   = "<!-- end of picture -->"
)

// module is in front of the name of each package of the house.
const module = "culprit/"

// Picture draws the packages below a directory and what they import of each other, as a Mermaid graph from the top down. What a package
// reaches over others is not drawn again; nor are tests, and packages of internal/, which anybody may import.
func Picture(root string) (string, error) {
	imports, err := importsBelow(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("```mermaid\ngraph TD\n")
	for _, room := range rooms(imports) {
		fmt.Fprintf(&b, "  subgraph %s\n", room)
		for _, pkg := range inRoom(imports, room) {
			fmt.Fprintf(&b, "    %s[%s]\n", id(pkg), pkg)
		}
		b.WriteString("  end\n")
	}
	for _, pkg := range sorted(imports) {
		for _, to := range direct(imports, pkg) {
			fmt.Fprintf(&b, "  %s --> %s\n", id(pkg), id(to))
		}
	}
	b.WriteString("```\n")
	return b.String(), nil
}

// Redraw puts the picture into a text, between its two lines. The error is that they are not there.
func Redraw(text, picture string) (string, error) {
	before, rest, ok := strings.Cut(text, PictureBegins+"\n")
	_, after, ok2 := strings.Cut(rest, PictureEnds)
	if !ok || !ok2 {
		return "", fmt.Errorf("the lines %q and %q are not in it", PictureBegins, PictureEnds)
	}
	return before + PictureBegins + "\n" + picture + PictureEnds + after, nil
}

// importsBelow is what the packages import of the house, by their directories.
func importsBelow(root string) (map[string][]string, error) {
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (slices.Contains([]string{"testdata", "build", "bench", "e2e", "internal"}, d.Name()) || strings.HasPrefix(d.Name(), ".")) && !strings.Contains(file, "cmd"+string(filepath.Separator)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		return addImports(imports, root, file)
	})
	for pkg, list := range imports {
		slices.Sort(list)
		imports[pkg] = slices.Compact(list)
	}
	return imports, err
}

func addImports(imports map[string][]string, root, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		return err
	}
	pkg := filepath.ToSlash(rel)
	imports[pkg] = append(imports[pkg], []string{}...)
	for _, spec := range f.Imports {
		name, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
		if ok && !strings.HasPrefix(name, "internal/") {
			imports[pkg] = append(imports[pkg], name)
		}
	}
	return nil
}

// direct are the imports of a package that none of its other imports reaches.
func direct(imports map[string][]string, pkg string) (list []string) {
	for _, to := range imports[pkg] {
		if !slices.ContainsFunc(imports[pkg], func(over string) bool { return over != to && reaches(imports, over, to) }) {
			list = append(list, to)
		}
	}
	return list
}

func reaches(imports map[string][]string, from, to string) bool {
	return slices.ContainsFunc(imports[from], func(next string) bool { return next == to || reaches(imports, next, to) })
}

// rooms are the first parts of names.
func rooms(imports map[string][]string) (list []string) {
	for _, pkg := range sorted(imports) {
		list = append(list, room(pkg))
	}
	return slices.Compact(list)
}

func room(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

func inRoom(imports map[string][]string, r string) (list []string) {
	for _, pkg := range sorted(imports) {
		if room(pkg) == r {
			list = append(list, pkg)
		}
	}
	return list
}

func sorted(imports map[string][]string) (list []string) {
	for pkg := range imports {
		list = append(list, pkg)
	}
	slices.Sort(list)
	return list
}

// id is a name that Mermaid takes.
func id(pkg string) string { return strings.ReplaceAll(path.Clean(pkg), "/", "_") }
