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

	"culprit/daemon/process"
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

// TestHelpIsWhatWasTyped: who may not remove probes is told the command that removes them, and no other one.
func TestHelpIsWhatWasTyped(t *testing.T) {
	for typed, want := range map[string]string{"culprit restore 7": "sudo culprit restore 7", "culprit attach --for 9s 7": "sudo culprit attach 7", "culprit": "sudo culprit attach 7"} {
		denied := &process.NotPermitted{PID: 7, Missing: "x", Command: "sudo culprit attach 7"}
		if helpAs(denied, strings.Fields(typed)); denied.Command != want {
			t.Errorf("%s: %s, expected %s", typed, denied.Command, want)
		}
	}
	none := &process.NotPermitted{PID: 7, Missing: "nobody may"}
	if helpAs(none, []string{"culprit", "restore", "7"}); none.Command != "" {
		t.Errorf("where nothing helps it says %s", none.Command)
	}
}
