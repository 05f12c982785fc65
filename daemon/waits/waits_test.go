package waits

import (
	"slices"
	"testing"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/daemon/stack"
)

const glibc = "libc.so.6"

// through is a stack, innermost first: functions of the C library, and then two of the program's own.
func through(library ...string) (frames []stack.Frame) {
	c, own := &program.Object{Name: glibc}, &program.Object{Name: "server"}
	for _, f := range library {
		frames = append(frames, stack.Frame{Func: &program.Function{Obj: c, Fn: &image.Function{Name: f}}})
	}
	for _, f := range []string{"grow_buffer", "main"} {
		frames = append(frames, stack.Frame{Func: &program.Function{Obj: own, Fn: &image.Function{Name: f}}})
	}
	return frames
}

// TestIn: a wait for the word of a POSIX lock is one for that lock, however the C library goes about it; any other is for a lock of its own.
func TestIn(t *testing.T) {
	for _, c := range []struct {
		library    []string
		kind, user string
		through    []string
	}{
		{[]string{"__lll_lock_wait", "pthread_mutex_lock"}, libc.Mutex, "grow_buffer", []string{"__lll_lock_wait"}},
		{[]string{"__lll_lock_wait_private", "pthread_mutex_lock"}, libc.Mutex, "grow_buffer", []string{"grow_buffer"}},
		{[]string{"__lll_lock_wait_private", "realloc"}, libc.Library, "realloc", []string{"realloc"}},
		{[]string{"__lll_lock_wait_private", "__vfprintf_internal", "fprintf"}, libc.Library, "__vfprintf_internal", []string{"__vfprintf_internal", "fprintf"}},
		{[]string{"__lll_lock_wait_private"}, libc.Library, "grow_buffer", []string{"grow_buffer"}},
		{[]string{"syscall"}, libc.Futex, "", []string{"syscall"}},
	} {
		frames := through(c.library...)
		k, user := In(frames)
		name := ""
		if user != nil {
			name = user.Fn.Name
		}
		if k.Kind != c.kind || name != c.user {
			t.Errorf("%q: a %s in %q, want a %s in %q", c.library, k.Kind, name, c.kind, c.user)
		}
		if got := throughLibrary(frames); !slices.Equal(got, c.through) {
			t.Errorf("%q: through %q, want %q", c.library, got, c.through)
		}
	}
}

// TestLockAt: a condition variable is one lock, whichever of its words is waited for; what begins at no multiple of 8 is taken for what is usual.
func TestLockAt(t *testing.T) {
	cond, ok := libc.WaitIn("pthread_cond_wait")
	if !ok {
		t.Fatal("not known")
	}
	for _, word := range []uint64{0x1028, 0x102c} {
		if got := lockAt(word, cond); got != 0x1000 {
			t.Errorf("%#x is waited for in the lock at %#x", word, got)
		}
	}
	if got := lockAt(0x1004, libc.Other); got != 0x1004 {
		t.Errorf("a futex is at %#x", got)
	}
}
