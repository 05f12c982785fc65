package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
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
