package libc

import "strings"

// Kinds of what threads wait for in memory.
const (
	Mutex     = "Mutex"
	RWLock    = "RWLock"
	SpinLock  = "SpinLock"
	CondVar   = "CondVar"
	Barrier   = "Barrier"
	Semaphore = "Semaphore"
	Thread    = "Thread"      // its end
	Once      = "Once"        // that another thread has initialised a variable
	Futex     = "Futex"       // the lock of a language's library, or of the program
	Library   = "LibraryLock" // one that the C library has for itself
)

// A Wait is what a function of the C library waits for.
type Wait struct {
	Kind  string
	Words []uint64 // offsets of the futex words in the lock
}

// Other is the wait of a function that is none of the C library's: the word is the lock.
var Other = Wait{Futex, []uint64{0}}

// WaitIn is what a function waits for, if it is one of the C library's that wait. Compilers call their copies of a function by its name and a
// suffix: .constprop.0.
func WaitIn(name string) (Wait, bool) {
	name, _, _ = strings.Cut(name, ".")
	kind, ok := waiters[name]
	if !ok {
		return Wait{}, false
	}
	w, known := words[kind]
	if !known {
		return Lock(kind), true
	}
	return Wait{kind, w}, true
}

// Lock is the wait for a lock of a kind whose first word is waited for, as far as anybody knows.
func Lock(kind string) Wait { return Wait{kind, []uint64{0}} }

// waiters are the functions that wait, with what they wait for. Those with two underscores are what the others call or jump to.
var waiters = map[string]string{}

func init() {
	add := func(kind string, names ...string) {
		for _, n := range names {
			waiters[n] = kind
		}
	}
	add(Mutex, "pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "__pthread_mutex_lock", "___pthread_mutex_lock",
		"__pthread_mutex_lock_full", "__pthread_mutex_cond_lock", "__pthread_mutex_clocklock_common", "mtx_lock", "mtx_timedlock")
	add(RWLock, "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timedrdlock",
		"pthread_rwlock_timedwrlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock")
	add(CondVar, "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_wait", "cnd_timedwait")
	add(Barrier, "pthread_barrier_wait")
	add(Semaphore, "sem_wait", "sem_timedwait", "sem_clockwait", "__new_sem_wait_slow64", "__new_sem_wait_slow32")
	add(Thread, "pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "__pthread_clockjoin_ex", "thrd_join")
	add(Once, "__cxa_guard_acquire") // of the C++ library, for a static variable of a function
	add(Library, libraryWait)
}

// users are the kinds of lock that a function's first argument is, by how its name begins.
var users = []struct{ prefix, kind string }{
	{"pthread_mutex_", Mutex}, {"pthread_rwlock_", RWLock}, {"pthread_spin_", SpinLock}, {"pthread_cond_", CondVar},
	{"pthread_barrier_", Barrier}, {"sem_", Semaphore}, {"mtx_", Mutex}, {"cnd_", CondVar},
}

const (
	// lowLevelWait is how names of functions begin that wait for the word of a mutex.
	lowLevelWait = "__lll_lock_wait"
	// libraryWait waits for the word of a lock that the C library has for itself.
	libraryWait = "__lll_lock_wait_private"
)

// KindOf is the kind of lock that a function's first argument is, "" if that is not known. What the C library has for itself is not told: only
// the stack of a thread that waits for it says what it is.
func KindOf(function string) string {
	switch {
	case strings.HasPrefix(function, libraryWait):
		return ""
	case strings.HasPrefix(function, lowLevelWait):
		return Mutex
	}
	function = strings.TrimLeft(function, "_")
	for _, u := range users {
		if strings.HasPrefix(function, u.prefix) {
			return u.kind
		}
	}
	return ""
}

// numbered are the kinds of lock that have a number: their place here and 1.
var numbered = []string{Mutex, RWLock, SpinLock, CondVar, Barrier, Semaphore}

// Number is a small number that stands for a kind of lock, 0 for none.
func Number(kind string) byte {
	for i, k := range numbered {
		if k == kind {
			return byte(i + 1)
		}
	}
	return 0
}

// Numbered is the kind of lock that a number stands for, "" if it stands for none.
func Numbered(n byte) string {
	if n == 0 || int(n) > len(numbered) {
		return ""
	}
	return numbered[n-1]
}
