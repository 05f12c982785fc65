package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

const head = `// Cause: All threads wait
// for one lock.
// Right: ExcessiveSyncWaitingTime | SchedulingDelay at lock table and find()
// Right: CPUbound at *
//
// Never: pipe
// Never: thread logger
// Args: 4 FILE DIR/sub
// Flags: -lm
// Processes: tree
#include <stdio.h>
// Right: none
`

func TestExpectation(t *testing.T) {
	e, err := parseExpectation(head)
	if err != nil {
		t.Fatal(err)
	}
	if e.cause != "All threads wait for one lock." || e.healthy || e.category() != "waiting" {
		t.Errorf("%+v", e)
	}
	if len(e.right) != 2 || strings.Join(e.right[0].hypotheses, "+") != "ExcessiveSyncWaitingTime+SchedulingDelay" {
		t.Fatalf("right: %+v", e.right)
	}
	if got := e.right[0].places; len(got) != 2 || got[0] != (place{lockKind, "table"}) || got[1] != (place{functionKind, "find"}) {
		t.Errorf("places: %v", got)
	}
	if got := e.right[1].places; len(got) != 1 || got[0].kind != anyPlace {
		t.Errorf("places: %v", got)
	}
	if len(e.never) != 2 || e.never[0].String() != "pipe" || e.never[1].String() != "thread logger" {
		t.Errorf("never: %v", e.never)
	}
	if strings.Join(e.flags, " ") != "-lm" {
		t.Errorf("flags: %q", e.flags)
	}
	dir := t.TempDir()
	args, err := e.arguments(dir)
	if err != nil || strings.Join(args, " ") != "4 "+dir+"/FILE "+dir+"/DIR/sub" {
		t.Errorf("arguments: %q, %v", args, err)
	}
	if s, err := os.Stat(filepath.Join(dir, "DIR")); err != nil || !s.IsDir() {
		t.Errorf("no directory: %v", err)
	}
}

func TestWrongExpectations(t *testing.T) {
	for text, want := range map[string]string{
		"int main(void);":                               "1: there is no line with Cause",
		"// Cause: x":                                   "1: there is no line with Right",
		"// Cause: x\n// Right: CPUbound in f()":        "2: expected HYPOTHESIS at PLACE",
		"// Cause: x\n// Right: CPUbound at f":          `2: "f" is no place`,
		"// Cause: x\n// Right: CPUbound at":            "2: expected HYPOTHESIS at PLACE",
		"// Cause: x\n// Right:  at f()":                "2: expected HYPOTHESIS at PLACE",
		"// Cause: x\n// Right: A| at f()":              "2: a hypothesis without a name",
		"// Cause: x\n// Right: A at lock a b":          `2: "lock a b" is no place`,
		"// Cause: x\n// Right: A at f() and":           `2: "f() and" is no place`,
		"// Cause: x\n// Right: A at f()\n// more":      `3: "more" has no key`,
		"// Cause: x\n// Wrong: f()":                    `2: unknown key "Wrong"`,
		"// Cause: x\n// Never: ()":                     `2: "()" is no place`,
		"// Cause: x\n// Processes: one":                "2: expected Processes: tree",
		"// Cause: x\n// Right: none\n// Right: A at *": "1: none is right, and something else",
	} {
		if e, err := parseExpectation(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %+v, should say %s", text, err, e, want)
		}
	}
	e, err := parseExpectation("// Cause: x\n// Right: none\n")
	if err != nil || !e.healthy || e.category() != healthyCategory {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestPrograms: the comment of each program can be read, knows only hypotheses that there are, and names what is in the source.
func TestPrograms(t *testing.T) {
	root := testprog.Root(t)
	all, err := programs(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 8 {
		t.Errorf("only %d programs", len(all))
	}
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.name] {
			t.Errorf("there are two programs called %s", s.name)
		}
		seen[s.name] = true
		checkHypotheses(t, s.name, s.expect)
		checkNames(t, s.name, s.expect, source(t, root, s.name))
	}
}

// source is the text of a program without the comment at its beginning, and of what it includes from beside it.
func source(t *testing.T, root, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "testdata", "culprits", name+".*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %q, %v", name, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "//") {
		lines = lines[1:]
	}
	own := strings.Join(lines, "")
	for line := range strings.Lines(own) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), `#include "`); is {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(files[0]), strings.TrimSuffix(name, `"`)))
			if err != nil {
				t.Fatal(err)
			}
			own += string(text)
		}
	}
	return own
}

func checkHypotheses(t *testing.T, name string, e *expectation) {
	t.Helper()
	for _, a := range e.right {
		for _, h := range a.hypotheses {
			if categoryOf(h) == "" {
				t.Errorf("%s: there is no hypothesis %s", name, h)
			}
		}
	}
}

// TestCategories: each hypothesis of the library belongs to a category.
func TestCategories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testprog.Root(t), "pcl", "lib", "*.pcl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range regexp.MustCompile(`(?m)^hypothesis (\w+)`).FindAllSubmatch(text, -1) {
			if categoryOf(string(h[1])) == "" {
				t.Errorf("%s belongs to no category", h[1])
			}
		}
	}
}

func checkNames(t *testing.T, name string, e *expectation, source string) {
	t.Helper()
	places := slices.Clone(e.never)
	for _, a := range e.right {
		places = append(places, a.places...)
	}
	for _, p := range places {
		last := p.name[strings.LastIndex(p.name, ":")+1:]
		pattern := strings.ContainsAny(last, "*?[") || last == "FILE"
		if (p.kind == functionKind || p.kind == lockKind) && !pattern && !hasWord(source, last) {
			t.Errorf("%s: %s is not in the source", name, p)
		}
	}
}
