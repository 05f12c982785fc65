package pcl_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

// mistakesFile holds typical mistakes: "== NAME", the text, "--", and the answer, "LINE:COLUMN: MESSAGE". TestMistakes -rewrite writes
// the answers anew.
const mistakesFile = "testdata/mistakes.txt"

// A mistake is a text with what is said of it first.
type mistake struct{ name, text, answer string }

func mistakes(t *testing.T) (list []mistake) {
	t.Helper()
	b, err := os.ReadFile(mistakesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(b), "\n== ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		text, answer, ok := strings.Cut(rest, "\n--\n")
		if !ok {
			t.Fatalf("%s: no answer", name)
		}
		list = append(list, mistake{name, text, strings.TrimSpace(answer)})
	}
	return list
}

// answer is what is said of a text first: an error, or a warning.
func answer(t *testing.T, text string) string {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: []string{text}})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) == 0 {
		problems = cases.WarningsOf(lib, "-e[1]")
	}
	if len(problems) == 0 {
		return "no errors"
	}
	p := problems[0]
	return strings.TrimPrefix(p.Error(), p.Pos.File.Name+":")
}

// TestMistakes: what people are likely to get wrong is answered with its place, what was found, and what would work.
func TestMistakes(t *testing.T) {
	list := mistakes(t)
	var sb strings.Builder
	foreign := 0
	for _, m := range list {
		got := answer(t, m.text)
		fmt.Fprintf(&sb, "== %s\n%s\n--\n%s\n\n", m.name, m.text, got)
		if strings.HasPrefix(m.name, "C++") || strings.HasPrefix(m.name, "Rust") {
			foreign++
		}
		if got != m.answer && !*rewrite {
			t.Errorf("%s: got  %s\nwant %s", m.name, got, m.answer)
		}
		if !strings.Contains(got, "expected ") || !strings.Contains(got, "found ") && !strings.Contains(got, "is missing") {
			t.Errorf("%s: it does not say what was found and what was expected: %s", m.name, got)
		}
	}
	if *rewrite {
		if err := os.WriteFile(mistakesFile, []byte(sb.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d mistakes, %d of them of users of C++ and Rust", len(list), foreign)
	if len(list) < 60 || 3*foreign < len(list) {
		t.Error("too few mistakes")
	}
}
