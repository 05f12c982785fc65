package kernel

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// BlockedCall says where a thread stands in the kernel (/proc/PID/task/TID/syscall).
type BlockedCall struct {
	// Running is true if the thread runs or is ready to; nothing else is known then.
	Running bool
	// NR is the number of the system call in which the thread is blocked, or -1 if it is blocked elsewhere (in a page
	// fault, or stopped).
	NR int
	// Args are the six arguments as the thread passed them; meaningful if NR >= 0.
	Args [6]uint64
	// SP and PC are the thread's user-mode stack pointer and program counter.
	SP, PC uint64
}

// Blocked reads in which system call a thread is blocked, without stopping it. It needs the right to trace the process
// (else *NotPermitted); the error wraps ErrGone if there is no such thread, and is *Unsupported if the kernel has no such file.
func Blocked(pid, tid int) (BlockedCall, error) {
	var buf [256]byte
	dir := "/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid)
	text, err := readAt(unix.AT_FDCWD, dir+"/syscall", buf[:])
	if err == nil {
		if call, ok := parseSyscall(text); ok {
			return call, nil
		}
	}
	what := fmt.Sprintf("reading the system call of thread %d of process %d", tid, pid)
	switch {
	case err == nil:
		return BlockedCall{}, fmt.Errorf("%s: %q has a form that this program does not know", what, text)
	case err == unix.ENOENT && unix.Access(dir+"/stat", unix.F_OK) == nil:
		return BlockedCall{}, &Unsupported{What: what, Needs: "a kernel with CONFIG_HAVE_ARCH_TRACEHOOK (/proc/PID/syscall)"}
	}
	return BlockedCall{}, explain(what, err)
}

// parseSyscall reads "running", "-1 SP PC" or "NR ARG*6 SP PC", the latter in hexadecimal.
func parseSyscall(text []byte) (call BlockedCall, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) == 1 && string(fields[0]) == "running" {
		return BlockedCall{Running: true, NR: -1}, true
	}
	if len(fields) != 3 && len(fields) != 9 {
		return BlockedCall{}, false
	}
	nr, err := strconv.ParseInt(string(fields[0]), 10, 32)
	if err != nil || nr < -1 || len(fields) == 3 && nr != -1 {
		return BlockedCall{}, false
	}
	call.NR = int(nr)
	var words [8]uint64
	at := len(words) - (len(fields) - 1)
	for i, f := range fields[1:] {
		if words[at+i], err = strconv.ParseUint(string(f), 0, 64); err != nil {
			return BlockedCall{}, false
		}
	}
	copy(call.Args[:], words[:6])
	call.SP, call.PC = words[6], words[7]
	return call, true
}
