package x86

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"culprit/internal/require"
)

// A machine is a stopped child process of the test that executes single instructions in memory of its own. It is used by the
// goroutine that made it only: ptrace belongs to one OS thread.
type machine struct {
	t      testing.TB
	pid    int
	boot   syscall.PtraceRegs // registers as they were at the start
	xstate []byte             // SSE and AVX state as it was at the start
}

// Where the machine's memory lies. Code runs from origAt and from copyAt, a distance apart that no rel8 covers.
const (
	origAt    = 0x1000_0000
	copyAt    = 0x2345_6000
	dataAt    = 0x3000_0000
	codeSize  = 4096
	dataSize  = 2 * 4096
	dataMid   = dataAt + dataSize/2
	edgeAt    = 0x4000_0000 // one page, and nothing behind it
	edgeEnd   = edgeAt + 4096
	ptSigInfo = 0x4202 // PTRACE_GETSIGINFO
	ntXState  = 0x202
	ptGetSet  = 0x4204 // PTRACE_GETREGSET
	ptSetSet  = 0x4205
	exitKill  = 0x100000 // PTRACE_O_EXITKILL
	sysReadv  = 310      // process_vm_readv
	sysWritev = 311
)

// newMachine starts the child: this test program, stopped before its first instruction and never let go.
func newMachine(t testing.TB) *machine {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		if errors.Is(err, syscall.EPERM) {
			require.Skip(t, "no permission to trace a child of this process")
		}
		t.Fatal(err)
	}
	m := &machine{t: t, pid: cmd.Process.Pid}
	t.Cleanup(func() {
		syscall.Kill(m.pid, syscall.SIGKILL)
		var ws syscall.WaitStatus
		syscall.Wait4(m.pid, &ws, 0, nil)
		cmd.Process.Release()
		runtime.UnlockOSThread()
	})
	m.wait()
	m.must(syscall.PtraceSetOptions(m.pid, exitKill), "set options")
	m.must(syscall.PtraceGetRegs(m.pid, &m.boot), "get registers")
	m.xstate = make([]byte, 16<<10)
	m.xstate = m.xstate[:m.regset(ptGetSet, m.xstate)]
	m.mmap(origAt, codeSize)
	m.mmap(copyAt, codeSize)
	m.mmap(dataAt, dataSize)
	m.mmap(edgeAt, edgeEnd-edgeAt)
	// What the program had below is in the way: an instruction would change memory that no case puts back.
	if got := m.call(origAt, syscall.SYS_MUNMAP, 1<<16, origAt-1<<16); got != 0 {
		t.Fatalf("munmap: %#x", got)
	}
	return m
}

// must ends the test on an error of the kernel.
func (m *machine) must(err error, what string) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("%s: %v", what, err)
	}
}

// wait waits for a stop and returns the signal.
func (m *machine) wait() syscall.Signal {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(m.pid, &ws, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		m.must(err, "wait")
		if !ws.Stopped() {
			m.t.Fatalf("the child is gone: %#x", ws)
		}
		return ws.StopSignal()
	}
}

// regset reads or writes the extended state and returns its length.
func (m *machine) regset(req uintptr, buf []byte) int {
	iov := syscall.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, req, uintptr(m.pid), ntXState, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		m.t.Fatalf("extended state: %v", e)
	}
	return int(iov.Len)
}

// call makes a system call by an instruction at address at and returns its result.
func (m *machine) call(at uint64, nr uint64, args ...uint64) uint64 {
	r := m.boot
	_, err := syscall.PtracePokeText(m.pid, uintptr(at), []byte{0x0F, 0x05})
	m.must(err, "poke")
	r.Rip, r.Rax, r.Orig_rax = at, nr, ^uint64(0)
	for i, p := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9} {
		if *p = 0; i < len(args) {
			*p = args[i]
		}
	}
	m.must(syscall.PtraceSetRegs(m.pid, &r), "set registers")
	m.must(syscall.PtraceSingleStep(m.pid), "step")
	m.wait()
	m.must(syscall.PtraceGetRegs(m.pid, &r), "get registers")
	return r.Rax
}

// mmap maps memory for everything at a fixed address, by a system call at the place where the child stands.
func (m *machine) mmap(addr, size uint64) {
	const prot, flags = syscall.PROT_READ | syscall.PROT_WRITE | syscall.PROT_EXEC, syscall.MAP_PRIVATE | syscall.MAP_ANONYMOUS | 0x100000
	if got := m.call(m.boot.Rip, syscall.SYS_MMAP, addr, size, prot, flags, ^uint64(0), 0); got != addr { // 0x100000: MAP_FIXED_NOREPLACE
		m.t.Fatalf("mmap at %#x gave %#x", addr, got)
	}
}

// vm reads or writes memory of the child.
func (m *machine) vm(call uintptr, addr uint64, buf []byte) {
	local := syscall.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := [2]uint64{addr, uint64(len(buf))}
	n, _, e := syscall.Syscall6(call, uintptr(m.pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 || int(n) != len(buf) {
		m.t.Fatalf("memory of the child at %#x: %d bytes, %v", addr, n, e)
	}
}

// A state is everything that an instruction can read or write.
type state struct {
	regs   syscall.PtraceRegs
	xstate []byte
	data   []byte
	signal syscall.Signal
	steps  int
}

// run puts the state in, executes from code at addr until the program counter leaves [addr, addr+n), and returns what became
// of it. A fault ends it as well.
func (m *machine) run(in *state, addr uint64, n int, out *state) {
	m.vm(sysWritev, dataAt, in.data)
	m.regset(ptSetSet, in.xstate)
	out.regs = in.regs
	out.regs.Rip = addr
	m.must(syscall.PtraceSetRegs(m.pid, &out.regs), "set registers")
	for out.steps = 0; out.steps < 100; {
		m.must(syscall.PtraceSingleStep(m.pid), "step")
		out.signal = m.wait()
		out.steps++
		m.must(syscall.PtraceGetRegs(m.pid, &out.regs), "get registers")
		if out.signal != syscall.SIGTRAP || out.regs.Rip-addr >= uint64(n) {
			break
		}
	}
	m.regset(ptGetSet, out.xstate)
	m.vm(sysReadv, dataAt, out.data)
	clearVolatile(out.xstate)
}

// clearVolatile clears what the processor fills in as it likes: the address of the last x87 instruction and operand, and the
// header that says which parts are in use.
func clearVolatile(x []byte) {
	clear(x[6:24])
	clear(x[512:576])
	binary.LittleEndian.PutUint32(x[28:], 0) // MXCSR_MASK
}

// step executes one instruction at addr with the registers given and returns the signal and, for a fault, its address.
func (m *machine) step(regs syscall.PtraceRegs, addr uint64) (syscall.Signal, uint64) {
	regs.Rip = addr
	m.must(syscall.PtraceSetRegs(m.pid, &regs), "set registers")
	m.must(syscall.PtraceSingleStep(m.pid), "step")
	sig := m.wait()
	var info [128]byte
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, ptSigInfo, uintptr(m.pid), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		m.t.Fatalf("signal information: %v", e)
	}
	return sig, binary.LittleEndian.Uint64(info[16:])
}
