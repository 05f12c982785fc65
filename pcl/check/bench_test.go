package check_test

//test:alone

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
	"culprit/pcl/lib"
	"culprit/pcl/syntax"
)

// mostGrowth is how much more a line of a long text may take than one of a short text.
const mostGrowth = 2

// longText is at least 5,000 lines of metrics as people write them: the default library again and again, each time with
// names of its own.
func longText(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	for _, f := range lib.Files() {
		all.WriteString(f.Text)
	}
	tree, errs := syntax.Parse("all", all.String())
	if len(errs) > 0 {
		t.Fatal(errs[0].Detail())
	}
	own := map[string]bool{}
	for _, d := range tree.Defs {
		own[d.Name] = true
		for _, it := range d.Items {
			if len(it.Values) > 0 {
				name := it.Values[0].Text
				own[name] = it.Key == "name" || it.Key == "" || own[name]
			}
			if it.Def != nil {
				own[it.Def.Name] = true
			}
		}
	}
	var sb strings.Builder
	for i := 0; strings.Count(sb.String(), "\n") < 5000; i++ {
		sb.WriteString(regexp.MustCompile(`\w+`).ReplaceAllStringFunc(all.String(), func(w string) string {
			if own[w] {
				return fmt.Sprintf("%s_%d", w, i)
			}
			return w
		}))
	}
	return sb.String()
}

// TestLoadSpeed: what a line costs does not grow with the number of lines: of 5,000 each takes about as long as of the default library's.
func TestLoadSpeed(t *testing.T) {
	text := longText(t)
	load := func(o check.Options) func() {
		return func() {
			if _, problems, err := check.Load(o); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
		}
	}
	long, small := cases.Quickest(t, load(check.Options{NoDefault: true, Texts: []string{text}})), cases.Quickest(t, load(check.Options{}))
	lines, own := strings.Count(text, "\n"), 0
	for _, f := range lib.Files() {
		own += strings.Count(f.Text, "\n")
	}
	each, ownEach := long/time.Duration(lines), small/time.Duration(own)
	t.Logf("%d lines, %d KB: %v, %v each; the default library: %v, %v each", lines, len(text)>>10, long, each, small, ownEach)
	if each > mostGrowth*ownEach {
		t.Errorf("want at most %d times as much for each line", mostGrowth)
	}
}

func BenchmarkLoadLong(b *testing.B) {
	text := longText(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, problems, err := check.Load(check.Options{NoDefault: true, Texts: []string{text}}); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, problems, err := check.Load(check.Options{}); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}
