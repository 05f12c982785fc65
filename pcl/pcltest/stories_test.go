package pcltest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// named are the stories that have to be told, by words of the first lines of the file that tells them.
var named = []string{
	"commands and bytes per redis command", "latency distribution of one C++ method for arguments above 1,000",
	"time in malloc when it is called from one module", "requests by nginx handler", "rows per postgres executor node",
	"retries counted at a source line", "exclusive against inclusive time of a recursive function",
	"time in a function only while another one is on the stack", "a hypothesis TooManyRetries that the search then uses and refines",
	"a Subsystem hierarchy with results under its names",
}

// TestStories: each of the named stories, and twenty in all, are told of programs that are installed, not of ones that are
// compiled for them.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../../testdata/pcl/story_*.pcltest")
	if err != nil {
		t.Fatal(err)
	}
	told, stories := "", 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, errs := Parse(filepath.Base(name), string(text))
		for _, e := range errs {
			t.Error(e.Detail())
		}
		installed := slices.DeleteFunc(f.Tests, compiled)
		for _, s := range installed {
			t.Logf("%-24s %s", filepath.Base(name), s.Name)
		}
		if stories += len(installed); len(installed) > 0 {
			told += head(string(text))
		}
	}
	t.Logf("%d stories of installed programs", stories)
	if stories < 20 {
		t.Errorf("only %d stories are told of installed programs", stories)
	}
	for _, n := range named {
		if !strings.Contains(told, n) {
			t.Errorf("no file says at its top that it tells %q", n)
		}
	}
}

// compiled reports whether a test makes its own program.
func compiled(t *Test) bool {
	return slices.ContainsFunc(t.Steps, func(s Step) bool { _, ok := s.(Compile); return ok })
}

// head is the comment that a file begins with, as one line.
func head(text string) string {
	comment := ""
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		comment += strings.TrimSpace(line[1:]) + " "
	}
	return comment
}
