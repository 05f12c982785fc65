package proclist

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// sleeper starts a copy of sleep under an odd name.
func sleeper(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	src, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep(1) on this machine")
	}
	b, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func TestResolveByNameAndPID(t *testing.T) {
	name := "odd) R name " + strconv.Itoa(os.Getpid())
	a := sleeper(t, name)
	for _, target := range []string{name, strconv.Itoa(a.Process.Pid)} {
		if pid, err := Resolve(target); err != nil || pid != a.Process.Pid {
			t.Errorf("%q: %d %v, want %d", target, pid, err, a.Process.Pid)
		}
	}
	b := sleeper(t, name)
	var amb *Ambiguous
	if _, err := Resolve(name); !errors.As(err, &amb) || len(amb.PIDs) != 2 || amb.PIDs[0]+amb.PIDs[1] != a.Process.Pid+b.Process.Pid {
		t.Errorf("two of that name: %v", err)
	}
}

func TestResolveErrors(t *testing.T) {
	var nf *NotFound
	var bad *BadTarget
	for _, s := range []string{"no-such-process-anywhere", "4194999"} {
		if _, err := Resolve(s); !errors.As(err, &nf) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", "0", "-1", strconv.Itoa(os.Getpid())} {
		if _, err := Resolve(s); !errors.As(err, &bad) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestThreadIsNoTarget(t *testing.T) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		if tid == os.Getpid() {
			continue
		}
		var bad *BadTarget
		if _, err := Resolve(e.Name()); !errors.As(err, &bad) {
			t.Errorf("thread %d: %v", tid, err)
		}
	}
}

func TestOwn(t *testing.T) {
	own, err := Own()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range own {
		if p.PID == os.Getpid() || len(p.Args) == 0 {
			t.Errorf("listed: %+v", p)
		}
	}
}

func TestEldest(t *testing.T) {
	all := []Proc{{PID: 1}, {PID: 10, PPID: 1}, {PID: 11, PPID: 10}, {PID: 12, PPID: 10}, {PID: 20, PPID: 1}, {PID: 21, PPID: 20}, {PID: 30, PPID: 21}, {PID: 40, PPID: 41}, {PID: 41, PPID: 40}}
	for _, c := range []struct {
		found []int
		want  int // 0: none
	}{
		{[]int{11, 10, 12}, 10}, {[]int{11, 12}, 0}, {[]int{20, 30}, 20}, {[]int{10, 20}, 0}, {[]int{30, 21, 20}, 20}, {[]int{10, 11, 30}, 0}, {nil, 0}, {[]int{40, 41}, 0},
	} {
		if got, ok := eldest(all, c.found); ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%v: %d, %v, want %d", c.found, got, ok, c.want)
		}
	}
}
