package e2e

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
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

// lockInLookup is what there is to find in mutex.c.
var lockInLookup = finding{"ExcessiveSyncWaitingTime", []string{"/lookup", "/SyncObject/Mutex/cache_lock"}}

// TestBuilds: however a program was built and whatever was taken from its file, the answer is found; names as far as there
// are any.
func TestBuilds(t *testing.T) {
	for _, b := range []struct {
		name  string
		flags []string
		strip bool
	}{
		{"PIE", []string{"-fPIE", "-pie"}, false},
		{"not PIE", []string{"-no-pie"}, false},
		{"static", []string{"-static"}, false},
		{"static PIE", []string{"-static-pie", "-fPIE"}, false},
		{"stripped", nil, true},
		{"control-flow protection", []string{"-fcf-protection=full"}, false},
		{"no debug information", []string{"-g0"}, false},
		{"not optimised", []string{"-O0"}, false},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			require.Root(t)
			bin := testprog.Build(t, testprog.Target(t, "mutex.c"), b.flags...)
			if b.strip {
				bin = stripped(t, bin)
			}
			p := testprog.StartTarget(t, bin)
			place, words := lockInLookup, []string{"mutex cache_lock", "lookup"}
			if b.strip {
				place.at = []string{"/Code/stripped/[stripped+0x", "/SyncObject/Mutex/0x"}
				words = []string{"mutex 0x", "in [stripped+0x"}
			}
			found := searchFor(t, []finding{place}, fmt.Sprint(p.PID)).mustFind(t, place.hypothesis, words...)
			if len(found.HeldBy) == 0 || !strings.HasPrefix(found.HeldBy[0].Thread, "thr_") {
				t.Errorf("nobody is named who had the lock: %+v", found)
			}
			clean(t, p.PID)
			p.MustBeat(t, 10*time.Second)
			p.Stop(t)
		})
	}
}

// TestNoNames: nothing tells which functions of a static program without symbols wait for locks. That is no reason to say that
// it does not wait.
func TestNoNames(t *testing.T) {
	t.Parallel()
	require.Root(t)
	p := testprog.StartTarget(t, stripped(t, testprog.Build(t, testprog.Target(t, "mutex.c"), "-static")))
	r := search(t, 3*time.Second, statusUnknown, p.PID)
	for _, n := range r.Nodes {
		waits := n.Hypothesis == "ExcessiveSyncWaitingTime" || n.Hypothesis == "ExcessiveIOBlockingTime"
		if waits && (n.State == "false" || !strings.Contains(n.Reason, "stripped")) {
			t.Errorf("%s is %s: %s", n.Hypothesis, n.State, n.Reason)
		}
	}
	clean(t, p.PID)
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
}

// stripped is a copy of a program without its symbols.
func stripped(t *testing.T, bin string) string {
	t.Helper()
	strip := require.Tool(t, "strip")
	out := filepath.Join(t.TempDir(), "stripped")
	if text, err := exec.Command(strip, "-o", out, bin).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, text)
	}
	return out
}

// copied is a copy of a program under a path of the test.
func copied(t *testing.T, bin string) string {
	t.Helper()
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, "copy", b)
}

func written(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDeletedExecutable: an upgrade replaced the file of a running program.
func TestDeletedExecutable(t *testing.T) {
	t.Parallel()
	require.Root(t)
	bin := copied(t, testprog.Build(t, testprog.Target(t, "mutex.c")))
	p := testprog.StartTarget(t, bin)
	if err := os.Remove(bin); err != nil {
		t.Fatal(err)
	}
	searchFor(t, []finding{lockInLookup}, fmt.Sprint(p.PID)).mustFind(t, "ExcessiveSyncWaitingTime", "mutex cache_lock", "lookup")
	clean(t, p.PID)
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
}

// TestReplacedExecutable: another program lies at the path of the running one; its symbols must not be taken.
func TestReplacedExecutable(t *testing.T) {
	t.Parallel()
	require.Root(t)
	bin := copied(t, testprog.Build(t, testprog.Target(t, "mutex.c")))
	p := testprog.StartTarget(t, bin)
	decoy := copied(t, testprog.Build(t, testprog.Target(t, "cpu.c")))
	if err := os.Rename(decoy, bin); err != nil {
		t.Fatal(err)
	}
	searchFor(t, []finding{lockInLookup}, fmt.Sprint(p.PID)).mustFind(t, "ExcessiveSyncWaitingTime", "mutex cache_lock", "lookup")
	clean(t, p.PID)
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
}

// refused runs attach on a process that cannot be measured and wants the exit status and a message with all these words.
func refused(t *testing.T, pid, status int, words ...string) {
	t.Helper()
	s := start(t, "attach", "--no-tui", "--for", "2s", fmt.Sprint(pid)).want(status).says(words...)
	t.Log(s.errOut.String())
	if s.out.String() != "" {
		t.Errorf("it said something on standard output:\n%s", s.story())
	}
	if lines := strings.Count(s.errOut.String(), "\n"); lines != 1 {
		t.Errorf("%d lines instead of one message:\n%s", lines, s.story())
	}
}

func TestKernelThread(t *testing.T) {
	t.Parallel()
	require.Root(t)
	const kthreadd = 2
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", kthreadd))
	if comm, errComm := os.ReadFile(fmt.Sprintf("/proc/%d/comm", kthreadd)); err == nil || errComm != nil || string(comm) != "kthreadd\n" {
		t.Skipf("process 2 is no kernel thread here, as in a container: %s", link)
	}
	refused(t, kthreadd, statusFailed, "kernel thread")
}

func TestZombie(t *testing.T) {
	t.Parallel()
	require.Root(t)
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	for range 500 {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	refused(t, pid, statusFailed, fmt.Sprint(pid), "already ended")
}

// Test32Bit runs an i386 program of a few bytes, since the machine may have no compiler for it.
func Test32Bit(t *testing.T) {
	t.Parallel()
	require.Root(t)
	cmd := exec.Command(written(t, "i386", i386Program()))
	if err := cmd.Start(); err != nil {
		t.Skipf("this kernel does not run 32-bit programs: %v", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	refused(t, cmd.Process.Pid, statusFailed, "32-bit", "64-bit")
}

// i386Program calls pause for ever.
func i386Program() []byte {
	code := []byte{0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7} // mov $29,%eax; int $0x80; jmp back
	const base, head = 0x08048000, 52 + 32
	le := binary.LittleEndian
	b := make([]byte, head, head+len(code))
	copy(b, "\x7fELF\x01\x01\x01")
	le.PutUint16(b[16:], uint16(elf.ET_EXEC))
	le.PutUint16(b[18:], uint16(elf.EM_386))
	le.PutUint32(b[20:], 1)
	le.PutUint32(b[24:], base+head) // entry
	le.PutUint32(b[28:], 52)        // where the program headers begin
	le.PutUint16(b[40:], 52)
	le.PutUint16(b[42:], 32)
	le.PutUint16(b[44:], 1)
	size := uint32(head + len(code))
	for i, v := range []uint32{uint32(elf.PT_LOAD), 0, base, base, size, size, 5, 0x1000} {
		le.PutUint32(b[52+4*i:], v)
	}
	return append(b, code...)
}

// TestAlreadyTraced: the message names who traces the process; samples still tell what is slow, and the target is left alone.
func TestAlreadyTraced(t *testing.T) {
	t.Parallel()
	strace := require.Tool(t, "strace")
	p := target(t, "mutex.c")
	tracer := exec.Command(strace, "-qq", "-f", "-o", os.DevNull, "-e", "trace=none", "-p", fmt.Sprint(p.PID))
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tracer.Process.Kill(); _ = tracer.Wait() }()
	traced := func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
		return err == nil && !strings.Contains(string(status), "TracerPid:\t0\n")
	}
	for range 500 {
		if traced() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	start(t, "attach", "--no-tui", "--for", "2s", "--backend", "probe", fmt.Sprint(p.PID)).want(statusFailed).says("strace", "traced")
	r := start(t, "attach", "--no-tui", "--for", "2s", "--json", "@REPORT", fmt.Sprint(p.PID)).want(statusBottleneck).says("strace", "stack samples only").read()
	if len(r.Targets) != 1 || r.Targets[0].Backend != "sample" || !strings.Contains(r.Targets[0].Why, "strace") {
		t.Errorf("targets %+v", r.Targets)
	}
	_ = tracer.Process.Signal(os.Interrupt)
	_ = tracer.Wait()
	undisturbed(t, p, "mutex.c")
}

// TestTargetEnds: a program that ends or becomes another one in the middle of a search; what was found is in the report.
func TestTargetEnds(t *testing.T) {
	const twoSeconds = `#include "target.h"
#include <pthread.h>
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
NOINLINE void hold_lock(void) { pthread_mutex_lock(&own_lock); target_sleep_us(500); pthread_mutex_unlock(&own_lock); }
static void *body(void *arg) { for (;;) hold_lock(); return arg; }
int main(int argc, char **argv) {
	pthread_t t;
	target_start();
	for (int i = 0; i < 4; i++) pthread_create(&t, NULL, body, NULL);
	target_wait_go();
	if (argc > 1 && strcmp(argv[1], "exec") == 0) execl("/bin/sleep", "sleep", "3", (char *)NULL);
	if (argc > 1 && strcmp(argv[1], "abort") == 0) abort();
	return 5;
}
`
	for _, c := range []struct {
		name, how string
		children  bool // the other program is measured, too, until it ends
	}{{"exit", "exit", true}, {"exec", "exec", false}, {"exec is followed", "exec", true}, {"abort", "abort", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Root(t)
			p := testprog.StartTarget(t, testprog.Build(t, written(t, "ends.c", []byte(twoSeconds))), c.how)
			s := start(t, "attach", "--no-tui", "--for", "60s", "--json", "@REPORT", fmt.Sprintf("--children=%v", c.children), fmt.Sprint(p.PID))
			s.awaitProbes(p.PID)
			place := []finding{{"ExcessiveSyncWaitingTime", []string{"/hold_lock", "/SyncObject/Mutex/own_lock"}}}
			for since := time.Now(); len(s.open(place)) > 0 && time.Since(since) < longest; {
				time.Sleep(50 * time.Millisecond)
			}
			p.Say(t, "go")
			s.want(statusEnded)
			r := s.read()
			if r.End != "ended" || !r.Targets[0].Ended {
				t.Errorf("end %q, %+v", r.End, r.Targets[0])
			}
			r.mustFind(t, "ExcessiveSyncWaitingTime", "mutex own_lock", "hold_lock")
			if !strings.Contains(s.out.String(), "ended") || !strings.Contains(s.out.String(), "own_lock") {
				t.Error(s.story())
			}
			switch {
			case c.how == "exec" && !c.children:
				clean(t, p.PID)
			case c.how == "exec" && (len(r.Targets) != 2 || r.Targets[1].PID != p.PID || !strings.HasSuffix(r.Targets[1].Exe, "sleep")):
				t.Errorf("the other program was not measured: %+v", r.Targets)
			}
		})
	}
}

// TestFullDisk: the report has no room; the answer is printed, an old report stays, and the exit status says what happened.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	require.Tool(t, "unshare")
	p := target(t, "mutex.c")
	disk := t.TempDir()
	// The little disk exists only in a mount namespace of the shell, and vanishes with it.
	const script = `mount --make-rprivate / && mount -t tmpfs -o size=4k none "$1" && echo old >"$1/report" || exit 99
"$2" attach --no-tui --for 4s --json "$1/report" "$3"
status=$?
cat "$1/report"; ls "$1"; exit $status`
	s := startCmd(t, exec.Command("unshare", "-m", "sh", "-c", script, "sh", disk, culprit, fmt.Sprint(p.PID)))
	if s.status() == 99 {
		t.Skipf("no mount namespace may be made here:\n%s", s.story())
	}
	s.want(statusFailed).says("no space left on device")
	if out := s.out.String(); !strings.Contains(out, "cache_lock") || !strings.HasSuffix(out, "\nold\nreport\n") {
		t.Error(s.story())
	}
	undisturbed(t, p, "mutex.c")
}

// TestNotPermitted: somebody without rights learns what is missing and which command would help.
func TestNotPermitted(t *testing.T) {
	t.Parallel()
	p := target(t, "sleeper.c")
	cmd := exec.Command(publicCopy(t), "attach", "--no-tui", fmt.Sprint(p.PID))
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	startCmd(t, cmd).want(statusForbidden).says("not permitted", "CAP_SYS_PTRACE", "root", fmt.Sprintf("sudo culprit attach %d", p.PID))
	undisturbed(t, p, "sleeper.c")
}

// publicCopy is a culprit in a place where everybody may run it.
func publicCopy(t *testing.T) string { return publicCopyOf(t, culprit) }

// publicCopyOf is a program in such a place.
func publicCopyOf(t *testing.T, bin string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "culprit-public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile(bin)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "culprit"), b, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "culprit")
}

// TestFrozenProgram: of a program that its control group has frozen before nothing is known, and nothing is ruled out: also where its threads were in the
// middle of waits for a lock.
func TestFrozenProgram(t *testing.T) {
	require.Root(t)
	for _, source := range []string{"cpu.c", "mutex.c"} {
		t.Run(source, func(t *testing.T) { frozenProgram(t, source) })
	}
}

func frozenProgram(t *testing.T, source string) {
	p := target(t, source)
	group, file, freeze, thaw := "/sys/fs/cgroup/freezer/culprit-e2e", "freezer.state", "FROZEN", "THAWED"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group, file, freeze, thaw = "/sys/fs/cgroup/culprit-e2e", "cgroup.freeze", "1", "0"
	}
	group += fmt.Sprint(p.PID)
	write := func(name, text string) error { return os.WriteFile(filepath.Join(group, name), []byte(text), 0o600) }
	if err := os.Mkdir(group, 0o755); err != nil {
		require.Skip(t, err.Error())
	}
	t.Cleanup(func() {
		_ = write(file, thaw)
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
		for end := time.Now().Add(5 * time.Second); os.Remove(group) != nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		}
	})
	if err := write("cgroup.procs", fmt.Sprint(p.PID)); err != nil {
		t.Fatal(err)
	}
	if err := write(file, freeze); err != nil {
		t.Fatal(err)
	}
	s := start(t, "attach", "--no-tui", "--for", "3s", fmt.Sprint(p.PID)).want(statusUnknown)
	for _, said := range []string{"it is frozen by its control group (" + group, "nothing is known of what it does when it runs"} {
		if !strings.Contains(s.out.String(), said) {
			t.Errorf("%q is not in\n%s", said, s.out.String())
		}
	}
	if strings.Contains(s.out.String(), "Ruled out") {
		t.Errorf("something is ruled out in a program that stands still:\n%s", s.out.String())
	}
	if err := write(file, thaw); err != nil {
		t.Fatal(err)
	}
	undisturbed(t, p, source)
}

// TestStoppedProgram: that a program which somebody has stopped does not wait is no all-clear, and it is told how it goes on.
func TestStoppedProgram(t *testing.T) {
	p := target(t, "cpu.c")
	p.Signal(t, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(p.PID, syscall.SIGCONT) })
	s := start(t, "attach", "--no-tui", "--for", "3s", fmt.Sprint(p.PID)).want(statusUnknown)
	for _, said := range []string{fmt.Sprintf("kill -CONT %d", p.PID), "nothing is known of what it does when it runs"} {
		if !strings.Contains(s.out.String(), said) {
			t.Errorf("%q is not in\n%s", said, s.out.String())
		}
	}
	if strings.Contains(s.out.String(), "Ruled out") {
		t.Errorf("something is ruled out in a program that stands still:\n%s", s.out.String())
	}
	p.Signal(t, syscall.SIGCONT)
	undisturbed(t, p, "cpu.c")
}

// TestStoppedInTheMiddle: a program that somebody stops while it is searched. What was found before stands, with when it was measured last; it is said that the
// program stands still and how it goes on, and nothing follows from what it does not do meanwhile: nothing is over, and no phase begins.
func TestStoppedInTheMiddle(t *testing.T) {
	p := target(t, "mutex.c")
	s := start(t, "attach", "--no-tui", "--json", "@REPORT", "--for", longest.String(), fmt.Sprint(p.PID))
	s.await(t, []finding{lockInLookup}, longest)
	time.Sleep(3 * time.Second) // its sentence has all places
	p.Signal(t, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(p.PID, syscall.SIGCONT) })
	time.Sleep(13 * time.Second) // longer than a test waits for values
	s.interrupt()
	s.want(statusBottleneck)
	for _, said := range []string{fmt.Sprintf("kill -CONT %d", p.PID), "last measured at ", "Below the threshold, with the program stopped or frozen"} {
		if !strings.Contains(s.out.String(), said) {
			t.Errorf("%q is not in\n%s", said, s.out.String())
		}
	}
	for _, wrong := range []string{"Ruled out", "no values arrived", "became false"} {
		if strings.Contains(s.out.String()+s.errOut.String(), wrong) {
			t.Errorf("%q of a program that stands still:\n%s", wrong, s.story())
		}
	}
	r := s.read()
	r.mustFind(t, "ExcessiveSyncWaitingTime", "mutex cache_lock", "lookup")
	if len(r.Earlier) != 0 || len(r.Phases) != 0 {
		t.Errorf("earlier: %+v, phases: %+v", r.Earlier, r.Phases)
	}
	p.Signal(t, syscall.SIGCONT)
	undisturbed(t, p, "mutex.c")
}
