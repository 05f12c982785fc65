package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/pcl"
)

// A running process is a source that reads /proc.
type running int

func (r running) PID() int          { return int(r) }
func (r running) Invoked() []string { return nil }
func (r running) ExeFile() FileKey  { return FileKey{} }
func (r running) Entry() uint64     { return r.aux(9) } // AT_ENTRY
func (r running) Loader() uint64    { return r.aux(7) } // AT_BASE

func (r running) aux(key uint64) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", r))
	for ; len(text) >= 16; text = text[16:] {
		if word(text) == key {
			return word(text[8:])
		}
	}
	return 0
}

func word(b []byte) (v uint64) {
	for i := 7; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

func (r running) Exe() string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", r))
	return path
}

func (r running) OpenFile(m *Mapping) (*os.File, error) { return os.Open(m.Path) }

func (r running) OpenInRoot(path string, _ bool) (*os.File, error) {
	return os.Open(filepath.Join(fmt.Sprintf("/proc/%d/root", r), path))
}

func (r running) OpenGenerated() (*os.File, error) { return nil, os.ErrNotExist }

func (r running) Maps() (maps []Mapping, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", r))
	for line := range bytes.Lines(text) {
		var m Mapping
		var perms, dev string
		_, err := fmt.Sscanf(string(line), "%x-%x %s %x %s %d %s", &m.Start, &m.End, &perms, &m.Offset, &dev, &m.File.Inode, &m.Path)
		if err != nil && m.End == 0 {
			return nil, err
		}
		var st unix.Stat_t
		if m.File.Inode != 0 && unix.Stat(m.Path, &st) == nil {
			m.File.Dev = st.Dev
		}
		m.Exec = strings.Contains(perms, "x")
		maps = append(maps, m)
	}
	return maps, err
}

// opened starts a test program and opens it, once its libraries are there.
func opened(t *testing.T, source string, flags ...string) (*Program, running) {
	t.Helper()
	target := testprog.StartTarget(t, testprog.Build(t, source, flags...))
	t.Cleanup(func() { target.Stop(t) })
	p, err := Open(running(target.PID), &Files{}, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	return p, running(target.PID)
}

// TestRuntime: a program is of the language that it is written in, whatever its libraries are written in.
func TestRuntime(t *testing.T) {
	for _, c := range []struct {
		source, want string
		flags        []string
	}{
		{"testdata/targets/dispatch.c", "c", []string{"-Wl,--no-as-needed", "-lstdc++"}}, {"testdata/targets/throw.cc", "cxx", nil},
		{"testdata/targets/throw.cc", "cxx", []string{"-s"}},
	} {
		p, _ := opened(t, c.source, c.flags...)
		if got := p.Runtime(); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.source, c.flags, got, c.want)
		}
	}
}

// TestFindsFunctions: the program comes before its libraries, names find functions, and addresses lead back to them.
func TestFindsFunctions(t *testing.T) {
	p, r := opened(t, "testdata/targets/dispatch.c")
	if got, want := p.Main().Name, filepath.Base(r.Exe()); got != want {
		t.Errorf("the program is called %s, want %s", got, want)
	}
	ids := p.Named("main")
	if len(ids) != 1 || !slices.Equal(p.Function("dispatch.c", "main"), ids) || p.FuncModule(ids[0]) != "dispatch.c" || p.FuncName(ids[0]) != "main" {
		t.Fatalf("main is %v, of dispatch.c %v", ids, p.Function("dispatch.c", "main"))
	}
	f := p.Func(ids[0])
	if g := p.FunctionAt(f.Addr() + 1); g != f {
		t.Errorf("inside of main is %v", g)
	}
	if p.FunctionAt(1) != nil || p.ObjectAt(1) != nil {
		t.Error("something is at address 1")
	}
	if f.Flow() == nil || f.NeverReturns(1<<20) {
		t.Error("the flow of main is not known")
	}
	if p.Runtime() != "c" || p.Interprets() != "" || p.UsesMPI() || len(p.GoObjects()) != 0 {
		t.Errorf("it is taken for a program of %s that runs %q", p.Runtime(), p.Interprets())
	}
	if _, err := p.Callable("no_such_function_here"); err == nil {
		t.Error("what is not there can be called")
	}
	if tables, bias := p.TablesAt(f.Addr()); tables != f.Obj.Object || bias != f.Obj.Bias {
		t.Errorf("the tables of main are those of %v at %#x", tables, bias)
	}
}

// TestCalleesAreRemembered: what a function calls is looked up once, and again when something was mapped or unmapped.
func TestCalleesAreRemembered(t *testing.T) {
	p, _ := opened(t, "testdata/targets/dispatch.c")
	f := p.Func(p.Function("dispatch.c", "main")[0])
	p.Callees(f)
	want := slices.Clone(f.calls)
	f.calls = nil
	p.Callees(f)
	remembered := f.calls == nil
	p.changes++
	p.Callees(f)
	if len(want) == 0 || !remembered || !slices.Equal(f.calls, want) {
		t.Errorf("main calls %v, remembered: %v, and looked up again %v", want, remembered, f.calls)
	}
	f.Learn(7)
	f.Learn(7)
	if got := p.Callees(f); !slices.Equal(got, append(want, 7)) {
		t.Errorf("with a callee that was learnt twice main calls %v", got)
	}
}

// TestCalleeOfTheLinkedVersion: a call of a function of which the C library has two versions goes to the one to which programs are linked.
func TestCalleeOfTheLinkedVersion(t *testing.T) {
	p, _ := opened(t, "testdata/targets/condvar.c", "-pthread")
	waits := 0
	for _, f := range p.ModuleFunctions("condvar.c") {
		for _, id := range p.Callees(p.Func(f)) {
			g := p.Func(id)
			if strings.HasPrefix(g.Fn.Name, "pthread_cond_wait") {
				waits++
			}
			if g.Fn.OldVersion() {
				t.Errorf("%s calls %s", p.FuncName(f), g.Fn.Name)
			}
		}
	}
	if waits == 0 {
		t.Error("nothing calls pthread_cond_wait")
	}
}

// TestUnloads: what is not mapped any more is told while it is still known, and forgotten then; mapped again it is a new object.
func TestUnloads(t *testing.T) {
	p, r := opened(t, "testdata/targets/dispatch.c")
	maps, err := r.Maps()
	if err != nil {
		t.Fatal(err)
	}
	program, id := p.Main(), p.Named("main")[0]
	var lib *Object
	for _, o := range p.Objects() {
		if strings.HasPrefix(o.Name, "libc.so") {
			lib = o
		}
	}
	if lib == nil || !lib.Resident() || !program.Resident() {
		t.Fatalf("the C library is %v", lib)
	}
	within := p.Know(lib, lib.Functions()[:1])
	if len(within) == 0 {
		t.Fatal("the C library has no function")
	}
	version, loads, told := p.Version(), p.Loads(), 0
	less := slices.DeleteFunc(slices.Clone(maps), func(m Mapping) bool { return m.File == lib.File })
	c, err := p.Refresh(less, func(o *Object) {
		if told++; o != lib || p.Func(within[0]) == nil {
			t.Errorf("%s leaves, and its function is %v", o.Name, p.Func(within[0]))
		}
	})
	if err != nil || told != 1 || !slices.Equal(c.Unloaded, []*Object{lib}) || len(c.Loaded) != 0 {
		t.Errorf("%v, told %d times: %v", err, told, c)
	}
	if p.Func(within[0]) != nil || p.Func(id) == nil || p.ObjectAt(lib.Text) != nil || p.Version() == version || p.Loads() != loads {
		t.Error("the library is not forgotten, or more than that is")
	}
	c, err = p.Refresh(maps, func(o *Object) { t.Errorf("%s leaves", o.Name) })
	if err != nil || len(c.Unloaded) != 0 || len(c.Loaded) != 1 || c.Loaded[0] == lib || c.Loaded[0].Object != lib.Object {
		t.Errorf("%v: %v", err, c)
	}
	if p.Loads() != loads+1 || p.ObjectAt(lib.Text) != c.Loaded[0] {
		t.Errorf("%d objects were found, want %d", p.Loads(), loads+1)
	}
}

// TestNothingMapped: a process without code has no program.
func TestNothingMapped(t *testing.T) {
	if _, err := Open(nowhere{running(os.Getpid())}, &Files{}, func(string) {}); err == nil {
		t.Error("there is a program without a file")
	}
}

type nowhere struct{ running }

func (nowhere) Maps() ([]Mapping, error) { return nil, nil }

// TestUnreadable: a file that cannot be read is tried a few times, and not for ever.
func TestUnreadable(t *testing.T) {
	s := &broken{running: running(testprog.StartTarget(t, testprog.Build(t, "testdata/targets/dispatch.c")).PID)}
	p, err := Open(s, &Files{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * triesToRead {
		maps, err := s.Maps()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Refresh(maps, func(*Object) {}); err != nil {
			t.Fatal(err)
		}
	}
	if s.tries != triesToRead {
		t.Errorf("the C library was tried %d times", s.tries)
	}
}

// broken cannot open the C library.
type broken struct {
	running
	tries int
}

func (b *broken) OpenFile(m *Mapping) (*os.File, error) {
	if strings.Contains(m.Path, "libc.so") {
		b.tries++
		return nil, os.ErrPermission
	}
	return b.running.OpenFile(m)
}

// TestVdso: the kernel's code in this process has tables.
func TestVdso(t *testing.T) {
	if lo, hi := ownVdso(); lo == hi || Vdso() == nil {
		t.Errorf("the vdso lies from %#x to %#x and is %v", lo, hi, Vdso())
	}
}

// TestNames: names are in order by module, then by function, and ids are each there once.
func TestNames(t *testing.T) {
	a, b := Name{"a.c", "z"}, Name{"b.c", "a"}
	if a.Compare(b) >= 0 || b.Compare(a) <= 0 || a.Compare(a) != 0 {
		t.Error("names are not in order")
	}
	if got := Distinct([]pcl.FuncID{3, 1, 3, 2, 1}); !slices.Equal(got, []pcl.FuncID{1, 2, 3}) {
		t.Errorf("%v", got)
	}
}

// TestEndsReading: no file is read once that is to end.
func TestEndsReading(t *testing.T) {
	r := running(os.Getpid())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files := &Files{}
	asBefore := files.EndWith(ctx)
	if _, err := Open(r, files, func(string) {}); err == nil {
		t.Error("files are read after the end")
	}
	asBefore()
	if _, err := Open(r, files, func(string) {}); err != nil {
		t.Error(err)
	}
}

// TestDebugFileInAnotherRoot: the debug file of a stripped program with a root directory of its own is found there.
func TestDebugFileInAnotherRoot(t *testing.T) {
	require.Root(t)
	file, debug := testprog.SplitDebug(t, testprog.BuildSource(t, "#include <unistd.h>\nint waits(void) { return pause(); }\nint main(void) { for (;;) waits(); }\n", "-g", "-static"))
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "opt", ".debug"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{file: "opt/program", debug: "opt/.debug/prog.debug"} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, to), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/opt/program")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	p, err := Open(running(cmd.Process.Pid), &Files{Say: func(text string) { t.Log(text) }}, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	if ids := p.Function("prog.c", "waits"); len(ids) != 1 {
		t.Errorf("%d functions, modules %q", len(ids), p.Modules())
	}
}

// TestPrintedNames: what a terminal cannot show of a name is printed escaped, and found by what is printed.
func TestPrintedNames(t *testing.T) {
	p, _ := opened(t, "testdata/targets/oddnames.c")
	ids := p.Function("oddnames.c", `evil\x1b[2J`)
	if len(ids) != 1 || p.FuncName(ids[0]) != "evil\x1b[2J" || !slices.Equal(p.Function("oddnames.c", "evil\x1b[2J"), ids) {
		t.Errorf("%v", ids)
	}
	if ids := p.Function("oddnames.c", `evil\x1c[2J`); len(ids) != 0 {
		t.Errorf("another name: %v", ids)
	}
}
