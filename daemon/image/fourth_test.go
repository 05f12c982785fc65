package image

import (
	"testing"

	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/trampoline/x86"
)

// What may stand behind a system call of four arguments.
const fourthC = `
#define F(name, before, behind) __attribute__((naked)) long name(void) { __asm__(before " mov $232, %eax; syscall; " behind); }
F(wrapper, "mov %ecx, %r10d;", "cmp $-4096, %rax; ja 1f; ret; 1: neg %eax; mov $-1, %eax; ret")
F(set_in_another_part, "jmp 2f; 1:", "ret; 2: mov %rcx, %r10; jmp 1b")
F(calls_what_keeps_it, "mov %rcx, %r10;", "call returns; ret")
F(goes_to_another, "mov %rcx, %r10;", "jmp returns")
F(written_before_read, "mov %rcx, %r10;", "mov $1, %r10d; mov %r10, %rax; ret")
F(trap_behind, "mov %rcx, %r10;", "test %eax, %eax; jns 1f; ret; 1: ud2")
F(never_writes, "", "ret")
F(reads_it, "mov %rcx, %r10;", "mov %r10, %rdx; ret")
F(reads_it_on_one_way, "mov %rcx, %r10;", "test %eax, %eax; js 1f; ret; 1: push %r10; pop %rdx; ret")
F(calls_what_reads_it, "mov %rcx, %r10;", "call reads; ret")
F(reads_it_after_a_call, "mov %rcx, %r10;", "call returns; mov %r10, %rdx; ret")
F(calls_again_with_it, "mov %rcx, %r10; 1:", "cmp $-4, %rax; je 1b; ret")
F(goes_on_by_a_pointer, "mov %rcx, %r10;", "jmp *(%rdx)")
F(half_written, "mov %rcx, %r10;", "mov $1, %r10b; ret")
__attribute__((naked)) void returns(void) { __asm__("xor %eax, %eax; ret"); }
__attribute__((naked)) void reads(void) { __asm__("mov %r10, %rax; ret"); }
int main(void) { return 0; }
`

func TestFourthIsSpent(t *testing.T) {
	o := openFile(t, testprog.BuildSource(t, fourthC, "-O2"), "prog")
	for name, want := range map[string]bool{
		"wrapper": true, "set_in_another_part": true, "calls_what_keeps_it": true, "goes_to_another": true, "written_before_read": true, "trap_behind": true,
		"never_writes": false, "reads_it": false, "reads_it_on_one_way": false, "calls_what_reads_it": false, "reads_it_after_a_call": false,
		"calls_again_with_it": false, "goes_on_by_a_pointer": false, "half_written": false,
	} {
		if got := o.FourthIsSpent(behindSyscall(t, o, one(t, o, name))); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if main := one(t, o, "main"); o.FourthIsSpent(main.Addr + 2) {
		t.Error("main makes no system call")
	}
}

// TestFourthOfLibc: the wrappers that servers wait in are among those that are proven.
func TestFourthOfLibc(t *testing.T) {
	o := openFile(t, require.Object(t, "libc.so.6"), "libc.so.6")
	for _, name := range []string{"epoll_wait", "epoll_pwait", "semtimedop", "syscall"} {
		f, w := flowOf(t, o, name)
		n := 0
		for _, in := range w.Insts {
			if in.Opcode != opSyscall {
				continue
			}
			if n++; !o.FourthIsSpent(in.End()) {
				t.Errorf("%s: not proven behind the call at +%#x", name, in.Addr-f.Addr)
			}
		}
		if n == 0 {
			t.Errorf("%s makes no system call", name)
		}
	}
}

func behindSyscall(t *testing.T, o *Object, f *Function) uint64 {
	t.Helper()
	for at := f.Addr; at < f.Addr+f.Size; {
		in, _, ok := o.instructionAt(at)
		if !ok {
			break
		}
		if in.Flow == x86.FlowSyscall {
			return in.End()
		}
		at = in.End()
	}
	t.Fatalf("%s makes no system call", f.Name)
	return 0
}
