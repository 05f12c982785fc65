// Package require says what a test needs from the machine: root, a tool, a feature of the kernel.
//
// If something is missing, the test is skipped with the reason. With CULPRIT_REQUIRE_ALL=1, as in CI, the test fails instead, so
// that no skip goes unnoticed. It imports nothing of the project. Its functions are called from the test's own goroutine.
package require

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// AllVariable names the environment variable that turns every skip into a failure when it is "1".
const AllVariable = "CULPRIT_REQUIRE_ALL"

// Skip ends the test because what is missing: as skipped, or as failed where all must be present.
func Skip(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(AllVariable) == "1" {
		t.Fatalf("this machine lacks what the test needs (%s=1 forbids to skip it): %s", AllVariable, what)
	}
	t.Skip(what)
}

// Skipf is Skip with a format.
func Skipf(t testing.TB, format string, args ...any) {
	t.Helper()
	Skip(t, fmt.Sprintf(format, args...))
}

// That goes on with the test if ok holds, and ends it with the reason if not.
func That(t testing.TB, ok bool, reason string) {
	t.Helper()
	if !ok {
		Skip(t, reason)
	}
}

// Root goes on if the test runs as root.
func Root(t testing.TB) {
	t.Helper()
	That(t, os.Geteuid() == 0, "needs root: run the tests as root, or in a container that has CAP_SYS_PTRACE and CAP_PERFMON")
}

// Tool goes on if the program is in PATH, and returns its path.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	That(t, err == nil, "needs the program "+name+": scripts/install-packages installs it on Debian")
	return path
}

// Long goes on if the long form of the tests was asked for with CULPRIT_LONG=1. It skips even where all must be
// present: the long forms are a choice, not a lack of the machine.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("CULPRIT_LONG") != "1" {
		t.Skip("a long form: CULPRIT_LONG=1 or make long runs it")
	}
}
