package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/internal/testprog"
)

// TestProgramInMemory: the code of a program that was started from a memory file is measured like any other, whatever the file is called, and that
// name is not taken for another file's.
func TestProgramInMemory(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "testdata/targets/called.c")
	for _, name := range []string{"program", "libc.so.6", "a/libc.so.6", "two\nlines"} {
		p := testprog.StartTarget(t, inMemory(t, name, bin), "1", "300")
		d := attachTo(t, p.PID)
		if o := d.targets[0].Code.Main(); !strings.HasPrefix(o.Name, "memfd:") {
			t.Errorf("%q: the program is taken to be %s", name, o.Name)
		}
		exact := truths{"procedure_calls@/Code/called.c/send_message": "messages"}
		got := across(t, d, p, exact.keys(t)...)
		exact.check(t, got, p.Counts(), 1, 0)
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}

// inMemory is a path by which a memory file with a program can be executed.
func inMemory(t *testing.T, name, bin string) (path string) {
	t.Helper()
	code, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close() // who may write to it keeps it from being executed
	_, err = file.Write(code)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), program.Fd())
}
