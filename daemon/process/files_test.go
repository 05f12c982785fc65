package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/internal/require"
)

// TestOnlyRegularFilesAreOpened puts things at the path of a mapping that take note of being opened, or make whoever opens them wait.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	p := &Process{pid: os.Getpid(), pidfd: -1}
	dir := t.TempDir()
	fifo, device := filepath.Join(dir, "fifo"), filepath.Join(dir, "device")
	must(t, unix.Mkfifo(fifo, 0o600))
	must(t, unix.Mknod(device, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))) // it could be a watchdog, which is armed by being opened
	writer, err := unix.Open(fifo, unix.O_RDWR|unix.O_NONBLOCK, 0)
	must(t, err)
	defer unix.Close(writer)
	for _, path := range []string{fifo, device, dir} {
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		began := time.Now()
		f, err := p.openInRoot(raw.Mapping{Path: path, Inode: st.Ino, Dev: st.Dev})
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "no regular file") || time.Since(began) > time.Second {
			t.Errorf("%s: %v after %v, want a refusal", path, err, time.Since(began))
		}
	}
}

// inRoot starts a program of another user in a root directory of its own, and opens it.
func inRoot(t *testing.T, root string) *Process {
	t.Helper()
	require.Root(t)
	program, err := os.ReadFile(compile(t, "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n", "-static"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, "program"), program, 0o755))
	must(t, os.Chmod(root, 0o755))
	cmd := exec.Command("/program")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	p, err := Look(cmd.Process.Pid)
	must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

const otherUser = 65533

// TestFilesInARoot opens what a process names in its own root directory: nothing outside of it, and nothing that its user may not read.
func TestFilesInARoot(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for name, mode := range map[string]os.FileMode{"readable": 0o644, "own": 0o600, "secret": 0o640} {
		must(t, os.WriteFile(at(name), []byte(name), mode))
	}
	must(t, os.Chown(at("own"), otherUser, otherUser))
	must(t, os.WriteFile(at("empty"), nil, 0o644))
	must(t, unix.Mkfifo(at("fifo"), 0o666))
	must(t, unix.Mknod(at("device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	must(t, os.Mkdir(at("dir"), 0o755))
	must(t, os.MkdirAll(at("etc"), 0o755))
	must(t, os.WriteFile(at("etc/passwd"), []byte("decoy"), 0o644))
	for name, to := range map[string]string{"absolute": "/etc/passwd", "up": "../../../../../../etc/passwd", "out": "/etc/hostname", "loop": "loop", "link": "secret"} {
		must(t, os.Symlink(to, at(name)))
	}
	p := inRoot(t, root)
	for _, c := range []struct {
		path   string
		owned  bool
		want   string // what is read
		refuse string // or the reason why nothing is
	}{
		{"/readable", false, "readable", ""},
		{"/readable", true, "", "does not belong"},
		{"/own", false, "own", ""},
		{"/own", true, "own", ""},
		{"/secret", false, "", "may not read"},
		{"/link", false, "", "may not read"},
		{"/absolute", false, "decoy", ""},
		{"/up", false, "decoy", ""},
		{"/../../etc/passwd", false, "decoy", ""},
		{"/out", false, "", "no such file"},
		{"/loop", false, "", "too many levels"},
		{"/fifo", false, "", "no regular file"},
		{"/device", false, "", "no regular file"},
		{"/dir", false, "", "no regular file"},
		{"/empty", false, "", "empty"},
		{"/missing", false, "", "no such file"},
	} {
		began := time.Now()
		f, err := p.OpenInRoot(c.path, c.owned)
		got := ""
		if err == nil {
			b, _ := io.ReadAll(f)
			f.Close()
			got = string(b)
		}
		if got != c.want || (err == nil) != (c.refuse == "") || err != nil && !strings.Contains(err.Error(), c.refuse) || time.Since(began) > time.Second {
			t.Errorf("%s (owned: %v): %q, %v; want %q or %q", c.path, c.owned, got, err, c.want, c.refuse)
		}
	}
	must(t, unix.Kill(p.PID(), unix.SIGKILL))
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := p.OpenInRoot("/readable", false); errors.Is(err, ErrTargetExited) {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("of a process that has ended: %v", err)
		}
	}
}

// TestFilesMadeUpAreNotOpened: to read a file of the kernel's may do something.
func TestFilesMadeUpAreNotOpened(t *testing.T) {
	p := &Process{pid: os.Getpid(), pidfd: -1}
	for _, path := range []string{"/proc/version", "/proc/self/maps", "/proc/kcore", "/proc/self/exe", "/sys/kernel/notes"} {
		if f, err := p.OpenInRoot(path, false); err == nil {
			f.Close()
			t.Errorf("%s was opened", path)
		}
	}
}

// TestFilesOfWhoHasEnded: of a process that has ended no file is missing, the process is.
func TestFilesOfWhoHasEnded(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	tg.kill()
	if _, err := p.pathInRoot("/etc/passwd"); !errors.Is(err, unix.ESRCH) {
		t.Error(err)
	}
	if _, err := p.OpenInRoot("/etc/passwd", false); !errors.Is(err, ErrTargetExited) {
		t.Error(err)
	}
}
