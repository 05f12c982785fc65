package process

import (
	"errors"
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

// ExeFile is the file of the program. Nothing is opened.
func (p *Process) ExeFile() (dev, inode uint64, err error) {
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/exe", p.pid), &st); err != nil {
		return 0, 0, p.gone(fmt.Errorf("the program of process %d: %w", p.pid, err))
	}
	return st.Dev, st.Ino, nil
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
	fd, err := p.pathInRoot(m.Path)
	if err != nil {
		return nil, fmt.Errorf("file mapped at %v: %w", m.Start, err)
	}
	return mappedFile(fd, m, true)
}

// pathInRoot is openPath within the target's root directory.
func (p *Process) pathInRoot(path string) (fd int, err error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", p.pid), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT { // a process that has ended has none
		err = unix.ESRCH
	}
	if err != nil {
		return -1, fmt.Errorf("root directory of process %d: %w", p.pid, err)
	}
	defer unix.Close(root)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return unix.Openat2(root, path, &how)
}

// OpenInRoot opens a file by its absolute path in the target's root directory, for reading; owned asks for one that belongs to the target's
// user. Nothing is opened but a regular file with something in it that the target's user may read too, and none that the kernel makes up as
// it is read: whoever wrote the path, or a link on it, gets nothing opened that they could not open themselves. The caller closes it.
func (p *Process) OpenInRoot(path string, owned bool) (*os.File, error) {
	release, err := p.use()
	if err != nil {
		return nil, err
	}
	defer release()
	fd, err := p.pathInRoot(path)
	if err != nil {
		return nil, p.gone(err)
	}
	defer unix.Close(fd)
	user, err := UserOf(p.pid)
	if err != nil {
		return nil, p.gone(err)
	}
	if err := mayOpen(fd, user, owned); err != nil {
		return nil, err
	}
	open, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return p.checkedFile(os.NewFile(uintptr(open), path), nil)
}

// OpenGenerated opens the file in which the target names the code that it generates. It is where tools look for it: in the target's own /tmp,
// by its number in its own namespace. Everybody may write there, so it is believed only if it belongs to the target's user.
func (p *Process) OpenGenerated() (*os.File, error) {
	st, err := raw.ReadStatus(p.pid, 0)
	if err != nil {
		return nil, p.gone(err)
	}
	return p.OpenInRoot(fmt.Sprintf("/tmp/perf-%d.map", st.Inner), true)
}

// mayOpen says why a file must not be opened that a user may have led to.
func mayOpen(fd, user int, owned bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	var system unix.Statfs_t
	if err := unix.Fstatfs(fd, &system); err != nil {
		return err
	}
	own := int(st.Uid) == user
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is no regular file")
	case st.Size == 0 || madeUp[int64(system.Type)]:
		return errors.New("it is empty, or made up by the kernel")
	case owned && !own:
		return errors.New("it does not belong to the user of the process")
	case !own && user != 0 && st.Mode&0o004 == 0:
		return errors.New("the user of the process may not read it")
	}
	return nil
}

// madeUp are file systems of the kernel's in which to read a file may do something, or wait for something.
var madeUp = map[int64]bool{
	unix.PROC_SUPER_MAGIC: true, unix.SYSFS_MAGIC: true, unix.DEBUGFS_MAGIC: true, unix.TRACEFS_MAGIC: true, unix.SECURITYFS_MAGIC: true,
	unix.CGROUP_SUPER_MAGIC: true, unix.CGROUP2_SUPER_MAGIC: true, unix.BPF_FS_MAGIC: true, unix.EFIVARFS_MAGIC: true, unix.PSTOREFS_MAGIC: true,
	unix.SELINUX_MAGIC: true, unix.SMACK_MAGIC: true, unix.RDTGROUP_SUPER_MAGIC: true, unix.BINFMTFS_MAGIC: true, unix.AUTOFS_SUPER_MAGIC: true,
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
