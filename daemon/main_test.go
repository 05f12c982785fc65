package daemon

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

var long = flag.Bool("long", false, "run the long forms of the tests that need real processes")

// helperVariable names the environment variable that makes this test binary something else than a test: a culprit that is
// killed, for example.
const helperVariable = "DAEMON_TEST_HELPER"

// helpers are what it can be, by name.
var helpers = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		f := helpers[name]
		if f == nil {
			fmt.Fprintln(os.Stderr, "no such helper:", name)
			os.Exit(2)
		}
		os.Exit(f(os.Args[1:]))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// self starts this test binary anew as one of its helpers.
func self(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	return cmd
}

// rounds is how often a test repeats: quick in the ordinary run, with -long as often as it takes to be sure.
func rounds(quick, sure int) int {
	if *long {
		return sure
	}
	return quick
}
