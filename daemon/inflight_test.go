package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/grid"
)

// TestWaitsSinceBefore: what a thread waits for since before the probes came is known by its system call: the time counts at that pipe, and at no
// other.
func TestWaitsSinceBefore(t *testing.T) {
	dir := t.TempDir()
	awaited, other := fifo(t, filepath.Join(dir, "awaited")), fifo(t, filepath.Join(dir, "other"))
	cmd := exec.Command("cat", "/dev/zero") // until the pipe is full: nobody reads
	cmd.Stdout, cmd.Stderr = awaited, other
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	time.Sleep(300 * time.Millisecond) // it waits
	d := attachTo(t, p)
	keys := []grid.PairKey{}
	for _, f := range []string{awaited.Name(), other.Name()} {
		keys = append(keys, grid.PairKey{Metric: "io_wait_inclusive", Focus: grid.Whole().Refine(grid.IO, "Pipe", f)})
	}
	var s sums
	d.mustEnable(t, &s, keys...)
	begin := d.Now()
	time.Sleep(800 * time.Millisecond)
	d.passes.tick()
	span := d.Now() - begin
	if at := s.of(keys[0]); at < 0.7*span || at > 1.1*span {
		t.Errorf("%.3f s in %.3f s at the pipe that it waits for", at, span)
	}
	if at := s.of(keys[1]); at != 0 {
		t.Errorf("%.3f s at the other one", at)
	}
	d.Disable(keys)
	detachClean(t, d, p)
}

// fifo makes a named pipe and holds it open in both directions.
func fifo(t *testing.T, path string) *os.File {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
