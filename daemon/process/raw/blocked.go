package raw

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Blocked tells what a thread is waiting in, read without disturbing it.
type Blocked struct {
	Running bool      // it is on a CPU or waits for one; the other fields are zero
	NR      int64     // number of the system call, -1 if it is blocked outside of one (a page fault)
	Args    [6]uint64 // zero if NR is -1
	SP, PC  Addr      // user stack pointer, and the address behind the syscall instruction
}

// BlockedIn reads what a thread waits in from /proc.
func BlockedIn(pid, tid int) (Blocked, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return Blocked{}, err
	}
	return ParseBlocked(string(b))
}

// ParseBlocked reads the text of /proc/PID/task/TID/syscall.
func ParseBlocked(s string) (Blocked, error) {
	f := strings.Fields(s)
	if len(f) == 1 && f[0] == "running" {
		return Blocked{Running: true}, nil
	}
	if len(f) != 3 && len(f) != 9 {
		return Blocked{}, fmt.Errorf("unreadable syscall line %q", s)
	}
	nr, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return Blocked{}, fmt.Errorf("unreadable syscall line %q", s)
	}
	v := make([]uint64, len(f)-1)
	for i := range v {
		if v[i], err = strconv.ParseUint(f[i+1], 0, 64); err != nil {
			return Blocked{}, fmt.Errorf("unreadable syscall line %q", s)
		}
	}
	b := Blocked{NR: nr, SP: Addr(v[len(v)-2]), PC: Addr(v[len(v)-1])}
	if len(v) == 8 {
		copy(b.Args[:], v)
	}
	return b, nil
}

// cutByStops are the calls of which a signal makes a blocked one return a part.
var cutByStops = map[uint64]bool{
	unix.SYS_WRITE: true, unix.SYS_WRITEV: true, unix.SYS_PWRITE64: true, unix.SYS_PWRITEV: true, unix.SYS_PWRITEV2: true,
	unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_SENDFILE: true, unix.SYS_SPLICE: true, unix.SYS_VMSPLICE: true,
	unix.SYS_COPY_FILE_RANGE: true, unix.SYS_GETRANDOM: true,
}

// Cuttable says whether a stop may cut a call that a thread is blocked in. Of those that receive only some wait for more than there is.
func (b *Blocked) Cuttable() bool {
	switch b.NR {
	case unix.SYS_RECVFROM:
		return b.Args[3]&unix.MSG_WAITALL != 0
	case unix.SYS_RECVMSG:
		return b.Args[2]&unix.MSG_WAITALL != 0
	}
	return b.NR >= 0 && cutByStops[uint64(b.NR)]
}

// Splits says whether a call that is broken into after a part of it was done returns that part, which the program does not expect, or worse: recvmmsg has
// the next call on the socket fail.
func (b *Blocked) Splits() bool {
	switch b.NR {
	case unix.SYS_SENDMMSG, unix.SYS_RECVMMSG, unix.SYS_IO_URING_ENTER:
		return true
	}
	return b.Cuttable()
}

// EnteredBy is the call that a thread has entered with some registers.
func EnteredBy(r *unix.PtraceRegs) *Blocked {
	return &Blocked{NR: int64(uint32(r.Orig_rax)), Args: [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}, SP: Addr(r.Rsp), PC: Addr(r.Rip)}
}
