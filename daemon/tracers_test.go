package daemon

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// startStrace has strace trace all threads of a process until end is called.
func startStrace(t *testing.T, pid int) (end func()) {
	t.Helper()
	strace := require.Tool(t, "strace")
	cmd := exec.Command(strace, "-f", "-o", "/dev/null", "-p", strconv.Itoa(pid))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		cmd.Process.Signal(unix.SIGINT)
		cmd.Wait()
	}
	for range 500 {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if strings.Contains(string(status), fmt.Sprintf("TracerPid:\t%d\n", cmd.Process.Pid)) {
			return end
		}
		time.Sleep(10 * time.Millisecond)
	}
	end()
	t.Fatal("strace does not trace")
	return nil
}

// TestBesideStrace: probes count on while strace looks at their program; changes wait until it has gone, and say for whom. No
// signals are sent meanwhile: strace that lets a thread go just as it stops for a signal takes the signal with it (1 of 200,000
// signals in 250 runs under strace alone).
func TestBesideStrace(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	threads, signals := "3", "0"
	want := undisturbed(t, bin, threads, signals)
	p := testprog.StartTarget(t, bin, threads, signals)
	d := attachTo(t, p.PID)
	var s sums
	counter, timer := nameOf(t, d, "procedure_calls", "through_c"), nameOf(t, d, "exec_time_inclusive", "returns_pair")
	d.mustEnable(t, &s, counter)
	traced := 0
	for range rounds(1, 50) {
		end := startStrace(t, p.PID)
		r := d.Enable([]grid.PairKey{timer}, &s)
		if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "strace") {
			t.Errorf("beside strace: %v", r[0].Err)
		}
		before := s.of(counter)
		for deadline := time.Now().Add(5 * time.Second); s.of(counter) <= before; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error("beside strace nothing is counted")
				break
			}
		}
		d.Settle()
		p.MustBeat(t, 5*time.Second)
		end()
		d.mustEnable(t, &s, timer)
		d.Disable([]grid.PairKey{timer})
		traced++
	}
	t.Logf("%d times beside strace, %v calls counted", traced, s.of(counter))
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// A uprobe is a breakpoint of the kernel's in a program's text, as perf and bpf tools make them. It lasts until Close, which may be called
// twice: a bare number that is closed twice would be another test's file the second time.
type uprobe struct{ *os.File }

// hits is how often it was met.
func (u uprobe) hits(t *testing.T) uint64 {
	var b [8]byte
	if _, err := u.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// openUprobe has the hits of one thread counted; the breakpoint is in the text of all.
func openUprobe(t *testing.T, tid int, bin, function string) uprobe {
	t.Helper()
	kind, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		require.Skipf(t, "the kernel has no uprobes: %v", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(kind)), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	path, err := unix.BytePtrFromString(bin)
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{Type: uint32(n), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Ext1: uint64(uintptr(unsafe.Pointer(path))),
		Ext2: fileOffset(t, bin, function)}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		require.Skipf(t, "uprobes are not permitted: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return uprobe{os.NewFile(uintptr(fd), "uprobe")}
}

// secondThread is a thread other than the main one.
func secondThread(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if n, err := strconv.Atoi(task.Name()); err == nil && n != pid {
			return n
		}
	}
	t.Fatalf("process %d has one thread", pid)
	return 0
}

// fileOffset is where a function lies in its file.
func fileOffset(t *testing.T, bin, function string) uint64 {
	t.Helper()
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		for _, p := range f.Progs {
			if s.Name == function && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Memsz {
				return s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no function %s", bin, function)
	return 0
}

// TestBesideUprobes: a function with a uprobe of somebody else's is refused, all others are measured, and both go on side by side.
func TestBesideUprobes(t *testing.T) {
	t.Parallel()
	require.Root(t)
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	p := testprog.StartTarget(t, bin)
	checker := secondThread(t, p.PID)
	first := openUprobe(t, checker, bin, "through_c")
	defer first.Close()
	d := attachTo(t, p.PID)
	var s sums
	taken, other := nameOf(t, d, "procedure_calls", "through_c"), nameOf(t, d, "procedure_calls", "returns_pair")
	for range rounds(2, 100) {
		r := d.Enable([]grid.PairKey{taken, other}, &s)
		var refused grid.ErrRefused
		if !errors.As(r[0].Err, &refused) || !strings.Contains(refused.Reason, "cc ") {
			t.Errorf("a function with a uprobe: %v", r[0].Err)
		}
		if r[1].Err != nil {
			t.Errorf("a function beside one with a uprobe: %v", r[1].Err)
		}
		d.Disable([]grid.PairKey{taken, other})
		d.Settle()
	}
	d.mustEnable(t, &s, other)
	second := openUprobe(t, checker, bin, "takes_many")
	defer second.Close()
	time.Sleep(300 * time.Millisecond)
	d.Disable([]grid.PairKey{other})
	if s.of(other) == 0 || first.hits(t) == 0 || second.hits(t) == 0 {
		t.Errorf("%v calls counted beside %d and %d hits of uprobes", s.of(other), first.hits(t), second.hits(t))
	}
	t.Logf("%v calls counted; hits of uprobes: %d, %d", s.of(other), first.hits(t), second.hits(t))
	first.Close()
	second.Close()
	d.mustEnable(t, &s, taken)
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}
