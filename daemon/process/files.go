package process

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// Exe gives the path of the program as the kernel names it, and whether that name has been deleted or replaced since.
// The path is in the target's mount namespace. It is "" if it cannot be read.
func (p *Process) Exe() (path string, deleted bool) {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		return "", false
	}
	return strings.CutSuffix(link, " (deleted)")
}

// OpenMapping opens the very file that is mapped, or fails: a different file at the same path is never returned.
// It needs CAP_CHECKPOINT_RESTORE when the file has no name any more and is not the program itself. The caller closes it.
func (p *Process) OpenMapping(m raw.Mapping) (*os.File, error) {
	release, err := p.use()
	if err != nil {
		return nil, err
	}
	defer release()
	if !m.FileBacked() {
		return nil, fmt.Errorf("mapping at %v shows no file", m.Start)
	}
	f, err := p.openMapped(m)
	return p.checkedFile(f, err)
}

func (p *Process) openMapped(m raw.Mapping) (*os.File, error) {
	fd, err := openPath(fmt.Sprintf("/proc/%d/map_files/%x-%x", p.pid, uint64(m.Start), uint64(m.End)))
	if err == nil {
		return mappedFile(fd, m, false)
	}
	if fd, err = openPath(fmt.Sprintf("/proc/%d/exe", p.pid)); err == nil {
		if f, err := mappedFile(fd, m, true); err == nil {
			return f, nil
		}
	}
	return p.openInRoot(m)
}

// openPath names a file without opening it: what it is can be asked, and a device, a FIFO or a server of files notices nothing.
func openPath(path string) (fd int, err error) {
	if fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// openInRoot follows the path within the target's root directory, so that no link can lead out of it.
func (p *Process) openInRoot(m raw.Mapping) (*os.File, error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", p.pid), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("root directory of process %d: %w", p.pid, err)
	}
	defer unix.Close(root)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	fd, err := unix.Openat2(root, m.Path, &how)
	if err != nil {
		return nil, fmt.Errorf("file mapped at %v: %w", m.Start, err)
	}
	return mappedFile(fd, m, true)
}

// mappedFile opens the file that fd names, and closes fd. It fails, and opens nothing, unless that is a regular file and the one that is mapped.
// The device is left out where the kernel itself made the link: some filesystems (btrfs, overlay) show another device in stat than in maps.
func mappedFile(fd int, m raw.Mapping, device bool) (*os.File, error) {
	defer unix.Close(fd)
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return nil, fmt.Errorf("file mapped at %v: %w", m.Start, err)
	case st.Ino != m.Inode || device && st.Dev != m.Dev:
		return nil, fmt.Errorf("another file is now at the path of the mapping at %v", m.Start)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("what is mapped at %v is no regular file", m.Start)
	}
	open, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("file mapped at %v: %w", m.Start, err)
	}
	return os.NewFile(uintptr(open), m.Path), nil
}

// checkedFile gives the file only if the process still lived after it was opened: then it was opened in the right process.
func (p *Process) checkedFile(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, p.gone(err)
	}
	if err := p.alive(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Seals are those of a memory file that the target has open; ok is false if it is none that could have any, or if that is not known. Nothing is
// opened, and nothing else is asked of what is no such file.
func (p *Process) Seals(fd int) (seals int, ok bool) {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(pidfd)
	own, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return 0, false
	}
	defer func() { go unix.Close(own) }() // it may be anything, whose end somebody makes us wait for
	seals, err = unix.FcntlInt(uintptr(own), unix.F_GET_SEALS, 0)
	return seals, err == nil
}
