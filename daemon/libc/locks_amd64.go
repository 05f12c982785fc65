package libc

// words are the offsets of the futex words in a lock, by its kind: glibc's nptl and sysdeps/nptl/bits, for x86-64. Kinds that
// are not here are waited for at their first word. A thread's end has none: the word is in the thread's control block.
var words = map[string][]uint64{
	Mutex:     {0},
	RWLock:    {0, 8, 12},
	CondVar:   {40, 44, 36},
	Barrier:   {4, 0},
	Semaphore: {0, 4},
	Thread:    nil,
	Once:      {0}, // libstdc++ waits for the guard itself (libsupc++/guard.cc)
}

// owners are where in a lock the number of the thread stands that has it: struct __pthread_mutex_s and struct __pthread_rwlock_arch_t of glibc
// for x86-64.
var owners = map[string]uint64{Mutex: 8, RWLock: 24}

// OwnerAt is the offset in a lock of the 4 bytes that hold the number of the thread that has it; false for a kind that does not say.
func OwnerAt(kind string) (offset uint64, ok bool) {
	offset, ok = owners[kind]
	return offset, ok
}
