package resume

import (
	"encoding/binary"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// What the filters of a thread (seccomp(2)) say to a call. They are programs of the classic BPF, which the kernel shows to who has
// CAP_SYS_ADMIN while the thread is stopped (PTRACE_SECCOMP_GET_FILTER).

// A filterSet is what is known of one thread's filters.
type filterSet struct {
	present  bool // some call may be refused
	programs [][]unix.SockFilter
	unknown  bool // they are there but cannot be read
}

const (
	maxFilterLength = 4096 // BPF_MAXINSNS
	maxFilters      = 512  // far more than the kernel lets one thread have of any length
)

// filtersOf reads the filters of a stopped thread. Where there are none it takes one call.
func filtersOf(pid, tid int) filterSet {
	var set filterSet
	for i := range maxFilters {
		n, err := raw.SeccompFilter(tid, i, nil)
		switch {
		case err == unix.EINVAL: // no filter mode
			return set
		case err == unix.ENOENT && i > 0:
			return set
		case err != nil || n <= 0 || n > maxFilterLength:
			return unreadable(pid, tid)
		}
		set.present = true
		program := make([]unix.SockFilter, n)
		if got, err := raw.SeccompFilter(tid, i, program); err != nil || got != n {
			return unreadable(pid, tid)
		}
		set.programs = append(set.programs, program)
	}
	return filterSet{present: true, unknown: true}
}

// unreadable is what is known without the right to read filters.
func unreadable(pid, tid int) filterSet {
	s, err := raw.ReadStatus(pid, tid)
	present := err != nil || s.Seccomp != 0
	return filterSet{present: present, unknown: present}
}

// allow says whether all filters let a thread in this state make a call: not one may refuse it, answer for it or hand it to somebody else.
func (s *filterSet) allow(nr uint64, r *unix.PtraceRegs) bool {
	return s.answer(nr, r, unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_LOG)
}

// ask says whether all filters let a thread make a call, or ask a supervisor, who is asked again after a signal too.
func (s *filterSet) ask(nr uint64, r *unix.PtraceRegs) bool {
	return s.answer(nr, r, unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_LOG, unix.SECCOMP_RET_USER_NOTIF)
}

// answer says whether each filter answers to a call with one of some actions.
func (s *filterSet) answer(nr uint64, r *unix.PtraceRegs, actions ...uint32) bool {
	data := seccompData(nr, r)
	for _, program := range s.programs {
		verdict, err := runFilter(program, data)
		if err != nil || !slices.Contains(actions, verdict&unix.SECCOMP_RET_ACTION_FULL) {
			return false
		}
	}
	return !s.unknown
}

// seccompData is what a filter sees of a call: struct seccomp_data.
func seccompData(nr uint64, r *unix.PtraceRegs) []byte {
	b := make([]byte, 0, 64)
	b = binary.LittleEndian.AppendUint32(b, uint32(nr))
	b = binary.LittleEndian.AppendUint32(b, archX86_64)
	for _, v := range []uint64{r.Rip, r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

var errFilter = errors.New("a filter with instructions that the kernel does not take")

// runFilter interprets one filter (Linux, kernel/seccomp.c and net/core/filter.c: the instructions that seccomp_check_filter permits).
func runFilter(program []unix.SockFilter, data []byte) (uint32, error) {
	var a, x uint32
	var mem [16]uint32
	for pc := 0; pc < len(program); pc++ {
		in := program[pc]
		operand := in.K
		if in.Code&unix.BPF_X != 0 {
			operand = x
		}
		switch in.Code & 7 {
		case unix.BPF_LD, unix.BPF_LDX:
			v, ok := filterLoad(in, data, &mem)
			if !ok {
				return 0, errFilter
			}
			if in.Code&7 == unix.BPF_LD {
				a = v
			} else {
				x = v
			}
		case unix.BPF_ST, unix.BPF_STX:
			if in.K >= uint32(len(mem)) {
				return 0, errFilter
			}
			if mem[in.K] = a; in.Code&7 == unix.BPF_STX {
				mem[in.K] = x
			}
		case unix.BPF_ALU:
			if in.Code&0xf0 == unix.BPF_DIV && operand == 0 {
				return 0, nil // the kernel's programs end so: SECCOMP_RET_KILL
			}
			a = filterALU(in.Code&0xf0, a, operand)
		case unix.BPF_JMP:
			pc += filterJump(in, a, operand)
		case unix.BPF_RET:
			if in.Code&unix.BPF_A != 0 {
				return a, nil
			}
			return in.K, nil
		case unix.BPF_MISC:
			if in.Code&unix.BPF_TXA != 0 {
				a = x
			} else {
				x = a
			}
		}
	}
	return 0, errFilter
}

func filterLoad(in unix.SockFilter, data []byte, mem *[16]uint32) (uint32, bool) {
	switch in.Code & 0xe0 {
	case unix.BPF_ABS:
		if in.K%4 != 0 || int(in.K) > len(data)-4 {
			return 0, false
		}
		return binary.LittleEndian.Uint32(data[in.K:]), true
	case unix.BPF_IMM:
		return in.K, true
	case unix.BPF_LEN:
		return uint32(len(data)), true
	case unix.BPF_MEM:
		if in.K < uint32(len(mem)) {
			return mem[in.K], true
		}
	}
	return 0, false
}

func filterALU(op uint16, a, v uint32) uint32 {
	switch op {
	case unix.BPF_ADD:
		return a + v
	case unix.BPF_SUB:
		return a - v
	case unix.BPF_MUL:
		return a * v
	case unix.BPF_DIV:
		return a / v
	case unix.BPF_OR:
		return a | v
	case unix.BPF_AND:
		return a & v
	case unix.BPF_XOR:
		return a ^ v
	case unix.BPF_LSH:
		return a << (v & 31)
	case unix.BPF_RSH:
		return a >> (v & 31)
	case unix.BPF_NEG:
		return -a
	}
	return a
}

// filterJump is how many instructions a jump leaves out.
func filterJump(in unix.SockFilter, a, v uint32) int {
	var taken bool
	switch in.Code & 0xf0 {
	case unix.BPF_JA:
		return int(in.K)
	case unix.BPF_JEQ:
		taken = a == v
	case unix.BPF_JGT:
		taken = a > v
	case unix.BPF_JGE:
		taken = a >= v
	case unix.BPF_JSET:
		taken = a&v != 0
	}
	if taken {
		return int(in.Jt)
	}
	return int(in.Jf)
}
