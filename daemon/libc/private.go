package libc

import "strings"

// Locks that the C library has for itself are in no header. What such a lock guards is known by the function that waits for it.

// guarded is what the locks guard that functions wait for, by the function without the underscores and the words in front by which glibc
// calls its own copy of it.
var guarded = map[string]string{}

func init() {
	add := func(what string, functions ...string) {
		for _, f := range functions {
			guarded[f] = what
		}
	}
	add("malloc arena", "malloc", "calloc", "realloc", "free", "cfree", "reallocarray", "memalign", "aligned_alloc", "posix_memalign", "valloc",
		"pvalloc", "mid_memalign", "malloc_trim", "malloc_info", "malloc_stats", "malloc_consolidate", "mallinfo", "mallinfo2", "mallopt")
	add("environment", "setenv", "unsetenv", "putenv", "clearenv", "add_to_environ")
	add("time zone", "localtime", "localtime_r", "gmtime", "gmtime_r", "mktime", "timelocal", "timegm", "tzset", "strftime", "strftime_l", "tz_convert")
	add("random numbers", "random", "rand", "srandom", "srand", "initstate", "setstate")
	add("functions at exit", "exit", "atexit", "cxa_atexit", "on_exit", "cxa_finalize", "run_exit_handlers", "new_exitfn")
}

// GuardedIn is what the lock guards that a function of the C library waits for, where that is known: "malloc arena".
func GuardedIn(function string) (what string, ok bool) {
	function, _, _ = strings.Cut(strings.TrimLeft(function, "_"), ".")
	for _, own := range []string{"libc_", "int_", "GI_"} {
		if rest, is := strings.CutPrefix(function, own); is {
			function = strings.TrimLeft(rest, "_")
			break
		}
	}
	what, ok = guarded[function]
	return what, ok
}

// Standard are the streams that every program has, by their names in C and for the linker.
var Standard = []struct{ Name, Symbol string }{
	{"stdout", "_IO_2_1_stdout_"}, {"stderr", "_IO_2_1_stderr_"}, {"stdin", "_IO_2_1_stdin_"},
}
