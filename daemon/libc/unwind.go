package libc

// SetIP is the unwinder's function that sets where to go on, a handler or what calls destructors, before the frames below are gone. C++, Rust, Ada and
// others use it.
const SetIP = "_Unwind_SetIP"

// GetCFA is a function of the same unwinder that reads the stack pointer of the frame.
const GetCFA = "_Unwind_GetCFA"

// BeginCatch is what each handler of C++ calls first.
const BeginCatch = "__cxa_begin_catch"

// UnwinderUsers are functions of which an object imports one that handles exceptions and has no unwinder of its own.
func UnwinderUsers() []string {
	return []string{"_Unwind_Resume", "_Unwind_RaiseException", BeginCatch, "__cxa_throw"}
}

// Jumpers leave for where setjmp was called.
func Jumpers() []string { return []string{"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"} }

// ThreadEnds are what glibc calls where it has called a thread's first function, when that has ended in any way. It is the second where no
// object has destructors of thread-local variables.
func ThreadEnds() []string { return []string{"__call_tls_dtors", "__nptl_deallocate_tsd"} }
