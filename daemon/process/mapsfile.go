package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// MapsFile reports whether a process maps a file and may write to it there. The error is fs.ErrPermission where its mappings may not be
// read.
func MapsFile(pid int, dev, inode uint64) (bool, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return false, fmt.Errorf("mappings of process %d: %w", pid, err)
	}
	maps, err := raw.ParseMaps(b)
	if err != nil {
		return false, err
	}
	for _, m := range maps {
		if m.Dev == dev && m.Inode == inode && inode != 0 && m.Perms&(raw.Write|raw.Shared) == raw.Write|raw.Shared {
			return true, nil
		}
	}
	return false, nil
}

// MappingOwner is the user to whom the file belongs that the target maps. The file is not opened. It needs CAP_CHECKPOINT_RESTORE.
func (p *Process) MappingOwner(m raw.Mapping) (uid int, err error) {
	release, err := p.use()
	if err != nil {
		return 0, err
	}
	defer release()
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/map_files/%x-%x", p.pid, uint64(m.Start), uint64(m.End)), &st); err != nil {
		return 0, p.gone(fmt.Errorf("the file mapped at %v: %w", m.Start, err))
	}
	if st.Ino != m.Inode {
		return 0, fmt.Errorf("another file is now mapped at %v", m.Start)
	}
	return int(st.Uid), p.alive()
}

// UserOf is the user as whom a process makes files.
func UserOf(pid int) (uid int, err error) {
	st, err := raw.ReadStatus(pid, 0)
	return st.UIDs[3], err
}

// Traces reports whether a thread of a process traces another process. What cannot be read counts as untraced.
func Traces(tracer, pid int) bool {
	st, err := raw.ReadStatus(pid, 0)
	if err != nil || st.Tracer == 0 {
		return false
	}
	of, err := raw.ReadStatus(st.Tracer, 0)
	return err == nil && of.TGID == tracer
}
