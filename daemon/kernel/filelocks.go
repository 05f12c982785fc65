package kernel

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// A FileLock is the lock of a file or a part of one that somebody waits for (flock, fcntl).
type FileLock struct {
	Inode uint64 // of the file
	// Holder is the process that has it; -1 where the kernel does not say, as of one that belongs to an open file (F_OFD_SETLK).
	Holder int
	// Waiters are the processes that wait for it, one of which waits with several threads several times; -1 as of Holder.
	Waiters []int
}

// WaitsFor reports whether a process may wait for the lock of a file.
func (l *FileLock) WaitsFor(pid int, inode uint64) bool {
	return l.Inode == inode && (slices.Contains(l.Waiters, pid) || slices.Contains(l.Waiters, -1))
}

// FileLocks lists the locks of files that somebody waits for, of the whole machine (/proc/locks). It takes a microsecond or two for each lock that
// somebody has. The error is that of reading the file.
func FileLocks() ([]FileLock, error) {
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil, fmt.Errorf("reading the locks of files: %w", err)
	}
	return parseFileLocks(text), nil
}

// parseFileLocks reads "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF" and, below each such line, those of the threads that wait for
// the lock, which have an arrow behind the number.
func parseFileLocks(text []byte) (list []FileLock) {
	var last FileLock
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		waits := false
		for len(f) > 1 && bytes.Equal(f[1], []byte("->")) {
			f, waits = f[1:], true
		}
		if len(f) < 6 {
			continue
		}
		pid, err := strconv.Atoi(string(f[4]))
		if err != nil {
			continue
		}
		if !waits {
			last = FileLock{Inode: inodeOf(f[5]), Holder: pid}
			continue
		}
		if len(last.Waiters) > 0 {
			list = list[:len(list)-1]
		}
		last.Waiters = append(last.Waiters, pid)
		list = append(list, last)
	}
	return list
}

// inodeOf reads INODE of "MAJOR:MINOR:INODE"; 0 if it is none.
func inodeOf(file []byte) uint64 {
	n, err := strconv.ParseUint(string(file[bytes.LastIndexByte(file, ':')+1:]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
