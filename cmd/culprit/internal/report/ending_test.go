package report

import "testing"

func TestEnding(t *testing.T) {
	for code, want := range map[int]string{0: "exit code 0", 1: "exit code 1", 128: "exit code 128", 137: "exit code 137 (SIGKILL)", 139: "exit code 139 (SIGSEGV)", 255: "exit code 255", -1: "exit code -1"} {
		if got := Ending(code); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}
