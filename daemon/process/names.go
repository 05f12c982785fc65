package process

import (
	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
	"culprit/daemon/process/resume"
	"culprit/daemon/process/textdiff"
)

// What of the packages below is part of the vocabulary of this package.
type (
	// An Addr is an address in the target. It is never a pointer of ours.
	Addr = raw.Addr
	// Perms are the permissions of a mapping.
	Perms = raw.Perms
	// A Mapping is one line of /proc/PID/maps.
	Mapping = raw.Mapping
	// A Stopped is one thread at rest.
	Stopped = raw.Stopped
	// Blocked tells what a thread is waiting in, read without disturbing it.
	Blocked = raw.Blocked
	// A Piece is memory of the target that is read together with others.
	Piece = raw.Piece
	// A Diff is a run of bytes in executable memory that is not as in its file.
	Diff = textdiff.Diff
	// A Headroom says how many bytes a process may still have of what is limited.
	Headroom = raw.Headroom
	// A Sequence is a restartable sequence (rseq(2)): code of Length bytes at Start. A thread that is preempted there goes on at Abort.
	Sequence = remote.Sequence
	// Deadlines knows when waits would have ended that were broken off, on the monotonic clock, as far as the kernel tells.
	Deadlines = resume.Deadlines
	// Unsupported says that the target is of a kind that cannot be handled, and what would have to be different.
	Unsupported = raw.Unsupported
	// Deferred says that one thread could not be stopped in time. Everything was resumed; try again later.
	Deferred = raw.Deferred
	// WriteError says that bytes could not be written, or that other bytes were read back.
	WriteError = raw.WriteError
)

// The permission bits. Shared is set for MAP_SHARED, clear for a private mapping.
const (
	Read   = raw.Read
	Write  = raw.Write
	Exec   = raw.Exec
	Shared = raw.Shared
)

// Unlimited is a headroom that nothing bounds, as far as can be seen.
const Unlimited = raw.Unlimited

// ThreadState is the state letter of a thread in /proc, 'X' when it no longer exists.
func ThreadState(pid, tid int) byte { return raw.ThreadState(pid, tid) }

// FrozenBy is the control group that has frozen a process, "" if none has, or that is not known. It is safe to show.
func FrozenBy(pid int) string { return raw.CleanName(raw.FrozenBy(pid, pid).By) }

// OwnMaps lists the mappings of this process.
func OwnMaps() ([]Mapping, error) { return raw.OwnMaps() }

// VectorSize is how many bytes XSAVE needs to save these parts of the vector state in its standard form, or those of them that the
// processor has. ok is false where the processor or the system has no XSAVE.
func VectorSize(parts uint32) (size int, ok bool) { return remote.VectorSize(parts) }

// DiffText compares the mapped code of files with them and gives the differences in order of address; none means that it is as it was loaded.
func (p *Process) DiffText() ([]Diff, error) { return textdiff.Text(p) }

// DiffMoved does that for memory of the program's own that lies where a file's code was.
func (p *Process) DiffMoved() ([]Diff, error) { return textdiff.Moved(p) }
