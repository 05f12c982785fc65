package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/image/unwind"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/trampoline/x86"
)

// The processor is the oracle: a program is single-stepped through main, and every transfer of control and every stack frame
// that really happens, in the program and in the libraries, must be among those that Flow and Unwind say.

// A tracee is a stopped child of the test.
type tracee struct {
	t    *testing.T
	pid  int
	mem  *os.File
	objs []*mapped
}

type mapped struct {
	lo, hi, bias uint64
	o            *Object
	flows        map[*Function]*Flow
}

// startTraced runs path up to its first instruction. The test's goroutine must be locked to its thread. The child is killed
// and reaped when the test ends.
func startTraced(t *testing.T, path string) *tracee {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{Files: []*os.File{null, null, null}, Env: []string{"LC_ALL=C"}, Sys: &unix.SysProcAttr{Ptrace: true}})
	if err != nil {
		require.Skipf(t, "needs ptrace: %v", err)
	}
	c := &tracee{t: t, pid: p.Pid}
	t.Cleanup(func() {
		if c.pid != 0 {
			_ = unix.Kill(c.pid, unix.SIGKILL)
			_, _ = unix.Wait4(c.pid, nil, 0, nil)
		}
	})
	c.wait()
	if c.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.mem.Close() })
	c.readMaps()
	return c
}

func (c *tracee) wait() unix.WaitStatus {
	var ws unix.WaitStatus
	if _, err := unix.Wait4(c.pid, &ws, 0, nil); err != nil {
		c.t.Fatalf("wait: %v", err)
	}
	if ws.Exited() || ws.Signaled() {
		c.pid = 0
	}
	return ws
}

func (c *tracee) word(addr uint64) (uint64, error) {
	var b [8]byte
	if _, err := c.mem.ReadAt(b[:], int64(addr)); err != nil {
		return 0, fmt.Errorf("reading %#x: %w", addr, err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// nearest describes an address for people: "name", "name+0x12", or "[object+0x1234]".
func nearest(o *Object, vaddr uint64) string {
	f := o.FunctionAt(vaddr)
	switch {
	case f == nil:
		return o.nameless(vaddr)
	case vaddr == f.Addr:
		return f.Name
	case vaddr > f.Addr && vaddr-f.Addr < f.Size:
		return fmt.Sprintf("%s+%#x", f.Name, vaddr-f.Addr)
	}
	return f.Name + " (cold)"
}

// readMaps opens every object that has executable memory in the child.
func (c *tracee) readMaps() {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	byPath := map[string]*Object{}
	for _, m := range c.objs {
		byPath[m.o.Name()] = m.o
	}
	c.objs = nil
	for l := range strings.Lines(string(b)) {
		var lo, hi, off uint64
		var perm, dev, inode, path string
		if n, _ := fmt.Sscanf(l, "%x-%x %s %x %s %s %s", &lo, &hi, &perm, &off, &dev, &inode, &path); n < 7 || perm[2] != 'x' {
			continue
		}
		o := byPath[path]
		switch {
		case o != nil:
		case path == "[vdso]":
			o = c.openVDSO(lo, hi)
		case path[0] == '/':
			o = openFile(c.t, path, path)
		default:
			continue
		}
		byPath[path] = o
		c.objs = append(c.objs, &mapped{lo: lo, hi: hi, bias: biasOf(o, lo, off), o: o, flows: map[*Function]*Flow{}})
	}
}

func (c *tracee) openVDSO(lo, hi uint64) *Object {
	b := make([]byte, hi-lo)
	if _, err := c.mem.ReadAt(b, int64(lo)); err != nil {
		c.t.Fatal(err)
	}
	o, err := Open(bytes.NewReader(b), int64(len(b)), "[vdso]")
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

func biasOf(o *Object, lo, off uint64) uint64 {
	for _, s := range o.Segments() {
		if s.Exec && s.Off&^4095 <= off && off < s.Off+s.FileSize {
			return lo - off + s.Off - s.Vaddr
		}
	}
	return 0
}

func (c *tracee) at(pc uint64) *mapped {
	for _, m := range c.objs {
		if pc >= m.lo && pc < m.hi {
			return m
		}
	}
	return nil
}

func (m *mapped) flowAt(pc uint64) (*Function, *Flow) {
	f := m.o.FunctionAt(pc - m.bias)
	if f == nil {
		return nil, nil
	}
	w, ok := m.flows[f]
	if !ok {
		w, _ = m.o.Flow(f)
		m.flows[f] = w
	}
	return f, w
}

// program is the mapping of the program itself.
func (c *tracee) program(path string) *mapped {
	for _, m := range c.objs {
		if m.o.Name() == path {
			return m
		}
	}
	c.t.Fatalf("%s is not mapped", path)
	return nil
}

// lockToCPU puts the goroutine, its thread and its future children on one processor: single-stepping across two is 50 times
// slower. The thread is never unlocked, so it ends with the test.
func lockToCPU(t *testing.T) {
	runtime.LockOSThread()
	var set, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; cpu < 1024; cpu++ {
		if set.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Logf("cannot stay on one processor: %v", err)
	}
}

func (c *tracee) name(pc uint64) string {
	if m := c.at(pc); m != nil {
		return filepath.Base(m.o.Name()) + ":" + nearest(m.o, pc-m.bias) + fmt.Sprintf("(%#x)", pc-m.bias)
	}
	return fmt.Sprintf("%#x", pc)
}

func (c *tracee) regs() unwind.Regs {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(c.pid, &r); err != nil {
		c.t.Fatalf("registers: %v", err)
	}
	return unwind.Regs{RAX: r.Rax, RBX: r.Rbx, RCX: r.Rcx, RDX: r.Rdx, RSI: r.Rsi, RDI: r.Rdi, RBP: r.Rbp, RSP: r.Rsp, R8: r.R8, R9: r.R9,
		R10: r.R10, R11: r.R11, R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15, RIP: r.Rip, Exact: true}
}

// runTo lets the child run up to an address, by a breakpoint (it is our own child, and it dies with us).
func (c *tracee) runTo(addr uint64) {
	var old [1]byte
	if _, err := c.mem.ReadAt(old[:], int64(addr)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.mem.WriteAt([]byte{0xcc}, int64(addr)); err != nil {
		c.t.Fatal(err)
	}
	if err := unix.PtraceCont(c.pid, 0); err != nil {
		c.t.Fatal(err)
	}
	if ws := c.wait(); !ws.Stopped() || ws.StopSignal() != unix.SIGTRAP {
		c.t.Fatalf("the child did not reach %#x: status %#x", addr, ws)
	}
	if _, err := c.mem.WriteAt(old[:], int64(addr)); err != nil {
		c.t.Fatal(err)
	}
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(c.pid, &r); err != nil {
		c.t.Fatal(err)
	}
	r.Rip = addr
	if err := unix.PtraceSetRegs(c.pid, &r); err != nil {
		c.t.Fatal(err)
	}
	c.readMaps()
}

// step executes one instruction; false when the child has ended.
func (c *tracee) step() bool {
	if err := unix.PtraceSingleStep(c.pid); err != nil {
		c.t.Fatalf("step: %v", err)
	}
	ws := c.wait()
	if ws.Exited() && ws.ExitStatus() != 0 || ws.Signaled() {
		c.t.Fatalf("the program failed: status %#x", ws)
	}
	return c.pid != 0
}

// A frame is what the oracle remembers of a call.
type frame struct {
	ret, sp uint64 // where the return address lies
	saved   [6]uint64
	known   bool
}

func savedOf(r *unwind.Regs) [6]uint64 { return [6]uint64{r.RBX, r.RBP, r.R12, r.R13, r.R14, r.R15} }

// judge compares what happens with what the image says.
type judge struct {
	*tracee
	stack                               []frame
	errs                                map[string]bool
	steps, transfers, exits, frames, no int
}

func (j *judge) fail(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); len(j.errs) < 20 && !j.errs[s] {
		j.errs[s] = true
		j.t.Error(s)
	}
}

func (j *judge) run() {
	r := j.regs()
	ret, err := j.word(r.RSP)
	if err != nil {
		j.t.Fatal(err)
	}
	j.stack = []frame{{ret: ret, sp: r.RSP}}
	for len(j.stack) > 0 && j.steps < *maxSteps {
		j.checkUnwind(&r)
		in, err := j.decode(r.RIP)
		if err != nil {
			j.fail("%s: %v", j.name(r.RIP), err)
		}
		if !j.step() {
			return
		}
		next := j.regs()
		j.steps++
		if err == nil {
			j.check(&in, &r, &next)
		}
		r = next
	}
}

func (j *judge) decode(pc uint64) (x86.Inst, error) {
	var b [15]byte
	n, _ := j.mem.ReadAt(b[:], int64(pc))
	return x86.Decode(b[:n], pc)
}

func (j *judge) checkUnwind(r *unwind.Regs) {
	m := j.at(r.RIP)
	if m == nil {
		return
	}
	top := &j.stack[len(j.stack)-1]
	if j.leavesElsewhere(m, r.RIP-m.bias) {
		return
	}
	got, cfa, err := m.o.Unwind(r.RIP-m.bias, *r, m.bias, j.word)
	switch {
	case errors.Is(err, unwind.ErrNoCFI):
		j.no++
		return
	case err != nil:
		j.fail("unwinding at %s: %v", j.name(r.RIP), err)
		return
	}
	j.frames++
	if got.RIP != top.ret || cfa != top.sp+8 {
		j.fail("unwinding at %s: caller %s frame %#x, really %s frame %#x", j.name(r.RIP), j.name(got.RIP), cfa, j.name(top.ret), top.sp+8)
	} else if s := savedOf(&got); top.known && s != top.saved {
		j.fail("unwinding at %s: registers of the caller %x, really %x", j.name(r.RIP), s, top.saved)
	}
}

// leavesElsewhere reports whether the frame information describes, on purpose, not the caller but the frame that is about to be
// resumed: in longjmp (found from rdi, the buffer) and in the exception unwinder.
func (j *judge) leavesElsewhere(m *mapped, pc uint64) bool {
	if f := m.o.FunctionAt(pc); f != nil && f.Refuse == whyUnwinder {
		return true
	}
	d := m.o.frames.At(pc)
	if d == nil {
		return false
	}
	reg, ok := d.FrameRegister(pc)
	return ok && reg == 5
}

// check judges one step from r to next by the instruction in.
func (j *judge) check(in *x86.Inst, r, next *unwind.Regs) {
	if next.RIP == r.RIP && in.Flow == x86.FlowNext { // a string instruction repeats
		return
	}
	seq := r.RIP + uint64(in.Len)
	switch in.Flow {
	case x86.FlowNext, x86.FlowSyscall:
		if next.RIP != seq {
			j.fail("%s goes on at %s", j.name(r.RIP), j.name(next.RIP))
		}
		return
	case x86.FlowCall, x86.FlowCallInd:
		j.stack = append(j.stack, frame{ret: seq, sp: next.RSP, saved: savedOf(r), known: true})
		j.checkCall(in, r, next)
		return
	case x86.FlowRet:
		j.ret(r, next)
		return
	}
	if next.RIP == seq && (in.Flow == x86.FlowCond || in.Flow == x86.FlowLoop) {
		return
	}
	j.checkTarget(r, next)
	j.checkExit(in, r, next)
	j.dropDeadFrames(next)
}

// ret pops the frame; a return to elsewhere is an exception or a context switch and must lead to a known target.
func (j *judge) ret(r, next *unwind.Regs) {
	j.checkExitAt(r, ExitRet, 0)
	for n := len(j.stack) - 1; n >= 0; n-- {
		if j.stack[n].ret == next.RIP && j.stack[n].sp == next.RSP-8 {
			j.stack = j.stack[:n]
			return
		}
	}
	j.checkTarget(r, next)
	j.dropDeadFrames(next)
}

// dropDeadFrames forgets frames that a longjmp or an exception has left behind.
func (j *judge) dropDeadFrames(next *unwind.Regs) {
	for n := len(j.stack); n > 1 && j.stack[n-1].sp < next.RSP; n-- {
		j.stack = j.stack[:n-1]
	}
}

func (j *judge) checkTarget(r, next *unwind.Regs) {
	m := j.at(next.RIP)
	if m == nil {
		return
	}
	f, w := m.flowAt(next.RIP)
	if f == nil || w == nil || w.Hidden != "" {
		return
	}
	j.transfers++
	to := next.RIP - m.bias
	if w.Targets.Has(to) || to == f.Addr {
		return
	}
	for _, c := range w.Calls { // longjmp comes back behind setjmp
		if c.Ret == to {
			return
		}
	}
	j.fail("%s jumps to %s, which is not among its targets", j.name(r.RIP), j.name(next.RIP))
}

func (j *judge) checkExit(in *x86.Inst, r, next *unwind.Regs) {
	m := j.at(r.RIP)
	if m == nil {
		return
	}
	f, w := m.flowAt(r.RIP)
	if f == nil || w == nil || w.Hidden != "" || m == j.at(next.RIP) && w.In(next.RIP-m.bias) {
		return
	}
	kind := map[x86.Flow]ExitKind{x86.FlowJump: ExitTailJump, x86.FlowCond: ExitTailCond, x86.FlowLoop: ExitTailCond, x86.FlowJumpInd: ExitTailInd}[in.Flow]
	target := uint64(0)
	if kind != ExitTailInd {
		target = next.RIP - m.bias
	}
	j.checkExitAt(r, kind, target)
}

func (j *judge) checkExitAt(r *unwind.Regs, kind ExitKind, target uint64) {
	m := j.at(r.RIP)
	if m == nil {
		return
	}
	f, w := m.flowAt(r.RIP)
	if f == nil || w == nil || w.Hidden != "" {
		return
	}
	for _, e := range w.Exits {
		if e.Addr == r.RIP-m.bias {
			if e.Kind != kind || target != 0 && e.Target != target {
				j.fail("%s leaves by %v, the flow says %+v", j.name(r.RIP), kind, e)
			}
			j.exits++
			return
		}
	}
	j.fail("%s leaves %s by %v, which is not among its exits", j.name(r.RIP), f.Name, kind)
}

func (j *judge) checkCall(in *x86.Inst, r, next *unwind.Regs) {
	j.checkTarget(r, next)
	m := j.at(r.RIP)
	if m == nil {
		return
	}
	f, w := m.flowAt(r.RIP)
	if f == nil || w == nil {
		return
	}
	for _, c := range w.Calls {
		if c.Addr == r.RIP-m.bias {
			if c.Target != 0 && c.Target != next.RIP-m.bias || c.Ret != r.RIP-m.bias+uint64(in.Len) || c.Indirect != (in.Flow == x86.FlowCallInd) {
				j.fail("%s calls %s, the flow says %+v", j.name(r.RIP), j.name(next.RIP), c)
			}
			return
		}
	}
	j.fail("%s is a call that the flow of %s does not have", j.name(r.RIP), f.Name)
}

var (
	long     = flag.Bool("long", false, "run TestExecution for all programs, compilers' options and file kinds")
	maxSteps = flag.Int("steps", 25_000, "instructions that TestExecution follows in each program")
)

// hiddenNone checks that every function of a compiled program is understood; hand-written ones of a static libc need not be.
func hiddenNone(t *testing.T, o *Object) {
	for _, f := range o.Functions() {
		if strings.Contains(f.Linkage, "_tm_clones") || f.Refuse != "" || len(o.Functions()) > 500 {
			continue
		}
		if w, err := o.Flow(f); err != nil || w.Hidden != "" {
			t.Errorf("%s: %v %+v", f.Name, err, w)
		}
	}
}

func TestExecution(t *testing.T) {
	for _, c := range []struct {
		name, src, flags string
		strip, long      bool
	}{
		{"switch-pie", testprog.SwitchC, "-O2 -fPIE -pie", false, true},
		{"switch-pie-stripped", testprog.SwitchC, "-O2 -fPIE -pie", true, false},
		{"switch-fixed", testprog.SwitchC, "-O2 -fno-pie -no-pie -fcf-protection=full", false, false},
		{"switch-O0", testprog.SwitchC, "-O0 -fPIE -pie", true, true},
		{"switch-static", testprog.SwitchC, "-O2 -fno-pie -static", true, true},
		{"switch-static-pie", testprog.SwitchC, "-Os -fPIE -static-pie", true, false},
		{"goto-pie", gotoC, "-O2 -fPIE -pie", true, false},
		{"goto-fixed", gotoC, "-O2 -fno-pie -no-pie", true, false},
		{"throw-pie", throwCpp, "-O2 -fPIE -pie -fcf-protection=full", false, false},
		{"throw-fixed-stripped", throwCpp, "-O2 -fno-pie -no-pie", true, true},
		{"throw-O0", throwCpp, "-O0 -fPIE -pie", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !*long {
				t.Skip("runs with -long")
			}
			lockToCPU(t)
			path := testprog.BuildSource(t, c.src, strings.Fields(c.flags)...)
			o := openFile(t, path, "prog")
			hiddenNone(t, o)
			entry := o.Named("main")
			if len(entry) != 1 {
				t.Fatalf("%d functions are called main", len(entry))
			}
			if c.strip {
				path = testprog.Strip(t, path)
			}
			j := &judge{tracee: startTraced(t, path), errs: map[string]bool{}}
			j.runTo(entry[0].Addr + j.program(path).bias)
			j.run()
			t.Logf("%d steps, %d transfers, %d exits, %d frames checked; %d places without frame information", j.steps, j.transfers, j.exits, j.frames, j.no)
			if j.transfers < 100 || j.exits < 50 || j.frames < 1000 {
				t.Error("too little was checked")
			}
		})
	}
}
