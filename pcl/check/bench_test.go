package check_test

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

// What loading may take on a machine with nothing else to do: 5,000 lines, and the default library at every start.
const (
	longLimit    = 50 * time.Millisecond
	defaultLimit = 5 * time.Millisecond
)

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

// TestLoadSpeed: 5,000 lines load in 50 ms.
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
	t.Logf("%d lines, %d KB: %v; the default library: %v", strings.Count(text, "\n"), len(text)>>10, long, small)
	if long > longLimit || small > defaultLimit {
		t.Errorf("want at most %v and %v", longLimit, defaultLimit)
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
