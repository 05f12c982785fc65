package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culprit/internal/testprog"
)

// cmdStatus is the script command `status N CMD ARG...`: it runs a command and wants exactly the exit status N. Output is
// left for stdout and stderr, as with exec.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N CMD ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// TestStatusesInHelp: the help of the program lists each exit status that the reference and the README have.
func TestStatusesInHelp(t *testing.T) {
	reference := readFile(t, "docs/output.md")
	rows := regexp.MustCompile(`(?m)^\| ([0-9]+) \| `).FindAllStringSubmatch(reference, -1)
	if len(rows) < 8 {
		t.Fatalf("docs/output.md lists %d statuses", len(rows))
	}
	_, said, _ := strings.Cut(longHelp, "Exit status:")
	for _, row := range rows {
		if !regexp.MustCompile(`\b` + row[1] + ` [a-z]`).MatchString(said) {
			t.Errorf("the help does not have exit status %s: %s", row[1], said)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testprog.Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
