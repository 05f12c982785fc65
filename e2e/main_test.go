// Package e2e measures real programs through the real binary, as a user would: redis-server, sysbench, the programs of
// testdata/targets, and everything that can be wrong with a target. It holds tests only.
//
// It knows culprit by its command line, its exit status, its messages and the JSON of its report, and imports nothing of
// the house but internal/... . Each session is checked for what every session promises (session_test.go). Tests that
// compare times run alone; those whose targets are idle run side by side. The long forms run with -long or CULPRIT_LONG=1.
package e2e

//test:alone

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var longFlag = flag.Bool("long", false, "run the long forms: more calls, more rounds, longer sessions")

// long reports whether the long forms were asked for.
func long() bool { return *longFlag || os.Getenv("CULPRIT_LONG") == "1" }

// culprit is the path of the program that all tests run.
var culprit string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "culprit-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	sockets := filepath.Join(dir, "run") // a culprit that is killed leaves its socket
	if err := os.Mkdir(sockets, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("XDG_RUNTIME_DIR", sockets)
	culprit = filepath.Join(dir, "culprit")
	build := exec.Command("go", "build", "-o", culprit, "./cmd/culprit")
	build.Dir = ".."
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ./cmd/culprit: %v\n%s", err, text)
		return 1
	}
	return m.Run()
}
