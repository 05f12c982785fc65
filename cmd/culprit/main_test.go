package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// beCulprit is set in the environment of processes in which the test binary is culprit.
const beCulprit = "CULPRIT_TEST_IS_CULPRIT"

// TestMain lets the scripts and tests call this very binary as culprit.
func TestMain(m *testing.M) {
	if os.Getenv(beCulprit) == "1" {
		main()
	}
	testscript.Main(m, map[string]func(){"culprit": main})
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
