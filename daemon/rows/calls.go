package rows

// byDescriptor is the reason of system calls that wait for what their first argument is: the descriptor is looked up.
const byDescriptor = 0x1f

// asBefore is the reason of restart_syscall, which goes on with a wait that a stop has interrupted.
const asBefore = 0x1e

// A kind says of a system call, in its low five bits, the reason for which a thread waits in it, and above which quantity counts
// it: 0 CallsOther, 1 CallsFutex, 2 CallsIO, 3 CallsMemory.
const (
	reasonBits  = 0x1f
	classShift  = 5
	classOther  = 0
	classFutex  = 1
	classIO     = 2
	classMemory = 3
)

// classes are the quantities of the classes.
var classes = [...]Quantity{classOther: CallsOther, classFutex: CallsFutex, classIO: CallsIO, classMemory: CallsMemory}

// maxCalls is how many system calls are told apart; x86-64 has fewer than 500.
const maxCalls = 512

// kinds lists the system calls of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl) that are not BlockedOther and CallsOther.
var kinds = []struct {
	reason byte
	class  byte
	calls  []int
}{
	// futex, futex_waitv, futex_wake, futex_wait, futex_requeue
	{byte(BlockedFutex), classFutex, []int{202, 449, 454, 455, 456}},
	// read, write, pread64, pwrite64, readv, writev, ioctl, sendfile, connect, accept, sendto, recvfrom, sendmsg, recvmsg, fcntl,
	// splice, tee, vmsplice, accept4, preadv, pwritev, recvmmsg, sendmmsg, copy_file_range, preadv2, pwritev2
	{byDescriptor, classIO, []int{0, 1, 17, 18, 19, 20, 16, 40, 42, 43, 44, 45, 46, 47, 72, 275, 276, 278, 288, 295, 296, 299, 307, 326, 327, 328}},
	// lseek, flock, fsync, fdatasync, truncate, ftruncate, getdents, getdents64, sync_file_range, fallocate, syncfs, sync, readahead, close
	{byte(BlockedFile), classIO, []int{8, 73, 74, 75, 76, 77, 78, 217, 277, 285, 306, 162, 187, 3}},
	// open, stat, fstat, lstat, access, rename, mkdir, rmdir, creat, link, unlink, symlink, readlink, chmod, chown, statfs, openat,
	// mkdirat, newfstatat, unlinkat, renameat, linkat, readlinkat, faccessat, renameat2, statx, openat2, faccessat2
	{byte(BlockedFile), classOther, []int{2, 4, 5, 6, 21, 82, 83, 84, 85, 86, 87, 88, 89, 90, 92, 137, 257, 258, 262, 263, 264, 265, 267, 269, 316, 332, 437, 439}},
	// poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2
	{byte(BlockedPoll), classIO, []int{7, 23, 232, 270, 271, 281, 441}},
	// nanosleep, clock_nanosleep
	{byte(BlockedSleep), classOther, []int{35, 230}},
	// msync
	{byte(BlockedFile), classMemory, []int{26}},
	// mmap, mprotect, munmap, brk, mremap, mincore, madvise, mlock, munlock, mbind, move_pages, mlock2, process_madvise
	{byte(BlockedOther), classMemory, []int{9, 10, 11, 12, 25, 27, 28, 149, 150, 237, 279, 325, 440}},
	// io_uring_enter, epoll_ctl
	{byte(BlockedOther), classIO, []int{426, 233}},
	// restart_syscall
	{asBefore, classOther, []int{219}},
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
