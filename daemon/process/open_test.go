package process

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/internal/procfs"
)

func exitGoroutine() { runtime.Goexit() }

func init() {
	helpers["open"] = openAsOther
	helpers["hold"] = hold
}

// openAsOther opens a process and prints what came of it.
func openAsOther(args []string) int {
	p, err := Open(atoi(args[0]))
	if err == nil {
		p.Close()
		fmt.Println("opened")
		return 0
	}
	var np *NotPermitted
	fmt.Printf("%t|%v\n", errors.As(err, &np), err)
	return 0
}

// hold traces a process until its standard input is closed.
func hold(args []string) int {
	runtime.LockOSThread()
	if err := raw.Seize(atoi(args[0]), 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	return 0
}

func TestOpenNothing(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := Open(pid); !errors.Is(err, ErrNotFound) {
			t.Errorf("Open(%d): %v", pid, err)
		}
	}
	if _, err := Open(os.Getpid()); !errors.As(err, new(*raw.Unsupported)) {
		t.Errorf("opening oneself: %v", err)
	}
}

func TestOpenThread(t *testing.T) {
	tids, err := raw.Tasks(os.Getpid())
	must(t, err)
	for _, tid := range tids {
		if tid == os.Getpid() {
			continue
		}
		if _, err := Open(tid); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), itoa(os.Getpid())) {
			t.Errorf("opening a thread: %v", err)
		}
	}
}

func TestOpenKernelThread(t *testing.T) {
	st, err := procfs.ReadStat(2)
	if err != nil || !st.IsKernel() {
		t.Skip("process 2 is no kernel thread here (a container)")
	}
	if _, err := Open(2); !errors.Is(err, ErrKernelThread) {
		t.Errorf("%v", err)
	}
}

func TestOpenZombie(t *testing.T) {
	cmd := exec.Command("true")
	must(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	waitDead(cmd.Process.Pid)
	if _, err := Open(cmd.Process.Pid); !errors.Is(err, ErrZombie) {
		t.Errorf("%v", err)
	}
}

func TestOpenTraced(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	cmd := self("hold", itoa(tg.pid()))
	holder := startCmd(t, cmd)
	_, err := Open(tg.pid())
	var tr *Traced
	if !errors.As(err, &tr) || tr.PID != tg.pid() || tr.TracerName == "" || tr.TracerName == "unknown" {
		t.Fatalf("%v", err)
	}
	if st, err := raw.ReadStatus(tr.Tracer, 0); err != nil || st.TGID != cmd.Process.Pid {
		t.Errorf("tracer %d is not of process %d", tr.Tracer, cmd.Process.Pid)
	}
	holder.finish()
	untraced(t, tg.pid())
	// Now it becomes traced only after it was opened.
	proc := open(t, tg.pid())
	again := startCmd(t, self("hold", itoa(tg.pid())))
	if _, err := proc.Stop(t.Context(), StopOptions{}, nothing); !errors.As(err, &tr) {
		t.Errorf("stop of a traced process: %v", err)
	}
	again.finish()
	untraced(t, tg.pid())
	stop(t, proc, nothing)
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("%v", res)
	}
}

// TestOpen32Bit runs an i386 program of a few bytes: pause() for ever.
func TestOpen32Bit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i386")
	must(t, os.WriteFile(path, i386Program(), 0o755))
	cmd := exec.Command(path)
	if err := cmd.Start(); err != nil {
		t.Skipf("this kernel does not run 32-bit programs: %v", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	var u *raw.Unsupported
	if _, err := Open(cmd.Process.Pid); !errors.As(err, &u) || u.What != "a 32-bit program" {
		t.Errorf("%v", err)
	}
}

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
	le.PutUint32(b[28:], 52)        // program headers
	le.PutUint16(b[40:], 52)
	le.PutUint16(b[42:], 32)
	le.PutUint16(b[44:], 1)
	ph := b[52:]
	for i, v := range []uint32{uint32(elf.PT_LOAD), 0, base, base, uint32(head + len(code)), uint32(head + len(code)), 5, 0x1000} {
		le.PutUint32(ph[4*i:], v)
	}
	return append(b, code...)
}

func TestSupportedClass(t *testing.T) {
	head := func(class elf.Class, machine elf.Machine) (id [20]byte) {
		copy(id[:], elf.ELFMAG)
		id[elf.EI_CLASS] = byte(class)
		id[18], id[19] = byte(machine), byte(machine>>8)
		return id
	}
	for _, c := range []struct {
		id   [20]byte
		want string
	}{
		{head(elf.ELFCLASS64, elf.EM_X86_64), ""},
		{head(elf.ELFCLASS32, elf.EM_X86_64), "x32"},
		{head(elf.ELFCLASS32, elf.EM_386), "32-bit"},
		{head(elf.ELFCLASS64, elf.EM_AARCH64), "EM_AARCH64"},
		{[20]byte{'#', '!'}, "not an ELF file"},
	} {
		err := raw.SupportedClass(c.id)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("% x: %v, want %q", c.id, err, c.want)
		}
	}
}

// TestOpenNotPermitted runs as another user against our target, and as the same user against a target that is not dumpable.
func TestOpenNotPermitted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	tg := start(t, compile(t, stateSource), "blocked")
	out := openAs(t, 65534, tg.pid())
	for _, want := range []string{"true|", "runs as user root (0)", "65534", "CAP_SYS_PTRACE", fmt.Sprintf("sudo culprit attach %d", tg.pid())} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	const hidden = `#include <sys/prctl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) { if (argc > 1) prctl(PR_SET_DUMPABLE, 0); puts("ready"); fflush(stdout); char c; while (read(0, &c, 1) > 0); return 0; }`
	bin := compile(t, hidden)
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "opened"}, {[]string{"hide"}, "not dumpable"}} {
		cmd := exec.Command(bin, c.args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		other := startCmd(t, cmd)
		if out := openAs(t, 65534, other.pid()); !strings.Contains(out, c.want) {
			t.Errorf("args %v: %q, want %q", c.args, out, c.want)
		}
		other.finish()
	}
	tg.finish()
}

func openAs(t *testing.T, uid uint32, pid int) string {
	t.Helper()
	return runAs(t, uid, "open", pid)
}

// runAs runs a helper as another user, from a copy of this binary that the user can read.
func runAs(t *testing.T, uid uint32, helper string, pid int) string {
	t.Helper()
	path := filepath.Join(buildDir, "self")
	if _, err := os.Stat(path); err != nil {
		data, err := os.ReadFile("/proc/self/exe")
		must(t, err)
		must(t, os.WriteFile(path, data, 0o755))
	}
	cmd := exec.Command(path, strconv.Itoa(pid))
	cmd.Env = append(os.Environ(), "PROCESS_TEST_HELPER="+helper)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestExplainDenied(t *testing.T) {
	same := deniedFacts{pid: 42, euid: 1000, egid: 1000, uids: [4]int{1000, 1000, 1000, 1000}, gids: [4]int{1000, 1000, 1000, 1000}, dumpable: true}
	with := func(f func(*deniedFacts)) deniedFacts { c := same; f(&c); return c }
	for _, c := range []struct {
		name          string
		facts         deniedFacts
		want, command string
	}{
		{"yama 1", with(func(f *deniedFacts) { f.yama = 1 }), "ptrace_scope=1", "sudo sysctl kernel.yama.ptrace_scope=0"},
		{"yama 2", with(func(f *deniedFacts) { f.yama = 2 }), "ptrace_scope=2", "sudo culprit attach 42"},
		{"yama 3", with(func(f *deniedFacts) { f.yama = 3; f.ptraceCap = true }), "ptrace_scope=3", ""},
		{"other user", with(func(f *deniedFacts) { f.uids[2] = 0 }), "runs as user", "sudo culprit attach 42"},
		{"other group", with(func(f *deniedFacts) { f.gids[0] = 5 }), "group ids", "sudo culprit attach 42"},
		{"not dumpable", with(func(f *deniedFacts) { f.dumpable = false }), "not dumpable", "sudo culprit attach 42"},
		{"more capabilities", with(func(f *deniedFacts) { f.targetCaps = 1 }), "capabilities that we lack", "sudo culprit attach 42"},
		{"namespace", with(func(f *deniedFacts) { f.otherNamespace = true; f.ptraceCap = true }), "user namespace", "sudo culprit attach 42"},
		{"security module", with(func(f *deniedFacts) { f.ptraceCap = true }), "so probably a security module (SELinux, AppArmor, Landlock, BPF) forbids it", ""},
		{"filter", with(func(f *deniedFacts) { f.ptraceCap, f.filtered = true, true }), "forbids it, or the seccomp filter", ""},
		{"unknown", same, "CAP_SYS_PTRACE", "sudo culprit attach 42"},
	} {
		e := explainDenied(c.facts)
		if !strings.Contains(e.Missing, c.want) || e.Command != c.command {
			t.Errorf("%s: %v, command %q", c.name, e, e.Command)
		}
		if !c.facts.filtered && strings.Contains(e.Missing, "seccomp") {
			t.Errorf("%s: no filter is there: %v", c.name, e)
		}
	}
}

func TestFilesOfTarget(t *testing.T) {
	path := compile(t, stateSource)
	data, err := os.ReadFile(path)
	must(t, err)
	own := filepath.Join(t.TempDir(), "a name with (parentheses) and space")
	must(t, os.WriteFile(own, data, 0o755))
	tg := start(t, own, "blocked")
	p := open(t, tg.pid())
	if exe, deleted := p.Exe(); exe != own || deleted {
		t.Errorf("exe %q %t", exe, deleted)
	}
	must(t, os.Remove(own))
	must(t, os.WriteFile(own, []byte("a decoy"), 0o755))
	if exe, deleted := p.Exe(); exe != own || !deleted {
		t.Errorf("exe %q %t after removal", exe, deleted)
	}
	if d, err := p.DiffText(); err != nil || len(d) != 0 {
		t.Errorf("text of a deleted program: %v, %v", d, err)
	}
	maps, err := p.Maps()
	must(t, err)
	for _, m := range maps {
		if !m.FileBacked() || m.Perms&raw.Shared != 0 {
			continue
		}
		g, err := p.openInRoot(m)
		if m.Deleted != (m.Path == own) {
			t.Errorf("mapping %+v", m)
		}
		if (err != nil) != (m.Path == own) {
			t.Errorf("%s by path: %v: the decoy must be refused, all else opened", m.Path, err)
		}
		if err == nil {
			g.Close()
		}
	}
	tg.finish()
}

func TestInfoAndSyscall(t *testing.T) {
	tg := start(t, compile(t, stateSource), "running")
	p := open(t, tg.pid())
	info, err := p.Info()
	must(t, err)
	if info.Threads != 3 || info.Tracer != 0 || info.Seccomp != 0 || info.UID != os.Geteuid() {
		t.Errorf("%+v", info)
	}
	threads, err := p.Threads()
	must(t, err)
	if len(threads) != 3 || threads[0].TID != tg.pid() {
		t.Errorf("%+v", threads)
	}
	eventually(t, "main thread in read", func() bool {
		b, err := p.Syscall(tg.pid())
		return err == nil && !b.Running && b.NR == unix.SYS_READ && b.Args[0] == 0 && b.SP != 0 && b.PC != 0
	})
	eventually(t, "a running thread", func() bool {
		b, err := p.Syscall(threads[1].TID)
		return err == nil && b.Running
	})
	tg.finish()
	<-p.Done()
	if _, err := p.Info(); !errors.Is(err, ErrTargetExited) {
		t.Errorf("info of an ended process: %v", err)
	}
	if err := p.Signal(unix.SIGTERM); !errors.Is(err, ErrTargetExited) {
		t.Errorf("signal to an ended process: %v", err)
	}
	if err := p.WriteData(0x1000, []byte{0}); !errors.Is(err, ErrTargetExited) {
		t.Errorf("write to an ended process: %v", err)
	}
	if _, err := p.Stop(t.Context(), StopOptions{}, nothing); !errors.Is(err, ErrTargetExited) {
		t.Errorf("stop of an ended process: %v", err)
	}
	p.Close()
	if _, err := p.Maps(); !errors.Is(err, ErrClosed) {
		t.Errorf("maps of a closed process: %v", err)
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("not in 5 s: %s", what)
}

func TestParseHostileText(t *testing.T) {
	for _, s := range []string{"x", "1-2", "2-1 r-xp 0 0:0 0", "1-2 r 0 0:0 0 ", "1-2 r-xp 0 00 0 "} {
		if _, err := raw.ParseMaps([]byte(s)); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
	maps, err := raw.ParseMaps([]byte("7f0-7f1 rw-s 00001000 08:0a 99   /a b\\012c (deleted)\n"))
	if err != nil || len(maps) != 1 || maps[0].Path != "/a b\nc" || !maps[0].Deleted || maps[0].Dev != unix.Mkdev(8, 10) || maps[0].Perms.String() != "rw-s" {
		t.Errorf("%+v %v", maps, err)
	}
	for _, s := range []string{"", "foo", "1 2", "1 2 3 4", "x 0x1 0x2"} {
		if _, err := raw.ParseBlocked(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}
