package threadstats

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

// helpers are what this program is when a test starts it again.
var helpers = map[string]func() int{"keep": keepForever, "open": openOnly, "inside": watchInside}

// helper starts this program again in a role.
func helper(t *testing.T, role string, attr *syscall.SysProcAttr) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CULPRIT_ROWS_HELPER="+role)
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	cmd.Stdin, _ = os.Open(os.DevNull)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd, bufio.NewScanner(out)
}

// keepForever has everything that there is attached, says what the kernel calls it, and waits to be killed.
func keepForever() int {
	k, err := Open()
	if err != nil {
		fmt.Println("ERROR", err)
		return 1
	}
	tab, err := k.Watch(os.Getpid(), 64)
	if err != nil {
		fmt.Println("ERROR", err)
		return 1
	}
	for _, q := range Quantities() {
		if err := k.Need(q); err != nil {
			fmt.Println("ERROR", err)
			return 1
		}
	}
	w, err := OpenWakers()
	if err != nil {
		fmt.Println("ERROR", err)
		return 1
	}
	if _, err := k.Cost(); err != nil {
		fmt.Println("ERROR", err)
		return 1
	}
	k.name(tab, w)
	time.Sleep(time.Minute)
	return 1
}

// name prints the numbers of programs, links and maps.
func (k *Keeper) name(tab *Table, w *Wakers) {
	lists := [][]*attached{k.always, w.all}
	for _, extra := range k.extra {
		lists = append(lists, extra)
	}
	for _, list := range lists {
		for _, a := range list {
			if info, err := a.program.Info(); err == nil {
				id, _ := info.ID()
				fmt.Println("PROGRAM", id)
			}
			for _, l := range a.links {
				if l, ok := l.(link.Link); ok {
					if info, err := l.Info(); err == nil {
						fmt.Println("LINK", info.ID)
					}
				}
			}
		}
	}
	for _, m := range []*ebpf.Map{k.maps.filter, k.maps.processes, k.maps.tables, k.maps.threads, k.maps.kinds, w.maps.filter, w.maps.wakers, tab.rows} {
		if info, err := m.Info(); err == nil {
			id, _ := info.ID()
			fmt.Println("MAP", id)
		}
	}
	fmt.Println("END")
}

// there says whether the kernel still has a program, link or map.
func there(t *testing.T, kind string, id uint32) bool {
	t.Helper()
	var c interface{ Close() error }
	var err error
	switch kind {
	case "PROGRAM":
		c, err = ebpf.NewProgramFromID(ebpf.ProgramID(id))
	case "LINK":
		c, err = link.NewFromID(link.ID(id))
	case "MAP":
		c, err = ebpf.NewMapFromID(ebpf.MapID(id))
	default:
		t.Fatalf("%s?", kind)
	}
	if err == nil {
		c.Close()
		return true
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s %d: %v", kind, id, err)
	}
	return false
}

// TestNothingIsLeftOfAKilledKeeper kills a process that has all programs attached: the kernel must forget every program, link and
// map of it.
func TestNothingIsLeftOfAKilledKeeper(t *testing.T) {
	opened(t)
	cmd, out := helper(t, "keep", nil)
	type object struct {
		kind string
		id   uint32
	}
	var objects []object
	for out.Scan() && out.Text() != "END" {
		var o object
		if _, err := fmt.Sscan(out.Text(), &o.kind, &o.id); err != nil {
			t.Fatalf("%q: %v", out.Text(), err)
		}
		if !there(t, o.kind, o.id) {
			t.Errorf("%s %d is not there while the keeper lives", o.kind, o.id)
		}
		objects = append(objects, o)
	}
	cmd.Process.Kill()
	cmd.Wait()
	began := time.Now()
	for _, o := range objects {
		for there(t, o.kind, o.id) {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%s %d is still there", o.kind, o.id)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	t.Logf("%d programs, links and maps were gone %v after the kill", len(objects), time.Since(began))
	if len(objects) < 25 {
		t.Errorf("only %d objects were named", len(objects))
	}
}

// openOnly says what Open says.
func openOnly() int {
	k, err := Open()
	if err != nil {
		fmt.Println(errors.Is(err, ErrNotPermitted), err)
		return 0
	}
	defer k.Close()
	if _, err := k.Watch(os.Getpid(), 64); err != nil {
		fmt.Println("Watch:", err)
		return 0
	}
	for _, q := range Quantities() {
		if err := k.Need(q); err != nil {
			fmt.Println(q, err)
			return 0
		}
	}
	fmt.Println("opened")
	return 0
}

// asNobody runs this program in the role of openOnly as nobody, with these capabilities.
func asNobody(t *testing.T, caps ...uintptr) string {
	t.Helper()
	require.Root(t)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// The test program's own directory is root's.
	dir, err := os.MkdirTemp("", "rows")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(dir+"/open", self, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dir + "/open")
	cmd.Env = append(os.Environ(), "CULPRIT_ROWS_HELPER=open")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: caps}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return strings.TrimSpace(string(text))
}

func TestWithoutPermissionItSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		caps []uintptr
		want string
	}{{nil, "lacks CAP_BPF and CAP_PERFMON"}, {[]uintptr{capBPF}, "lacks CAP_PERFMON;"}, {[]uintptr{capPerfmon}, "lacks CAP_BPF;"}} {
		text := asNobody(t, c.caps...)
		t.Log(text)
		if !strings.HasPrefix(text, "true ") || !strings.Contains(text, c.want) || !strings.Contains(text, "setcap") {
			t.Errorf("%q does not say %q", text, c.want)
		}
	}
}

// TestTwoCapabilitiesAreEnough opens without root's other rights, and keeps every quantity.
func TestTwoCapabilitiesAreEnough(t *testing.T) {
	opened(t)
	if text := asNobody(t, capBPF, capPerfmon); text != "opened" {
		t.Error(text)
	}
}

// watchInside runs as the first process of a pid namespace: it watches a child by the number that it has there.
func watchInside() int {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		fmt.Println("ERROR", err)
		return 1
	}
	defer child.Process.Kill()
	k, err := Open()
	if err != nil {
		fmt.Println("ERROR", err)
		return 1
	}
	defer k.Close()
	tab, err := k.Watch(child.Process.Pid, 64)
	if err != nil {
		fmt.Println("ERROR", err)
		return 1
	}
	for range 50 {
		// Stopped and continued, it is switched.
		child.Process.Signal(unix.SIGSTOP)
		time.Sleep(10 * time.Millisecond)
		child.Process.Signal(unix.SIGCONT)
		time.Sleep(10 * time.Millisecond)
		if rows := owned(tab); len(rows) > 0 {
			fmt.Println("INSIDE", os.Getpid(), child.Process.Pid, "OUTSIDE", tab.tgid, "ROWS", len(rows))
			return 0
		}
	}
	fmt.Println("ERROR no row")
	return 1
}

// TestInsideOfAPidNamespace watches a process by the number that it has inside.
func TestInsideOfAPidNamespace(t *testing.T) {
	require.Root(t)
	opened(t)
	cmd, out := helper(t, "inside", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID})
	if !out.Scan() {
		t.Fatal("nothing was said")
	}
	line := out.Text()
	cmd.Wait()
	t.Log(line)
	var self, inside, outside, rows int
	if _, err := fmt.Sscanf(line, "INSIDE %d %d OUTSIDE %d ROWS %d", &self, &inside, &outside, &rows); err != nil {
		t.Fatal(err)
	}
	if self != 1 || outside == inside || rows != 1 {
		t.Error("that is not the process")
	}
}
