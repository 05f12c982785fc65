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
	t    testing.TB
	pid  int
	boot syscall.PtraceRegs // registers as they were at the start
}

// Where the machine's memory lies.
const (
	origAt    = 0x1000_0000
	dataAt    = 0x3000_0000
	codeSize  = 4096
	dataSize  = 2 * 4096
	dataMid   = dataAt + dataSize/2
	edgeAt    = 0x4000_0000 // one page, and nothing behind it
	edgeEnd   = edgeAt + 4096
	ptSigInfo = 0x4202   // PTRACE_GETSIGINFO
	exitKill  = 0x100000 // PTRACE_O_EXITKILL
	sysWritev = 311      // process_vm_writev
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
	m.mmap(origAt, codeSize)
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

// write writes memory of the child.
func (m *machine) write(addr uint64, buf []byte) {
	local := syscall.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := [2]uint64{addr, uint64(len(buf))}
	n, _, e := syscall.Syscall6(sysWritev, uintptr(m.pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 || int(n) != len(buf) {
		m.t.Fatalf("memory of the child at %#x: %d bytes, %v", addr, n, e)
	}
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
