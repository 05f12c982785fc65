package arch

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestEndsInCall(t *testing.T) {
	for _, c := range []struct {
		what string
		code []byte
		want bool
	}{
		{"call rel32", []byte{0x90, 0x90, Call, 1, 2, 3, 4}, true},
		{"call *%rax", []byte{0, 0, 0, 0, 0, 0xFF, 0xD0}, true},
		{"call *8(%rax)", []byte{0, 0, 0, 0, 0xFF, 0x50, 8}, true},
		{"call *table(,%rax,8)", []byte{0xFF, 0x14, 0xC5, 1, 2, 3, 4}, true},
		{"call *of a linkage table", []byte{0, 0xFF, 0x15, 1, 2, 3, 4}, true},
		{"jmp rel32", []byte{0x90, 0x90, Jump, 1, 2, 3, 4}, false},
		{"jmp *%rax", []byte{0, 0, 0, 0, 0, 0xFF, 0xE0}, false},
		{"push", []byte{0, 0, 0, 0, 0, 0xFF, 0x30}, false},
	} {
		if len(c.code) != LongestCall {
			t.Fatalf("%s: %d bytes", c.what, len(c.code))
		}
		if got := EndsInCall(c.code); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

func TestBranches(t *testing.T) {
	for op := range 256 {
		b := byte(op)
		if IsCallOrJump(b) != (b == 0xE8 || b == 0xE9) || IsFarCond(b) != (b >= 0x80 && b <= 0x8F) {
			t.Errorf("%#x: call or jump %v, conditional %v", b, IsCallOrJump(b), IsFarCond(b))
		}
	}
	for n, code := range Nops {
		if len(code) != n {
			t.Errorf("the nop of %d bytes has %d", n, len(code))
		}
	}
}

func TestRegisters(t *testing.T) {
	r := &unix.PtraceRegs{Rip: 1, Rsp: 2, Fs_base: 3, Rdi: 4, Orig_rax: unix.SYS_FUTEX, Rax: ^uint64(511)}
	if PC(r) != 1 || SP(r) != 2 || ThreadPointer(r) != 3 || FirstArg(r) != 4 || !Calls(r, unix.SYS_FUTEX) || Calls(r, unix.SYS_READ) {
		t.Error("the registers of a stopped thread are mixed up")
	}
	again := &unix.PtraceRegs{Orig_rax: ^uint64(0), Rax: unix.SYS_FUTEX}
	if !Calls(again, unix.SYS_FUTEX) {
		t.Error("a call that will be made again is not seen")
	}
}

func TestCalls(t *testing.T) {
	for nr, want := range map[int][2]bool{unix.SYS_EPOLL_WAIT: {true, false}, unix.SYS_RT_SIGTIMEDWAIT: {true, false}, unix.SYS_READ: {false, true},
		unix.SYS_SENDFILE: {false, true}, unix.SYS_PWRITEV2: {false, true}, unix.SYS_FUTEX: {false, false}, -1: {false, false}} {
		if got := [2]bool{IsIdle(nr), WaitsForDescriptor(nr)}; got != want {
			t.Errorf("system call %d: idle and for a descriptor %v, want %v", nr, got, want)
		}
	}
}

// TestFileLocks: flock waits, whatever its descriptor is; of fcntl two commands do, whatever is above 32 bits.
func TestFileLocks(t *testing.T) {
	for _, c := range []struct {
		nr     int
		second uint64
		want   bool
	}{{unix.SYS_FLOCK, unix.LOCK_EX, true}, {unix.SYS_FCNTL, unix.F_SETLKW, true}, {unix.SYS_FCNTL, 1<<32 | unix.F_OFD_SETLKW, true},
		{unix.SYS_FCNTL, unix.F_SETLK, false}, {unix.SYS_FCNTL, unix.F_SETFL, false}, {unix.SYS_READ, unix.F_SETLKW, false}, {-1, 0, false}} {
		if got := WaitsForFileLock(c.nr, c.second); got != c.want {
			t.Errorf("system call %d with %#x: %v, want %v", c.nr, c.second, got, c.want)
		}
	}
}
