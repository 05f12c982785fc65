package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestPCLTestSaysWhatWentWrong: what cannot be done in a test is one line with its place, and the rest of the test is left.
func TestPCLTestSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	require.Root(t)
	for name, c := range map[string]struct{ text, want string }{
		"no such program": {"start /no/such/program\nmeasure\nexpect cpu < 1", "2:1: /no/such/program cannot be started"},
		"it ends early":   {"start sh -c 'echo bye; exit 3'\nawait line READY\nmeasure\nexpect cpu < 1", `3:1: sh has ended with 3 and has printed no line like "READY"`},
		"wrong status":    {"start sh -c 'exit 3'\nawait end 4\nmeasure\nexpect cpu < 1", "3:1: sh has ended with 3, expected 4"},
		"too late":        {"start sleep 100\nawait line x within 300ms\nmeasure\nexpect cpu < 1", `3:1: sleep has printed no line like "x" within 300ms`},
		"nobody listens":  {"start sleep 100\nawait socket s within 200ms\nmeasure\nexpect cpu < 1", "3:1: not there after 200ms"},
		"command fails":   {"run sh -c 'echo broken; exit 5'\nstart true\nmeasure\nexpect cpu < 1", "2:1: sh ended with 5: broken"},
		"no source":       {"compile nowhere.c\nstart true\nmeasure\nexpect cpu < 1", "2:1: it does not compile"},
		"bad source":      {"compile bad.c\n  int main(void) { retrun 0; }\nstart true\nmeasure\nexpect cpu < 1", "retrun"},
		"it has ended":    {"start true\nawait end 0\nmeasure\nexpect cpu < 1", "4:1: "},
		"not ours":        {"run sh -c 'echo parent $PPID'\ntake pid 'parent ([0-9]+)'\nstart sleep 100\nmeasure $pid\nexpect cpu < 1", "was not started by this test"},
		"no number":       {"start sleep 100\ntake pid '.*'\nmeasure $pid\nexpect cpu < 1", "no line of output"},
		"no truth":        {"start sh -c 'echo COUNT a 1; sleep 100'\nawait line COUNT\nmeasure\nexpect cpu < $b", "printed were: a"},
		"zero":            {"start sleep 100\nmeasure\nexpect cpu < 1 / 0", "a division by 0"},
		"measured":        {"start sleep 100\nmeasure\nexpect cpu error 'never'", `it was measured, expected the error "never"`},
		"no values":       {"start sleep 100\nmeasure\nexpect cpu p50 < 1", `cpu p50: nothing was measured: "p50" is of single values`},
		"not the answer":  {"start sh -c 'while :; do :; done'\nmeasure\nsearch for 3s\nexpect hypothesis CPUbound false", `hypothesis CPUbound: true (value `},
		"not reached":     {"start sleep 100\nmeasure\nsearch for 1s\nexpect hypothesis CPUbound at /Code/sleep/nowhere tested", `untested: the search has not come to /Code/sleep/nowhere`},
		"it was tested":   {"start sh -c 'while :; do :; done'\nmeasure\nsearch for 3s\nexpect hypothesis CPUbound untested", `true (value `},
		"another error":   {"start sleep 100\nmeasure\nexpect nope error 'never'", `unknown metric`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "t.pcltest")
			if err := os.WriteFile(file, []byte("test "+name+"\n"+c.text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			out, status := pclTest(t, file)
			if status != statusFailed || !strings.Contains(out, c.want) || !strings.Contains(out, "1 failed\n") {
				t.Errorf("exit status %d, should say %s:\n%s", status, c.want, out)
			}
		})
	}
}

// TestPCLTestKilled: when culprit is killed in the middle of a test, the kernel ends the programs that it started.
func TestPCLTestKilled(t *testing.T) {
	t.Parallel()
	require.Root(t)
	dir := t.TempDir() // also for the test's own directory, which stays behind
	file := filepath.Join(dir, "t.pcltest")
	if err := os.WriteFile(file, []byte("test x\nstart sh -c 'trap \"\" TERM; echo PID $$; while :; do sleep 0.05; done'\nawait line PID\nsleep 1m\nmeasure\nexpect cpu < 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(culprit, "pcl", "test", "-v", file)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	p := testprog.StartCmd(t, cmd)
	pid := strings.Fields(p.Expect(t, "      | sh: PID", 20*time.Second))[3]
	p.Signal(t, syscall.SIGKILL)
	p.Wait(t, 10*time.Second)
	for range 100 {
		if state := stateOf(pid); state == "" || state == "Z" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %s goes on: %s", pid, stateOf(pid))
}

// stateOf is the letter of a process's state, "" if there is none.
func stateOf(pid string) string {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}
