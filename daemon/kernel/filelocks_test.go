package kernel

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseFileLocks(t *testing.T) {
	got := parseFileLocks([]byte(`1: POSIX  ADVISORY  WRITE 10 fd:00:77 0 EOF
1: -> POSIX  ADVISORY  WRITE 11 fd:00:77 0 EOF
1:  -> POSIX  ADVISORY  READ 12 fd:00:77 0 EOF
2: FLOCK  ADVISORY  WRITE 20 00:1b:5 0 EOF
3: OFDLCK ADVISORY  WRITE -1 00:1b:6 0 EOF
3: -> OFDLCK ADVISORY  WRITE -1 00:1b:6 0 EOF
nonsense
4: FLOCK ADVISORY
`))
	want := []FileLock{{77, 10, []int{11, 12}}, {6, -1, []int{-1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if l := &got[0]; !l.WaitsFor(12, 77) || l.WaitsFor(12, 78) || l.WaitsFor(10, 77) || !got[1].WaitsFor(5, 6) {
		t.Error("the wrong processes wait")
	}
}

// TestFileLocks: the kernel tells of a process that waits for the lock of a file which another one has.
func TestFileLocks(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no program flock: ", err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	waiter := exec.Command("flock", f.Name(), "true")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	inode := fileAt(os.Getpid(), int(f.Fd())).Inode
	found := false
	for deadline := time.Now().Add(10 * time.Second); !found && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		list, err := FileLocks()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			found = found || l.WaitsFor(waiter.Process.Pid, inode) && l.Holder == os.Getpid()
		}
	}
	if !found {
		t.Error("nobody is seen waiting for the lock that this process has")
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	if err := waiter.Wait(); err != nil {
		t.Error(err)
	}
}
