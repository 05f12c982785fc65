package socket

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// places are where sockets of a user may be, the best first: the directory for such things that the login has made, and one
// below the temporary directory, which everybody may write to.
func places(uid int) (dirs []string) {
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", uid)} {
		if at := filepath.Join(base, "culprit"); filepath.IsAbs(base) && isDirOf(base, uid) && !slices.Contains(dirs, at) {
			dirs = append(dirs, at)
		}
	}
	return append(dirs, filepath.Join(os.TempDir(), fmt.Sprintf("culprit-%d", uid)))
}

// isDirOf reports whether a directory is one of a user. What is handed on from another user (by su, for one) is not.
func isDirOf(path string, uid int) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == uid
}

// A dir is a directory of sockets that is open: whatever becomes of its path, it stays the one that was checked.
type dir struct {
	path string
	fd   int
	uid  int // its owner
}

// openDir opens a directory of sockets. It is an error if it is a link.
func openDir(path string) (dir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return dir{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return dir{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return dir{path, fd, int(st.Uid)}, nil
}

// makeDir opens the directory for our own sockets, and makes it if there is none. One that is not ours is refused: somebody
// may have put it there.
func makeDir(path string) (dir, error) {
	if err := unix.Mkdir(path, 0o700); err != nil && err != unix.EEXIST {
		return dir{}, &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	d, err := openDir(path)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return dir{}, fmt.Errorf("%s is a link, or no directory; remove it", path)
	}
	if err != nil {
		return dir{}, err
	}
	if d.uid != os.Geteuid() {
		d.close()
		return dir{}, fmt.Errorf("%s belongs to uid %d, not to us; remove it", path, d.uid)
	}
	if err := unix.Fchmod(d.fd, 0o700); err != nil {
		d.close()
		return dir{}, &os.PathError{Op: "chmod", Path: path, Err: err}
	}
	return d, nil
}

func (d dir) close() { unix.Close(d.fd) }

// address is the address of a socket in the directory. It is as short as a socket's has to be (108 bytes, unix(7)), and
// leads to the directory that was opened.
func (d dir) address(pid int) string { return fmt.Sprintf("/proc/self/fd/%d/%s", d.fd, fileName(pid)) }

func fileName(pid int) string { return strconv.Itoa(pid) + ".sock" }

// maxSockets bounds how many sockets of a directory are looked at.
const maxSockets = 256

// list lists the processes that have a socket in the directory, living or not.
func (d dir) list() (pids []int) {
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", d.fd))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxSockets) // what can be read
	for _, name := range names {
		text, ok := strings.CutSuffix(name, ".sock")
		if pid, err := strconv.Atoi(text); ok && err == nil && pid > 0 && fileName(pid) == name {
			pids = append(pids, pid)
		}
	}
	return pids
}

// remove removes a socket, and the directory if that was the last one.
func (d dir) remove(pid int) {
	unix.Unlinkat(d.fd, fileName(pid), 0)
	unix.Rmdir(d.path) // fails if there is another one
}
