package stack

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/internal/testprog"
)

// A source lets a program read a process.
type source struct{ p *process.Process }

func (s source) PID() int          { return s.p.PID() }
func (s source) Invoked() []string { return s.p.Invoked() }
func (s source) ExeFile() program.FileKey {
	dev, inode, _ := s.p.ExeFile()
	return program.FileKey{Dev: dev, Inode: inode}
}

func (s source) Entry() uint64  { return uint64(s.p.Entry()) }
func (s source) Loader() uint64 { return uint64(s.p.Loader()) }

func (s source) Exe() string {
	path, _ := s.p.Exe()
	return path
}

func (s source) Maps() (out []program.Mapping, err error) {
	maps, err := s.p.Maps()
	for _, m := range maps {
		out = append(out, program.Mapping{Start: uint64(m.Start), End: uint64(m.End), Exec: m.Executable(), Offset: m.Offset,
			File: program.FileKey{Dev: m.Dev, Inode: m.Inode}, Path: m.Path})
	}
	return out, err
}

func (s source) OpenFile(m *program.Mapping) (*os.File, error) { return os.Open(m.Path) }

func (s source) OpenInRoot(path string, _ bool) (*os.File, error) { return os.Open(path) }

func (s source) OpenGenerated() (*os.File, error) { return nil, os.ErrNotExist }

// none are the detours of a process without probes.
type none struct{}

func (none) Holds(uint64) bool                   { return false }
func (none) Leave(*unwind.Regs) bool             { return false }
func (none) LeaveCall(*unwind.Regs, Reader) bool { return false }

// blocked starts a program that waits to be told to go, and gives a walker of it and what is known of its thread.
func blocked(t *testing.T) (w *Walker, r unwind.Regs, mem Reader) {
	t.Helper()
	return blockedIn(t, "calls.c", "1000")
}

// blockedIn is blocked for some other program.
func blockedIn(t *testing.T, name string, args ...string) (w *Walker, r unwind.Regs, mem Reader) {
	t.Helper()
	target := testprog.StartTarget(t, testprog.Build(t, testprog.Target(t, name)), args...)
	p, err := process.Look(target.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	code, err := program.Open(source{p}, &program.Files{}, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	r = unwind.Regs{Exact: true, Lost: arch.AllRegisters &^ (1 << arch.RSP)}
	for began := time.Now(); r.RSP == 0; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", target.PID))
		if f := strings.Fields(string(text)); err == nil && len(f) == 9 {
			fmt.Sscanf(f[7]+" "+f[8], "0x%x 0x%x", &r.RSP, &r.RIP)
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("the program does not wait: %q, %v", text, err)
		}
	}
	mem = func(addr uint64) (v uint64, err error) {
		var b [8]byte
		err = p.ReadMem(process.Addr(addr), b[:])
		for i := range b {
			v |= uint64(b[i]) << (8 * i)
		}
		return v, err
	}
	return &Walker{Code: code, Detours: none{}}, r, mem
}

func names(frames []Frame) (list []string) {
	for _, fr := range frames {
		name := "?"
		if fr.Func != nil {
			name = fr.Func.Fn.Name
		}
		list = append(list, name)
	}
	return list
}

// TestWalksBlocked: of a thread that waits in the C library only two registers are known, and its callers are found all the same.
func TestWalksBlocked(t *testing.T) {
	w, r, mem := blocked(t)
	frames := w.Walk(r, mem)
	if got := names(frames); len(got) < 3 || !slices.Contains(got, "main") {
		t.Fatalf("the program waits in %q", got)
	}
	for i := 1; i < len(frames); i++ {
		if frames[i].CFA <= frames[i-1].CFA {
			t.Errorf("%q: frame %d is at %#x, and the one that it has called at %#x", names(frames), i, frames[i].CFA, frames[i-1].CFA)
		}
	}
	var first []Frame
	w.WalkEach(r, mem, func(fr Frame, _ unwind.Regs) bool {
		first = append(first, fr)
		return len(first) < 2
	})
	if !slices.Equal(first, frames[:2]) {
		t.Errorf("a walk that is ended gives %q, the whole %q", names(first), names(frames))
	}
}

// led are the detours of a process with one trampoline of 16 bytes, which has pushed 8 bytes.
type led struct {
	none
	at, original uint64
	lost         bool
}

func (l led) Holds(pc uint64) bool { return pc >= l.at && pc < l.at+16 }

func (l led) Leave(r *unwind.Regs) bool {
	if l.lost || !l.Holds(r.RIP) {
		return false
	}
	r.RIP, r.RSP = l.original, r.RSP+8
	return true
}

// TestDetours: a thread in a trampoline has the stack that it would have without; where nobody knows, it has none.
func TestDetours(t *testing.T) {
	w, r, mem := blocked(t)
	want := w.Walk(r, mem)
	const at = 0x10000
	inside := r
	inside.RIP, inside.RSP = at+4, r.RSP-8
	w.Detours = led{at: at, original: r.RIP}
	if got := w.Walk(inside, mem); !slices.Equal(got, want) {
		t.Errorf("in a trampoline the stack is %q, without it %q", names(got), names(want))
	}
	w.Detours = led{at: at, original: r.RIP, lost: true}
	if got := w.Walk(inside, mem); len(got) != 0 {
		t.Errorf("in a trampoline that cannot be left the stack is %q", names(got))
	}
}

// TestCached: a copy of the stack is read as far as it goes, and what lies behind it only where somebody reads further.
func TestCached(t *testing.T) {
	further := errors.New("further")
	more := func(uint64) (uint64, error) { return 0, further }
	mem := []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3}
	for _, c := range []struct {
		addr, want uint64
		more       Reader
		err        error
	}{{0x1000, 1, nil, nil}, {0x1008, 2, more, nil}, {0x1010, 0, more, further}, {0x1010, 0, nil, errUnmapped}, {0xff8, 0, nil, errUnmapped}, {^uint64(0), 0, nil, errUnmapped}} {
		if v, err := Cached(0x1000, mem, c.more)(c.addr); v != c.want || !errors.Is(err, c.err) {
			t.Errorf("at %#x: %d, %v", c.addr, v, err)
		}
	}
}

// TestTailCalls: a function that may end in a jump to the one that is active is put back below it, once.
func TestTailCalls(t *testing.T) {
	w, _, _ := blocked(t)
	tails := TailCallsOf(w.Code)
	found := 0
	for _, o := range w.Code.Objects() {
		for _, id := range w.Code.Know(o, o.Functions()) {
			f := w.Code.Func(id)
			flow := f.Flow()
			if found == 3 || flow == nil {
				continue
			}
			for _, call := range flow.Calls {
				g := w.Code.Callee(o, call)
				if g == nil || g == f || g.Flow() == nil {
					continue
				}
				for _, x := range g.Flow().Exits {
					to := w.Code.TailCallee(o, x)
					if g.Obj != o || x.Target == 0 || to == nil || to == g || to == f {
						continue
					}
					found++
					frames := []Frame{{Func: to, PC: to.Addr() + 1, CFA: 16}, {Func: f, PC: call.Ret + o.Bias, CFA: 32}}
					got := tails.Restore(slices.Clone(frames))
					if len(got) != 3 || got[1].Func != g || got[1].CFA != 16 {
						t.Errorf("%s calls %s, which jumps to %s: %q", f.Fn.Name, g.Fn.Name, to.Fn.Name, names(got))
					}
					if again := tails.Restore(slices.Clone(got)); len(again) != 3 {
						t.Errorf("put back twice: %q", names(again))
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no function calls one that ends in a jump")
	}
}
