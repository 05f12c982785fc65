package process

//test:alone

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var long = flag.Bool("long", false, "run the long forms of the fault tests")

// helpers are what this test binary can be when it is started anew as another process: a tracer that is killed, or a user without rights.
var helpers = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if name := os.Getenv("PROCESS_TEST_HELPER"); name != "" {
		f := helpers[name]
		if f == nil {
			fmt.Fprintln(os.Stderr, "no such helper:", name)
			os.Exit(2)
		}
		os.Exit(f(os.Args[1:]))
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "process-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Chmod(dir, 0o755)
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
