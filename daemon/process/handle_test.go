package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// TestErrorTexts: every error is one line that says what to do or where.
func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&raw.Unsupported{What: "32-bit program"}, "not supported: 32-bit program"},
		{&raw.Unsupported{What: "a filter", Needs: "CAP_SYS_ADMIN"}, "not supported: a filter; needs CAP_SYS_ADMIN"},
		{&Traced{PID: 5, Tracer: 6, TracerName: "gdb"}, "process 5 is already traced by 6 (gdb): end that first"},
		{&NotPermitted{PID: 5, Missing: "no right", Command: "sudo x"}, "not permitted to attach to process 5: no right; try: sudo x"},
		{&NotPermitted{PID: 5, Missing: "no right"}, "not permitted to attach to process 5: no right"},
		{&raw.Deferred{TID: 7, State: 'D', Waited: 500 * time.Millisecond}, "deferred: thread 7 in state D did not stop within 500ms; its control group may be frozen (cgroup.freeze): if so thaw it, then try again; all threads were resumed"},
		{&raw.Deferred{TID: 7}, "deferred: thread 7 in state unknown did not stop within 0s; all threads were resumed"},
		{&raw.WriteError{Addr: 0x10, Err: unix.EIO}, "write to 0x10 failed: input/output error"},
		{&raw.WriteError{Addr: 0x10, Want: []byte{1, 2}, Got: []byte{1, 3}}, "write to 0x10 did not take: wrote 01 02, read back 01 03"},
		{&Refused{Point: "entry of f", Reason: "it is too short"}, "entry of f: it is too short"},
	} {
		if c.err.Error() != c.want {
			t.Errorf("%q, want %q", c.err, c.want)
		}
	}
	if err := error(&raw.WriteError{Addr: 0x10, Err: unix.EIO}); !errors.Is(err, unix.EIO) {
		t.Errorf("%v does not tell the kernel's answer", err)
	}
}

// questions are all that can be asked of a Process, or done to it, from outside of Stop.
func questions(p *Process, m raw.Mapping, data raw.Addr) map[string]func() error {
	var b [1]byte
	closed := func(f *os.File, err error) error {
		if err == nil {
			f.Close()
		}
		return err
	}
	return map[string]func() error{
		"OpenMapping": func() error { return closed(p.OpenMapping(m)) },
		"Threads":     func() error { _, err := p.Threads(); return err },
		"Info":        func() error { _, err := p.Info(); return err },
		"Syscall":     func() error { _, err := p.Syscall(p.pid); return err },
		"Maps":        func() error { _, err := p.Maps(); return err },
		"ReadMem":     func() error { return p.ReadMem(data, b[:]) },
		"WriteData":   func() error { return errors.Join(p.ReadMem(data, b[:]), p.WriteData(data, b[:])) },
		"Touch":       func() error { return p.Touch(m.Start) },
		"Descriptors": func() error { _, err := p.Descriptors(); return err },
		"CheckExec":   p.CheckExec,
		"CheckMemory": p.CheckMemory,
		"DiffText":    func() error { _, err := p.DiffText(); return err },
		"Signal":      func() error { return p.Signal(0) },
		"Stop":        func() error { _, err := p.Stop(context.Background(), StopOptions{}, nothing); return err },
	}
}

// codeAndData finds the program's text and a word of its data.
func codeAndData(t *testing.T, p *Process) (code raw.Mapping, data raw.Addr) {
	t.Helper()
	maps, err := p.Maps()
	must(t, err)
	exe, _ := p.Exe()
	for _, m := range maps {
		if m.Path == exe && m.Executable() {
			code = m
		}
		if m.Path == exe && m.Perms&raw.Write != 0 {
			data = m.End - 8
		}
	}
	if code.Len() == 0 || data == 0 {
		t.Fatalf("no text or no data in %v", maps)
	}
	return code, data
}

// TestEveryQuestion: each succeeds while the target runs, says that it has ended once it has, and that we have let go once we have.
func TestEveryQuestion(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	m, data := codeAndData(t, p)
	other := open(t, tg.pid())
	must(t, other.Close())
	must(t, other.Close())
	must(t, other.watchedToEnd())
	for name, ask := range questions(other, m, data) {
		if err := ask(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	for name, ask := range questions(p, m, data) {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := p.DiffText(); err != nil || len(d) != 0 {
		t.Errorf("the text differs at %v, %v", d, err)
	}
	if res := tg.finish(); res["bad"] != 0 || res["eintr"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
	p.Wait()
	for name, ask := range questions(p, m, data) {
		if err := ask(); !errors.Is(err, ErrTargetExited) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
	if path, deleted := p.Exe(); path != "" || deleted {
		t.Errorf("the program of a process that has ended: %q", path)
	}
	if names := p.Invoked(); len(names) != 0 {
		t.Errorf("names of a process that has ended: %q", names)
	}
}

// watchedToEnd fails unless Done is closed.
func (p *Process) watchedToEnd() error {
	select {
	case <-p.Done():
		return nil
	case <-time.After(5 * time.Second):
		return errors.New("Done is still open after Close")
	}
}

// TestAfterExec: a handle on a process that now runs another program says so, and touches nothing.
func TestAfterExec(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; read x; exec sh -c 'echo another; read x; exit 0'")
	tg := startCmd(t, cmd)
	p := open(t, tg.pid())
	must(t, p.CheckExec())
	must(t, p.CheckMemory())
	code, err := p.Maps()
	must(t, err)
	tg.write(t, "\n")
	tg.expect("another")
	for name, err := range map[string]error{
		"CheckMemory": p.CheckMemory(),
		"CheckExec":   p.CheckExec(),
		"ReadMem":     p.ReadMem(code[0].Start, make([]byte, 1)),
		"Touch":       p.Touch(code[0].Start),
	} {
		if !errors.Is(err, ErrTargetExeced) {
			t.Errorf("%s: %v", name, err)
		}
	}
	tg.finish()
}

// TestNames: what the target is called, what it has open and when it started.
func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a-name-of-more-than-15-bytes")
	data, err := os.ReadFile(compile(t, stateSource))
	must(t, err)
	must(t, os.WriteFile(path, data, 0o755))
	cmd := exec.Command(path)
	cmd.Args = []string{"dir/calls itself otherwise", "blocked"}
	tg := startCmd(t, cmd)
	p := open(t, tg.pid())
	if got, want := p.Invoked(), []string{"a-name-of-more-", "calls"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	fds, err := p.Descriptors()
	must(t, err)
	for fd := range 3 {
		if want, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tg.pid(), fd)); err != nil || fds[fd] != want {
			t.Errorf("descriptor %d is %q, want %q (%v)", fd, fds[fd], want, err)
		}
	}
	if at := StartTime(tg.pid()); at == 0 || at != StartTime(tg.pid()) || at < StartTime(os.Getpid()) {
		t.Errorf("started at %d, we at %d", at, StartTime(os.Getpid()))
	}
	tg.finish()
	if at := StartTime(tg.pid()); at != 0 {
		t.Errorf("a process that has ended started at %d", at)
	}
}

// TestTouch: the page becomes the target's own, and not a byte of it changes.
func TestTouch(t *testing.T) {
	tg := start(t, compile(t, stateSource), "running")
	p := open(t, tg.pid())
	m, _ := codeAndData(t, p)
	before := make([]byte, m.Len())
	must(t, p.ReadMem(m.Start, before))
	for at := m.Start; at < m.End; at += raw.PageSize {
		must(t, p.Touch(at))
	}
	after := make([]byte, m.Len())
	must(t, p.ReadMem(m.Start, after))
	if !slices.Equal(before, after) {
		t.Error("the text has changed")
	}
	if err := p.Touch(8); err == nil {
		t.Error("a page that is not mapped was touched")
	}
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

// TestOpenMapping: a mapping without a file is refused, and a page beyond what is mapped, too.
func TestOpenMapping(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	maps, err := p.Maps()
	must(t, err)
	for _, m := range maps {
		f, err := p.OpenMapping(m)
		if (err == nil) != m.FileBacked() {
			t.Errorf("mapping %+v: %v", m, err)
		}
		if err == nil {
			f.Close()
		}
	}
	code, _ := codeAndData(t, p)
	code.Inode++
	if f, err := p.OpenMapping(code); err == nil {
		f.Close()
		t.Error("a mapping of another file was opened")
	}
	tg.finish()
}
