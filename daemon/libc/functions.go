package libc

// Functions of the C library and of the thread library.
const (
	// Syscall makes the system call that it is given. Locks of the C library do not use it.
	Syscall = "syscall"
	// SetCancelType lets a thread be cancelled at any instruction.
	SetCancelType = "pthread_setcanceltype"
)

// Exits end the program or the thread.
func Exits() []string { return []string{"exit", "_exit", "pthread_exit"} }

// starters are below the first function of a thread: the thread library, the system call, and what calls main.
var starters = map[string]bool{"start_thread": true, "clone": true, "clone3": true, "__clone": true, "__clone3": true,
	"__libc_start_main": true, "__libc_start_call_main": true, "_start": true}

// StartsThreads reports whether a function, by its name for the linker, starts threads or the program: what it calls is the first function of
// a thread.
func StartsThreads(linkage string) bool { return starters[linkage] }

// blockers are the functions that wait in a system call, besides those that wait for locks: for files, for readiness, for time, for processes.
var blockers = map[string]bool{}

func init() {
	for _, n := range []string{
		"read", "pread", "pread64", "readv", "preadv", "preadv64", "write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev64",
		"recv", "recvfrom", "recvmsg", "recvmmsg", "send", "sendto", "sendmsg", "sendmmsg", "sendfile", "sendfile64", "splice",
		"fsync", "fdatasync", "sync_file_range", "syncfs", "msync", "flock", "fcntl", "fcntl64", "lockf", "lockf64", "open", "open64", "openat", "openat64", "close",
		"poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "connect", "accept", "accept4",
		"sleep", "usleep", "nanosleep", "clock_nanosleep", "pause", "sigwait", "sigwaitinfo", "sigtimedwait",
		"wait", "waitpid", "wait3", "wait4", "waitid", Syscall,
	} {
		blockers[n] = true
	}
}

// MayBlock reports whether a function of the C library, by its name for the linker, is one in which a thread may wait for long.
func MayBlock(linkage string) bool {
	_, locks := WaitIn(linkage)
	return locks || blockers[linkage]
}

// OwnSignals is the set of signals that the C library handles itself; bit n-1 is signal n. glibc and musl cancel threads by 32, and have all
// threads change their user by 33 (nptl/nptl_signals.h; src/internal/pthread_impl.h).
const OwnSignals = 1<<(32-1) | 1<<(33-1)
