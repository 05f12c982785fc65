package words

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

// exceptions are the places where a retired word may stand, each with the reason.
var exceptions = []struct{ place, text, why string }{}

// A word is one line of testdata/retired-words.txt.
type word struct {
	pattern *regexp.Regexp
	instead string
}

// retired reads the list of words that are not used.
func retired(t *testing.T) []word {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testprog.Root(t), "testdata", "retired-words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []word
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, instead, ok := strings.Cut(line, " = ")
		re, err := regexp.Compile(`(?i)\b(?:` + pattern + `)\b`)
		if !ok || err != nil {
			t.Fatalf("retired-words.txt:%d: expected PATTERN = REPLACEMENT: %v", i+1, err)
		}
		all = append(all, word{re, instead})
	}
	if len(all) < 20 {
		t.Fatalf("only %d words are retired: the list was not read", len(all))
	}
	return all
}

var blanks = regexp.MustCompile(`\s+`)

// hold fails the test for each retired word in a text. Line ends count as blanks, so that a phrase may be broken there.
func hold(t *testing.T, words []word, place, text string) {
	t.Helper()
	flat := blanks.ReplaceAllString(text, " ")
	for _, w := range words {
		for _, m := range w.pattern.FindAllStringIndex(flat, -1) {
			around := flat[max(0, m[0]-40):min(len(flat), m[1]+40)]
			if !excepted(place, around) {
				t.Errorf("%s: %q is retired, use: %s\n\t... %s ...", place, flat[m[0]:m[1]], w.instead, around)
			}
		}
	}
}

func excepted(place, around string) bool {
	for _, e := range exceptions {
		if strings.HasPrefix(place, e.place) && strings.Contains(around, e.text) {
			return true
		}
	}
	return false
}

// codeSpans are names of code inside of prose: packages, fields, files. What they are called is not a matter of this test.
var (
	codeSpans = regexp.MustCompile("`[^`\n]+`")
	fences    = regexp.MustCompile("(?m)^```.*()$")
)

// TestDocuments holds that README and all documents use no retired word.
func TestDocuments(t *testing.T) {
	words := retired(t)
	for path, text := range documents(t) {
		hold(t, words, path, codeSpans.ReplaceAllString(blanks.ReplaceAllString(fences.ReplaceAllString(text, "\n$1"), " "), "`code`"))
	}
}

// seven are the words that README and the concepts explain before anything else.
var seven = []string{"target", "probe", "metric", "focus", "pair", "hypothesis", "tier"}

// TestGlossary holds that the glossary explains each word once, in one line and in order, that README and the concepts explain
// the seven first ones, and that a word of the glossary is used elsewhere.
func TestGlossary(t *testing.T) {
	docs := documents(t)
	rest := ""
	for path, text := range docs {
		if path != "docs/glossary.md" {
			rest += strings.ToLower(blanks.ReplaceAllString(text, " "))
		}
	}
	last, explained := "", map[string]bool{}
	for _, m := range entry.FindAllStringSubmatch(docs["docs/glossary.md"], -1) {
		name := strings.ToLower(m[1])
		if name == "word" || strings.HasPrefix(name, "---") {
			continue
		}
		if name <= last {
			t.Errorf("%q stands behind %q", name, last)
		}
		last = name
		for _, one := range strings.Split(name, ", ") {
			explained[one] = true
			if !strings.Contains(rest, one) {
				t.Errorf("%q is in no other document: take it from the glossary", one)
			}
		}
	}
	if len(explained) < 40 {
		t.Errorf("only %d words were found in the glossary", len(explained))
	}
	for _, w := range seven {
		if !explained[w] {
			t.Errorf("the glossary does not explain %q", w)
		}
		for _, path := range []string{"README.md", "docs/concepts.md"} {
			if !strings.Contains(docs[path], "\n| "+w+" | ") {
				t.Errorf("%s does not explain %q", path, w)
			}
		}
	}
}

// An entry is one line of a table with two columns.
var entry = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \|$`)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks holds that what documents link to is there: files, and headings in them.
func TestLinks(t *testing.T) {
	docs, count := documents(t), 0
	for from, text := range docs {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			count++
			file, heading, _ := strings.Cut(m[1], "#")
			to := from
			if file != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(from), file))
			}
			if _, err := os.Stat(filepath.Join(testprog.Root(t), to)); err != nil {
				t.Errorf("%s links to %s: %v", from, m[1], err)
			} else if heading != "" && !slices.Contains(headings(docs[to]), heading) {
				t.Errorf("%s links to %s: there is no such heading", from, m[1])
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d links were found", count)
	}
}

var (
	headline = regexp.MustCompile("(?m)^#+ (.*)$")
	noAnchor = regexp.MustCompile("[^a-z0-9 _-]")
	fence    = regexp.MustCompile("(?ms)^```.*?^```$")
)

// headings are the names by which links call the headings of a document.
func headings(text string) (names []string) {
	for _, m := range headline.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

// documents are the texts of all Markdown files at the top and below docs, by their paths.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root, all := testprog.Root(t), map[string]string{}
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(root, path)
		all[filepath.ToSlash(rel)] = string(text)
	}
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range top {
		add(path)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			add(path)
		}
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("%d documents were found: %v", len(all), err)
	}
	return all
}

// TestHelp holds that the help of no command uses a retired word. It asks the program itself.
func TestHelp(t *testing.T) {
	words, culprit := retired(t), testprog.BuildGo(t, "cmd/culprit")
	seen := 0
	var walk func(command ...string)
	walk = func(command ...string) {
		out, err := exec.Command(culprit, append(command, "--help")...).CombinedOutput()
		if err != nil {
			t.Fatalf("culprit %v --help: %v\n%s", command, err, out)
		}
		seen++
		hold(t, words, "culprit "+strings.Join(append(command, "--help"), " "), string(out))
		for _, sub := range subcommands(out) {
			walk(append(command[:len(command):len(command)], sub)...)
		}
	}
	walk()
	if seen < 15 {
		t.Errorf("only %d commands were found: the list of commands was not read", seen)
	}
}

// TestMakefile holds that the Makefile and the scripts, whose comments and messages people read, use no retired word.
func TestMakefile(t *testing.T) {
	words, root := retired(t), testprog.Root(t)
	files, err := filepath.Glob(filepath.Join(root, "scripts", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no script was found: %v", err)
	}
	for _, path := range append(files, filepath.Join(root, "Makefile"), filepath.Join(root, ".ci", "run")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(root, path)
		hold(t, words, rel, string(text))
	}
}

// subcommands are the names in the list of commands of a help text.
func subcommands(help []byte) (names []string) {
	_, list, _ := bytes.Cut(help, []byte("Available Commands:\n"))
	list, _, _ = bytes.Cut(list, []byte("\n\n"))
	for _, line := range strings.Split(string(list), "\n") {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" && name != "help" {
			names = append(names, name)
		}
	}
	return names
}

// TestMessages holds that no message uses a retired word: every string of more than one word in code that is no test.
func TestMessages(t *testing.T) {
	words, root, count := retired(t), testprog.Root(t), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "build" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		for _, lit := range sentences(file) {
			count++
			pos := fset.Position(lit.Pos())
			rel, _ := filepath.Rel(root, pos.Filename)
			text, _ := strconv.Unquote(lit.Value)
			hold(t, words, rel+":"+strconv.Itoa(pos.Line), text)
		}
		return nil
	})
	if err != nil || count < 1000 {
		t.Fatalf("%d messages were found: %v", count, err)
	}
}

// sentences are the string literals of a file that have a blank in them, but for the tags of fields.
func sentences(file *ast.File) (found []*ast.BasicLit) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.Contains(n.Value, " ") {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

var quoted = regexp.MustCompile(`"[^"\n]*"`)

// TestLibrary holds that what the default library says of its metrics and hypotheses uses no retired word.
func TestLibrary(t *testing.T) {
	words, root, count := retired(t), testprog.Root(t), 0
	files, err := filepath.Glob(filepath.Join(root, "pcl", "lib", "*.pcl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the library was not found: %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(root, path)
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, s := range quoted.FindAllString(line, -1) {
				count++
				hold(t, words, rel+":"+strconv.Itoa(i+1), s)
			}
		}
	}
	if count < 200 {
		t.Errorf("only %d strings were found in the library", count)
	}
}

// TestExceptions holds that the list of exceptions stays short and that each has a reason.
func TestExceptions(t *testing.T) {
	if len(exceptions) > 6 {
		t.Errorf("%d exceptions: reword the texts instead", len(exceptions))
	}
	for _, e := range exceptions {
		if e.why == "" {
			t.Errorf("%s %q: an exception needs a reason", e.place, e.text)
		}
	}
}
