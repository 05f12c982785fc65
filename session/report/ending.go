package report

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalled is what a shell adds to the signal that ended a program.
const signalled = 128

// Ending is how a program ended, by its exit code as a shell tells it, for people: "exit code 1", "exit code 139 (SIGSEGV)".
func Ending(code int) string {
	if name := unix.SignalName(syscall.Signal(code - signalled)); code > signalled && name != "" {
		return fmt.Sprintf("exit code %d (%s)", code, name)
	}
	return fmt.Sprintf("exit code %d", code)
}
