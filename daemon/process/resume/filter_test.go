package resume

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

var long = flag.Bool("long", false, "run many random filters")

// filterSeed is the variable with which this test binary is started anew as a process that puts filters onto itself.
const filterSeed = "FILTER_TEST_SEED"

func TestMain(m *testing.M) {
	if seed := os.Getenv(filterSeed); seed != "" {
		os.Exit(filterHelper(seed))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// Numbers that no kernel has a call for: filters under test answer for them, and let all others pass.
const firstFake, fakes = 3000, 40

// filterHelper puts random filters onto its thread, one on the other, and compares what the kernel answers with what the interpreter says.
func filterHelper(seed string) int {
	runtime.LockOSThread()
	n, _ := strconv.ParseUint(seed, 10, 64)
	rng := rand.New(rand.NewPCG(n, 1))
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	var programs [][]unix.SockFilter
	for range 4 {
		f := randomFilter(rng)
		prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
		if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
			fmt.Println("prctl", err, f)
			return 1
		}
		programs = append(programs, f)
	}
	for range 4000 {
		nr, a, b := uint64(firstFake+rng.IntN(fakes)), rng.Uint64(), uint64(rng.IntN(4))
		_, _, e := unix.RawSyscall(uintptr(nr), uintptr(a), uintptr(b), 0)
		want := uint32(unix.SECCOMP_RET_ALLOW)
		for i := range programs { // the newest runs first, and of equal actions it is the first that counts
			got, err := runFilter(programs[len(programs)-1-i], seccompData(nr, &unix.PtraceRegs{Rdi: a, Rsi: b}))
			if err != nil {
				fmt.Println(err)
				return 1
			}
			if int32(got&unix.SECCOMP_RET_ACTION_FULL) < int32(want&unix.SECCOMP_RET_ACTION_FULL) {
				want = got
			}
		}
		answer := unix.ENOSYS
		if want&unix.SECCOMP_RET_ACTION_FULL == unix.SECCOMP_RET_ERRNO {
			answer = unix.Errno(want & unix.SECCOMP_RET_DATA)
		}
		if e != answer {
			fmt.Printf("call %d(%#x, %d): the kernel answers %d, the interpreter %#x\n%v\n", nr, a, b, e, want, programs)
			return 1
		}
	}
	return 0
}

// randomFilter computes something of the call's number and arguments and answers with it as an error, or lets the call pass.
func randomFilter(rng *rand.Rand) []unix.SockFilter {
	stmt := func(code int, k uint32) unix.SockFilter { return unix.SockFilter{Code: uint16(code), K: k} }
	load := func(at uint32) unix.SockFilter { return stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at) }
	f := []unix.SockFilter{load(0), {Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: firstFake, Jt: 1}, stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW)}
	f = append(f, stmt(unix.BPF_LDX|unix.BPF_W|unix.BPF_IMM, rng.Uint32()), stmt(unix.BPF_ST, 3), stmt(unix.BPF_STX, 7))
	alu := []int{unix.BPF_ADD, unix.BPF_SUB, unix.BPF_MUL, unix.BPF_DIV, unix.BPF_OR, unix.BPF_AND, unix.BPF_XOR, unix.BPF_LSH, unix.BPF_RSH, unix.BPF_NEG}
	jumps := []int{unix.BPF_JEQ, unix.BPF_JGT, unix.BPF_JGE, unix.BPF_JSET}
	source := []int{unix.BPF_K, unix.BPF_X}
	const steps = 12
	for i := range steps {
		switch rng.IntN(8) {
		case 0:
			f = append(f, load([]uint32{0, 4, 16, 20, 24}[rng.IntN(5)]))
		case 1:
			f = append(f, stmt(unix.BPF_LDX|unix.BPF_W|unix.BPF_MEM, []uint32{3, 7}[rng.IntN(2)]))
		case 2:
			f = append(f, stmt(unix.BPF_MISC|[]int{unix.BPF_TAX, unix.BPF_TXA}[rng.IntN(2)], 0))
		case 3:
			f = append(f, stmt(unix.BPF_LD|unix.BPF_W|[]int{unix.BPF_LEN, unix.BPF_IMM}[rng.IntN(2)], rng.Uint32N(8)))
		case 4:
			left := steps - 1 - i
			f = append(f, unix.SockFilter{Code: uint16(unix.BPF_JMP | jumps[rng.IntN(4)] | source[rng.IntN(2)]), K: rng.Uint32() >> rng.IntN(32), Jt: uint8(rng.IntN(left + 1)), Jf: uint8(rng.IntN(left + 1))})
		case 5:
			f = append(f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(rng.IntN(min(2, steps-i)))})
		default:
			op := alu[rng.IntN(len(alu))]
			k, src := rng.Uint32(), source[rng.IntN(2)]
			switch op {
			case unix.BPF_LSH, unix.BPF_RSH:
				k, src = k%32, unix.BPF_K // shifts by more are not defined
			case unix.BPF_DIV:
				k, src = k|1, unix.BPF_K // whoever divides by 0 is killed
			case unix.BPF_NEG:
				src = unix.BPF_K
			}
			f = append(f, stmt(unix.BPF_ALU|op|src, k))
		}
	}
	f = append(f, stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0x7ff), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 1, Jt: 1},
		stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW), stmt(unix.BPF_ALU|unix.BPF_OR|unix.BPF_K, unix.SECCOMP_RET_ERRNO), stmt(unix.BPF_RET|unix.BPF_A, 0))
	return f
}

// TestFiltersAsTheKernelRunsThem compares the interpreter with the kernel on random filters.
func TestFiltersAsTheKernelRunsThem(t *testing.T) {
	rounds := 30
	if *long {
		rounds = 1000
	}
	for range rounds {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", filterSeed, 1+rand.IntN(1<<30)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// TestFilterThatAllows: where all filters of a thread let restart_syscall pass it is left to the kernel, which knows the rest of the wait.
func TestFilterThatAllows(t *testing.T) {
	allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	deny := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_RESTART_SYSCALL, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRAP}, {Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_LOG}}
	r := &unix.PtraceRegs{}
	for _, c := range []struct {
		set  filterSet
		nr   uint64
		want bool
	}{
		{filterSet{present: true, programs: [][]unix.SockFilter{allow}}, unix.SYS_RESTART_SYSCALL, true},
		{filterSet{present: true, programs: [][]unix.SockFilter{allow, deny}}, unix.SYS_RESTART_SYSCALL, false},
		{filterSet{present: true, programs: [][]unix.SockFilter{deny, allow}}, unix.SYS_POLL, true},
		{filterSet{present: true, unknown: true}, unix.SYS_RESTART_SYSCALL, false},
		{filterSet{present: true, programs: [][]unix.SockFilter{{{Code: unix.BPF_JMP | unix.BPF_JA, K: 9}}}}, unix.SYS_POLL, false},
	} {
		if got := c.set.allow(c.nr, r); got != c.want {
			t.Errorf("%v for call %d: %v", c.set, c.nr, got)
		}
	}
}
