package threadstats

import "golang.org/x/sys/unix"

// byDescriptor is the reason of system calls that wait for what their first argument is: the descriptor is looked up.
const byDescriptor = 0x1f

// asBefore is the reason of restart_syscall, which goes on with a wait that a stop has interrupted.
const asBefore = 0x1e

// A kind says of a system call, in its low five bits, the reason for which a thread waits in it, and above which quantity counts
// it beside SystemCalls: 1 CallsFutex, 2 CallsIO, 3 CallsMemory.
const (
	reasonBits  = 0x1f
	classShift  = 5
	classOther  = 0
	classFutex  = 1
	classIO     = 2
	classMemory = 3
)

// classes are the quantities of the classes.
var classes = map[int32]Quantity{classFutex: CallsFutex, classIO: CallsIO, classMemory: CallsMemory}

// maxCalls is how many system calls are told apart; x86-64 has fewer than 500.
const maxCalls = 512

// kinds lists the system calls that are not BlockedOther and without a class.
var kinds = []struct {
	reason byte
	class  byte
	calls  []int
}{
	{byte(BlockedFutex), classFutex, []int{
		unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV, unix.SYS_FUTEX_WAKE, unix.SYS_FUTEX_WAIT, unix.SYS_FUTEX_REQUEUE,
	}},
	{byDescriptor, classIO, []int{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV,
		unix.SYS_IOCTL, unix.SYS_SENDFILE, unix.SYS_CONNECT, unix.SYS_ACCEPT, unix.SYS_SENDTO, unix.SYS_RECVFROM,
		unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_FCNTL, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_VMSPLICE,
		unix.SYS_ACCEPT4, unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_RECVMMSG, unix.SYS_SENDMMSG,
		unix.SYS_COPY_FILE_RANGE, unix.SYS_PREADV2, unix.SYS_PWRITEV2,
	}},
	{byte(BlockedFile), classIO, []int{
		unix.SYS_LSEEK, unix.SYS_FLOCK, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC, unix.SYS_SYNCFS,
		unix.SYS_SYNC_FILE_RANGE, unix.SYS_TRUNCATE, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_GETDENTS,
		unix.SYS_GETDENTS64, unix.SYS_READAHEAD, unix.SYS_CLOSE,
	}},
	{byte(BlockedFile), classOther, []int{
		unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_FSTAT,
		unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_STATFS, unix.SYS_ACCESS, unix.SYS_FACCESSAT,
		unix.SYS_FACCESSAT2, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIR, unix.SYS_MKDIRAT,
		unix.SYS_RMDIR, unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_SYMLINK,
		unix.SYS_SYMLINKAT, unix.SYS_READLINK, unix.SYS_READLINKAT, unix.SYS_CHMOD, unix.SYS_FCHMODAT, unix.SYS_CHOWN,
		unix.SYS_FCHOWNAT,
	}},
	{byte(BlockedPoll), classIO, []int{
		unix.SYS_POLL, unix.SYS_PPOLL, unix.SYS_SELECT, unix.SYS_PSELECT6, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT,
		unix.SYS_EPOLL_PWAIT2,
	}},
	{byte(BlockedSleep), classOther, []int{
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
	}},
	{byte(BlockedFile), classMemory, []int{
		unix.SYS_MSYNC,
	}},
	{byte(BlockedOther), classMemory, []int{
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_BRK, unix.SYS_MREMAP, unix.SYS_MINCORE,
		unix.SYS_MADVISE, unix.SYS_MLOCK, unix.SYS_MLOCK2, unix.SYS_MUNLOCK, unix.SYS_MBIND, unix.SYS_MOVE_PAGES,
		unix.SYS_PROCESS_MADVISE,
	}},
	{byte(BlockedOther), classIO, []int{
		unix.SYS_IO_URING_ENTER, unix.SYS_EPOLL_CTL,
	}},
	{asBefore, classOther, []int{
		unix.SYS_RESTART_SYSCALL,
	}},
}

// callKinds is the table that the programs read: a kind for each number.
func callKinds() []byte {
	table := make([]byte, maxCalls)
	for i := range table {
		table[i] = byte(BlockedOther)
	}
	for _, k := range kinds {
		for _, nr := range k.calls {
			table[nr] = k.reason | k.class<<classShift
		}
	}
	return table
}
