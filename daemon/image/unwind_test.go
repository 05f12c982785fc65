package image

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/image/unwind"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// sleeperC calls itself by name through known functions, gets a signal while it sleeps, and in the handler prints its own
// backtrace() and sleeps again.
const sleeperC = `
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#define NI __attribute__((noinline,noclone))
volatile int depth;
static void nap(void) { struct timespec t = { 60, 0 }; nanosleep(&t, 0); }
NI void handler_inner(void) {
	void *pc[64];
	int n = backtrace(pc, 64);
	for (int i = 0; i < n; i++) printf("%p ", pc[i]);
	printf("\n");
	fflush(stdout);
	nap(); depth++;
}
NI void handler(int s) { handler_inner(); depth++; }
NI void third(int n) { char b[300]; snprintf(b, sizeof b, "%d", n); depth += b[0]; raise(SIGUSR1); depth++; }
NI void second(int n) { if (n > 0) second(n - 1); else third(n); depth++; }
NI void first(void) { volatile char big[5000]; big[3] = 1; second(3); depth++; }
int main(void) { signal(SIGUSR1, handler); void *warm[4]; backtrace(warm, 4); first(); return 0; }`

// TestUnwindSleeping unwinds a program that blocks in nanosleep within a signal handler, and compares the frames with what the
// program found by itself and with gdb.
func TestUnwindSleeping(t *testing.T) {
	for _, flags := range []string{"-O2", "-O0 -fno-omit-frame-pointer", "-O2 -no-pie -fno-pie", "-O2 -static"} {
		t.Run(strings.ReplaceAll(flags, " ", ""), func(t *testing.T) { unwindSleeper(t, flags) })
	}
}

func unwindSleeper(t *testing.T, flags string) {
	lockToCPU(t)
	cmd := exec.Command(testprog.BuildSource(t, sleeperC, strings.Fields(flags)...))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	waitAsleep(t, cmd.Process.Pid)
	gdb := gdbFrames(t, cmd.Process.Pid)
	got, names := attachAndUnwind(t, cmd.Process.Pid)
	want := addresses(t, line)
	// The first of the program's own frames is inside handler_inner, behind the call of backtrace; ours is behind nap's.
	i := indexName(names, "handler_inner")
	if i < 0 {
		t.Fatalf("handler_inner is not on the stack: %v", names)
	}
	if fmt.Sprintf("%x", got[i+1:]) != fmt.Sprintf("%x", want[1:]) {
		t.Errorf("frames behind the handler\n  unwound     %x\n  backtrace() %x\n  names %v", got[i+1:], want[1:], names)
	}
	for _, f := range []string{"handler", "third", "second", "first", "main"} {
		if indexName(names, f) < 0 {
			t.Errorf("%s is not on the stack: %v", f, names)
		}
	}
	if gdb != nil && differ(gdb, got) {
		t.Errorf("gdb says %x, unwound %x", gdb, got)
	}
}

func indexName(names []string, f string) int {
	for i, n := range names {
		if n == f {
			return i
		}
	}
	return -1
}

func addresses(t *testing.T, line string) (out []uint64) {
	for f := range strings.FieldsSeq(line) {
		var v uint64
		if _, err := fmt.Sscanf(f, "0x%x", &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, v)
	}
	return out
}

// waitAsleep waits until the child is blocked in clock_nanosleep (230).
func waitAsleep(t *testing.T, pid int) {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid)); bytes.HasPrefix(b, []byte("230 ")) {
			return
		}
	}
	t.Fatal("the child does not sleep")
}

// gdbFrames asks gdb for the PCs of the stack, 0 where gdb does not print one (the signal frame); nil where there is no gdb that
// can tell. Without debug files, because with them it lists inlined functions as frames.
func gdbFrames(t *testing.T, pid int) (pcs []uint64) {
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Log("no gdb to compare with")
		return nil
	}
	out, err := exec.Command("gdb", "-nx", "-batch", "-iex", "set debug-file-directory /nonexistent", "-p", fmt.Sprint(pid), "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-ex", "bt").Output()
	if err != nil {
		t.Logf("gdb does not attach: %v", err)
		return nil
	}
	for l := range strings.Lines(string(out)) {
		var n int
		var v uint64
		if k, _ := fmt.Sscanf(l, "#%d 0x%x in", &n, &v); k >= 1 {
			pcs = append(pcs, v)
		}
	}
	return pcs
}

// differ compares PCs; 0 in a stands for any.
func differ(a, b []uint64) bool {
	for i := range a {
		if i >= len(b) || a[i] != 0 && a[i] != b[i] {
			return true
		}
	}
	return len(a) < len(b)
}

// attachAndUnwind stops the child and walks its stack to the end.
func attachAndUnwind(t *testing.T, pid int) (pcs []uint64, names []string) {
	if err := unix.PtraceSeize(pid); err != nil {
		require.Skipf(t, "needs ptrace: %v", err)
	}
	if err := unix.PtraceInterrupt(pid); err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.PtraceDetach(pid) }()
	c := &tracee{t: t, pid: pid}
	var err error
	if c.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", pid)); err != nil {
		t.Fatal(err)
	}
	defer c.mem.Close()
	c.readMaps()
	for r := c.regs(); len(pcs) < 100; {
		m := c.at(r.LookupPC())
		if m == nil {
			t.Fatalf("frame %d: %#x is in no object", len(pcs), r.RIP)
		}
		f := m.o.FunctionAt(r.LookupPC() - m.bias)
		name := "?"
		if f != nil {
			name = f.Name
		}
		pcs, names = append(pcs, r.RIP), append(names, name)
		next, _, err := m.o.Unwind(r.LookupPC()-m.bias, r, m.bias, c.word)
		if errors.Is(err, unwind.ErrStackEnd) {
			return pcs, names
		}
		if err != nil {
			t.Fatalf("frame %d (%s in %s): %v", len(pcs), name, filepath.Base(m.o.Name()), err)
		}
		r = next
	}
	t.Fatal("the stack does not end")
	return nil, nil
}

// TestNoCFI holds the errors of addresses without frame information and of damaged stacks.
func TestNoCFI(t *testing.T) {
	o := openFile(t, testprog.BuildSource(t, testprog.SwitchC, "-O2"), "prog")
	mem := func(uint64) (uint64, error) { return 0, errors.New("unreadable") }
	if _, _, err := o.Unwind(1, unwind.Regs{}, 0, mem); !errors.Is(err, unwind.ErrNoCFI) {
		t.Errorf("address 1: %v", err)
	}
	f := one(t, o, "fib")
	if _, _, err := o.Unwind(f.Addr, unwind.Regs{RIP: f.Addr, RSP: 4096}, 0, mem); err == nil || !strings.Contains(err.Error(), "unreadable") {
		t.Errorf("unreadable memory: %v", err)
	}
	if _, _, err := o.Unwind(f.Addr, unwind.Regs{RIP: f.Addr, Lost: 1 << 7}, 0, mem); err == nil {
		t.Error("rsp is not known, and no error")
	}
	if _, _, err := o.Unwind(one(t, o, "_start").Addr, unwind.Regs{RSP: 4096}, 0, mem); !errors.Is(err, unwind.ErrStackEnd) {
		t.Errorf("_start: %v", err)
	}
}
