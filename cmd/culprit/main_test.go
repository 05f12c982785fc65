package main

//test:alone

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// beCulprit is set in the environment of processes in which the test binary is culprit.
const beCulprit = "CULPRIT_TEST_IS_CULPRIT"

// TestMain lets the scripts and tests call this very binary as culprit.
func TestMain(m *testing.M) {
	if path := os.Getenv(connectTo); path != "" && len(os.Args) == 2 && os.Args[1] == "connect" {
		connect(path)
	}
	if os.Getenv(beCulprit) == "1" {
		main()
	}
	testscript.Main(suite{m}, map[string]func(){"culprit": main})
}

// A suite runs the tests with a directory for sockets of their own: a culprit that is killed leaves its socket.
type suite struct{ m *testing.M }

// Run implements testscript.TestingM.
func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "culprit-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_RUNTIME_DIR", dir)
	return s.m.Run()
}

// TestScripts runs the sessions in testdata/script, which need no process to measure.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TESTS", mustGetwd())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": cmdStatus},
	})
}

func mustGetwd() string {
	dir, err := os.Getwd()
	if err != nil {
		panic("BUG: no working directory: " + err.Error())
	}
	return dir
}
