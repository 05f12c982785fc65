package image

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/daemon/image/elffile"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/trampoline/x86"
)

func one(t *testing.T, o *Object, name string) *Function {
	t.Helper()
	fs := o.Named(name)
	if len(fs) != 1 {
		t.Fatalf("%d functions are called %q, want 1", len(fs), name)
	}
	return fs[0]
}

func flowOf(t *testing.T, o *Object, name string) (*Function, *Flow) {
	t.Helper()
	f := one(t, o, name)
	w, err := o.Flow(f)
	if err != nil {
		t.Fatal(err)
	}
	return f, w
}

func TestFunctionList(t *testing.T) {
	path := testprog.BuildSource(t, testprog.SwitchC, "-O2", "-g")
	o := openFile(t, path, "prog")
	if o.Kind() != elffile.KindDyn || len(o.BuildID()) != 40 || len(o.Segments()) == 0 {
		t.Errorf("kind %v, build-id %q, %d segments", o.Kind(), o.BuildID(), len(o.Segments()))
	}
	fs := o.Functions()
	if !slices.IsSortedFunc(fs, func(a, b *Function) int { return cmp.Compare(a.Addr, b.Addr) }) {
		t.Error("functions are not sorted")
	}
	for _, f := range fs {
		if f.Size == 0 || f.Name == "" || f.Module == "" {
			t.Errorf("incomplete: %+v", f)
		}
		for _, a := range []uint64{f.Addr, f.Addr + f.Size - 1} {
			if g := o.FunctionAt(a); g != f {
				t.Errorf("FunctionAt(%#x) is %v, want %s", a, g, f.Name)
			}
		}
	}
	if m := one(t, o, "main"); m.Module != "prog.c" || !m.Named || m.Refuse != "" {
		t.Errorf("main: %+v", m)
	}
	if s := one(t, o, "_start"); s.Refuse == "" {
		t.Error("_start is not refused")
	}
}

// TestAgainstSymbolTool compares addresses and sizes with nm.
func TestAgainstSymbolTool(t *testing.T) {
	out, err := exec.Command("nm", "-D", "-S", "--defined-only", redisPath).Output()
	if err != nil {
		require.Skipf(t, "needs nm and %s: %v", redisPath, err)
	}
	o := openFile(t, redisPath, "redis-server")
	n := 0
	for l := range strings.Lines(string(out)) {
		f := strings.Fields(l)
		if len(f) != 4 || !strings.Contains("TtWi", f[2]) {
			continue
		}
		n++
		name, _, _ := strings.Cut(f[3], "@")
		if !slices.ContainsFunc(o.Named(name), func(g *Function) bool { return hexOf(g.Addr) == strings.TrimLeft(f[0], "0") }) {
			t.Errorf("nm lists %s, the object does not", strings.TrimSpace(l))
		}
	}
	if n < 1000 {
		t.Errorf("nm lists only %d functions", n)
	}
}

func hexOf(v uint64) string {
	var b []byte
	for ; v > 0; v >>= 4 {
		b = append(b, "0123456789abcdef"[v&15])
	}
	slices.Reverse(b)
	return string(b)
}

func TestPublicNames(t *testing.T) {
	o := openFile(t, testprog.LibcPath, "libc.so.6")
	for _, name := range []string{"read", "write", "pthread_mutex_lock", "malloc", "fopen", "nanosleep", "epoll_wait", "puts"} {
		fs := o.Named(name)
		if len(fs) == 0 || fs[0].Name != name {
			t.Errorf("%s is listed as %v", name, fs)
		}
	}
	if f := o.Named("__read"); len(f) == 0 || f[0].Name != "read" || !slices.Contains(f[0].Aliases, "__read") {
		t.Errorf("__read is not an alias of read: %v", f)
	}
	if f := o.Named("memcpy"); len(f) == 0 || f[0].Refuse == "" {
		t.Errorf("the resolver of memcpy is not refused: %v", f)
	}
	for _, name := range []string{"setjmp", "vfork", "clone"} {
		if f := o.Named(name); len(f) == 0 || f[0].Refuse == "" {
			t.Errorf("%s is not refused: %v", name, f)
		}
	}
	if f := o.Named("pthread_cond_wait"); len(f) != 2 || f[0].Name != "pthread_cond_wait" || !strings.HasPrefix(f[1].Name, "pthread_cond_wait@GLIBC_") {
		t.Errorf("versions of pthread_cond_wait: %v", f)
	}
	seen := map[string]bool{}
	for _, f := range o.Functions() {
		if k := f.Module + "/" + f.Name; seen[k] {
			t.Errorf("%s twice", k)
		} else {
			seen[k] = true
		}
	}
}

// TestStrippedLibc sees the C library as it is without its debug file.
func TestStrippedLibc(t *testing.T) {
	old := elffile.DebugRoot
	elffile.DebugRoot = t.TempDir()
	defer func() { elffile.DebugRoot = old }()
	o := openFile(t, testprog.LibcPath, "libc.so.6")
	s := statsOf(o)
	s.log(t, "libc.so.6 alone")
	if s.functions < 3000 || s.named > 2900 || (s.hidden+s.undecoded)*100 > 2*s.functions {
		t.Errorf("%d functions, %d named, %d hidden, %d undecoded", s.functions, s.named, s.hidden, s.undecoded)
	}
	signals := 0
	for _, f := range o.Functions() {
		if f.Refuse == whySignal {
			signals++
		}
	}
	if signals != 1 {
		t.Errorf("%d signal frames are refused, want __restore_rt", signals)
	}
}

func exitsOf(w *Flow) (out []string) {
	for _, e := range w.Exits {
		out = append(out, e.Kind.String())
	}
	return out
}

func TestExits(t *testing.T) {
	for _, flags := range []string{"-O2 -fPIE -pie", "-O2 -fno-pie -no-pie", "-O2 -fcf-protection=full"} {
		o := openFile(t, testprog.BuildSource(t, testprog.SwitchC, strings.Fields(flags)...), "prog")
		a1, a2, a3 := one(t, o, "a1").Addr, one(t, o, "a2").Addr, one(t, o, "a3").Addr
		if _, w := flowOf(t, o, "tail_jump"); !slices.Equal(exitsOf(w), []string{"tail-jump"}) || w.Exits[0].Target != a1 {
			t.Errorf("%s: tail_jump leaves by %+v, want a jump to %#x", flags, w.Exits, a1)
		}
		_, w := flowOf(t, o, "tail_cond")
		to := map[uint64]bool{}
		for _, e := range w.Exits {
			to[e.Target] = e.Kind == ExitTailCond || e.Kind == ExitTailJump
		}
		if !to[a2] || !to[a3] || len(w.Exits) != 2 {
			t.Errorf("%s: tail_cond leaves by %+v, want jumps to %#x and %#x", flags, w.Exits, a2, a3)
		}
		if _, w := flowOf(t, o, "tail_ind"); !slices.Equal(exitsOf(w), []string{"tail-ind"}) || w.Hidden != "" {
			t.Errorf("%s: tail_ind leaves by %+v (%s)", flags, w.Exits, w.Hidden)
		}
		if _, w := flowOf(t, o, "leaf"); slices.ContainsFunc(w.Exits, func(e Exit) bool { return e.Kind != ExitRet }) || len(w.Exits) == 0 {
			t.Errorf("%s: leaf leaves by %+v, want ret only: its jump table is no tail call", flags, w.Exits)
		}
		if _, w := flowOf(t, o, "call_ind"); len(w.Calls) != 1 || !w.Calls[0].Indirect || w.Calls[0].Target != 0 {
			t.Errorf("%s: call_ind calls %+v", flags, w.Calls)
		}
	}
}

func TestImports(t *testing.T) {
	for _, flags := range []string{"-O2", "-O2 -fno-plt", "-O2 -no-pie -fno-pie", "-O2 -fcf-protection=full -Wl,-z,ibtplt", "-O2 -Wl,-z,now"} {
		o := openFile(t, testprog.BuildSource(t, testprog.SwitchC, strings.Fields(flags)...), "prog")
		_, w := flowOf(t, o, "main")
		var names []string
		for _, c := range w.Calls {
			if c.Import != "" {
				names = append(names, c.Import)
			}
		}
		for _, want := range []string{"qsort", "_setjmp", "puts", "strlen"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s: main imports %v, not %s", flags, names, want)
			}
		}
		_, w = flowOf(t, o, "tail_import")
		if len(w.Exits) != 1 || w.Exits[0].Import != "strtol" {
			t.Errorf("%s: tail_import leaves by %+v", flags, w.Exits)
		}
	}
}

// TestJumpTables counts the cases that must be targets: the instructions that the compiler placed them at are found in the
// tables that gcc -S names.
func TestJumpTables(t *testing.T) {
	for _, flags := range []string{"-O2 -fPIE -pie", "-O2 -fno-pie -no-pie", "-O0 -fPIE -pie", "-O2 -fcf-protection=full"} {
		o := openFile(t, testprog.BuildSource(t, testprog.SwitchC, strings.Fields(flags)...), "prog")
		for _, name := range []string{"leaf", "calls"} {
			f, w := flowOf(t, o, name)
			if w.Hidden != "" {
				t.Errorf("%s: %s is hidden: %s", flags, name, w.Hidden)
			}
			n := 0
			for _, a := range w.Targets {
				if w.At(a) == nil {
					t.Errorf("%s: target %#x of %s is not the start of an instruction", flags, a, name)
				}
				n++
			}
			if n < 10 {
				t.Errorf("%s: %s at %#x has only %d targets", flags, name, f.Addr, n)
			}
		}
	}
}

func TestColdParts(t *testing.T) {
	path := testprog.BuildSource(t, throwCpp, "-O2")
	o := openFile(t, path, "prog")
	s := openFile(t, testprog.Strip(t, path), "prog")
	n := 0
	for _, f := range o.Functions() {
		for _, p := range f.Parts {
			n++
			if o.FunctionAt(p.Lo) != f {
				t.Errorf("the cold part %#x of %s belongs to %v", p.Lo, f.Name, o.FunctionAt(p.Lo))
			}
			if g := s.FunctionAt(p.Lo); g == nil || g.Addr != f.Addr {
				t.Errorf("stripped: the cold part %#x of %s belongs to %+v", p.Lo, f.Name, g)
			}
			w, err := s.Flow(s.FunctionAt(f.Addr))
			if err != nil || !w.In(p.Lo) {
				t.Errorf("stripped: the flow of %s lacks its part %#x: %v", f.Name, p.Lo, err)
			}
		}
		if strings.Contains(f.Name, ".cold") && !f.coldSymbol {
			t.Errorf("%s is a function of its own", f.Name)
		}
	}
	if n == 0 {
		t.Skip("the compiler made no cold parts")
	}
}

func TestDemangled(t *testing.T) {
	o := openFile(t, testprog.BuildSource(t, throwCpp, "-O2"), "prog")
	f := one(t, o, "deep(Shape*, int)")
	if f.Linkage != "_Z4deepP5Shapei" || o.Named(f.Linkage)[0] != f {
		t.Errorf("deep: %+v", f)
	}
	if got := demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"); got != "core::fmt::Write::write_fmt" {
		t.Errorf("Rust name: %s", got)
	}
	if got := demangled("_Z" + strings.Repeat("P", 5000)); !strings.HasPrefix(got, "_Z") {
		t.Errorf("hostile name: %.40s", got)
	}
	if got := elffile.ValidText(strings.Repeat("é", elffile.MaxName)); len(got) > elffile.MaxName || strings.ContainsRune(got, 0xfffd) {
		t.Errorf("limit cut in the middle of a character")
	}
}

func TestLine(t *testing.T) {
	for _, flags := range []string{"-g -O0", "-gdwarf-4 -O2", "-gdwarf-5 -O2 -gz", "-g -O2 -flto -fno-fat-lto-objects"} {
		o := openFile(t, testprog.BuildSource(t, testprog.SwitchC, strings.Fields(flags)...), "prog")
		f := one(t, o, "tail_jump")
		if f.Module != "prog.c" {
			t.Errorf("%s: module %q", flags, f.Module)
		}
		want := 1 + strings.Count(testprog.SwitchC[:strings.Index(testprog.SwitchC, "int tail_jump(")], "\n")
		file, line, ok := o.Line(f.Addr)
		if !ok || filepath.Base(file) != "prog.c" || line != want {
			t.Errorf("%s: tail_jump is at %s:%d (%v), want line %d", flags, file, line, ok, want)
		}
		if _, _, ok := o.Line(one(t, o, "_start").Addr); ok && !strings.Contains(flags, "lto") {
			t.Errorf("%s: _start has a line", flags)
		}
	}
}

// TestSeparateDebugFile strips a program and finds its names and lines again by build-id.
func TestSeparateDebugFile(t *testing.T) {
	path := testprog.BuildSource(t, testprog.SwitchC, "-g", "-O2")
	id := openFile(t, path, "prog").BuildID()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, id[:2]), 0o700); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("objcopy", "--only-keep-debug", path, filepath.Join(dir, id[:2], id[2:]+".debug")).CombinedOutput(); err != nil {
		require.Skipf(t, "needs objcopy: %s", b)
	}
	old := elffile.DebugRoot
	elffile.DebugRoot = dir
	defer func() { elffile.DebugRoot = old }()
	o := openFile(t, testprog.Strip(t, path), "prog")
	f := one(t, o, "tail_cond")
	if _, line, ok := o.Line(f.Addr); !ok || line == 0 || f.Module != "prog.c" {
		t.Errorf("%+v, line %d", f, line)
	}
	if _, err := o.Flow(f); err != nil {
		t.Error(err)
	}
}

// TestPadEnd checks padding between functions against their distance, and that it never runs over anything.
func TestPadEnd(t *testing.T) {
	o := openFile(t, testprog.BuildSource(t, testprog.SwitchC, "-O2"), "prog")
	fs := o.Functions()
	padded := 0
	for i, f := range fs[:len(fs)-1] {
		end := f.Addr + f.Size
		got := o.PadEnd(end)
		if got > fs[i+1].Addr && end <= fs[i+1].Addr {
			t.Errorf("padding behind %s runs to %#x over %s at %#x", f.Name, got, fs[i+1].Name, fs[i+1].Addr)
		}
		if got == fs[i+1].Addr && got > end {
			padded++
		}
	}
	if padded < 5 {
		t.Errorf("only %d functions have padding", padded)
	}
	f, w := flowOf(t, o, "calls")
	if got := o.PadEnd(f.Addr); got != f.Addr {
		t.Errorf("padding at the entry of a function: %#x", got)
	}
	for _, in := range w.Insts {
		if w.Targets.Has(in.Addr) && in.Nop && o.PadEnd(in.Addr) != in.Addr {
			t.Errorf("a target at %#x counts as padding", in.Addr)
		}
		if end := o.PadEnd(in.Addr); !in.Nop && in.Opcode != opInt3 && end != in.Addr {
			t.Errorf("%v at %#x counts as padding", in.Flow, in.Addr)
		}
	}
}

func TestUnsupported(t *testing.T) {
	b, err := os.ReadFile(redisPath)
	if err != nil {
		require.Skip(t, err.Error())
	}
	head := bytes.Clone(b[:64])
	var un *elffile.ErrUnsupported
	head[18] = 0xb7 // EM_AARCH64
	if _, err := Open(bytes.NewReader(append(head, b[64:]...)), int64(len(b)), "x"); !errors.As(err, &un) {
		t.Errorf("aarch64: %v", err)
	}
	small := testprog.BuildSource(t, "int main(void){return 0;}")
	if out, err := exec.Command("gcc", "-m32", "-c", "-x", "c", "/dev/null", "-o", small).CombinedOutput(); err == nil {
		f, _ := os.ReadFile(small)
		if _, err := Open(bytes.NewReader(f), int64(len(f)), "x"); !errors.As(err, &un) {
			t.Errorf("32 bit: %v", err)
		}
	} else {
		t.Logf("no 32-bit object: %s", out)
	}
	for _, n := range []int{0, 3, 64, 4096, len(b) / 2} {
		if o, err := Open(bytes.NewReader(b[:n]), int64(n), "x"); err == nil {
			touch(o)
		}
	}
}

// TestUndecodable holds that a function with an unknown instruction is refused with the place.
func TestUndecodable(t *testing.T) {
	path := testprog.BuildSource(t, testprog.SwitchC, "-O2")
	o := openFile(t, path, "prog")
	f := one(t, o, "fib")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range o.Segments() {
		if s.Exec {
			b[f.Addr-s.Vaddr+s.Off] = 0x06 // push %es, not in 64-bit mode
		}
	}
	o, err = Open(bytes.NewReader(b), int64(len(b)), "prog")
	if err != nil {
		t.Fatal(err)
	}
	var ref *ErrRefused
	if _, err := o.Flow(one(t, o, "fib")); !errors.As(err, &ref) || !strings.Contains(ref.Reason, "0x") {
		t.Errorf("got %v", err)
	}
}

// TestGoProgram reads a Go program with and without its symbol table.
func TestGoProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a Go program")
	}
	dir := t.TempDir()
	src := "package main\n\nimport \"strings\"\n\n//go:noinline\nfunc work(s string) string { return strings.Repeat(s, 3) }\n\nfunc main() { println(work(\"ok\")) }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ld := range []string{"", "-s -w"} {
		out := filepath.Join(dir, "prog")
		cmd := exec.Command("go", "build", "-ldflags="+ld, "-o", out, filepath.Join(dir, "main.go"))
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			require.Skipf(t, "needs the go command: %v %s", err, b)
		}
		o := openFile(t, out, "prog")
		f, w := flowOf(t, o, "main.work")
		if f.Module != "main" || !o.IsGo() || len(w.Exits) == 0 || len(w.Calls) == 0 {
			t.Errorf("ldflags %q: %+v, %d exits, %d calls", ld, f, len(w.Exits), len(w.Calls))
		}
		if len(o.Functions()) < 1000 || one(t, o, "strings.Repeat").Module != "strings" {
			t.Errorf("ldflags %q: %d functions", ld, len(o.Functions()))
		}
		hidden := 0
		for _, f := range o.Functions() {
			if w, err := o.Flow(f); err != nil || w.Hidden != "" {
				hidden++
			}
		}
		t.Logf("ldflags %q: %d functions, %d hidden or refused", ld, len(o.Functions()), hidden)
		if hidden*100 > len(o.Functions()) {
			t.Errorf("ldflags %q: %d of %d functions are hidden or refused", ld, hidden, len(o.Functions()))
		}
	}
}

func TestOperands(t *testing.T) {
	for _, c := range []struct {
		code string
		want operand
	}{
		{"\x48\x63\x04\x82", operand{reg: 0, base: 2, index: 0, scale: 4}},
		{"\x4b\x63\x0c\x8b", operand{reg: 1, base: 11, index: 9, scale: 4}},
		{"\x48\x01\xd0", operand{reg: 2, isReg: true, rm: 0, base: 0, index: noReg}},
		{"\x4f\x8d\x0c\x0b", operand{reg: 9, base: 11, index: 9, scale: 1}},
		{"\xff\x24\xc5\x10\x20\x40\x00", operand{reg: 4, base: noReg, index: 0, scale: 8, disp: 0x402010}},
		{"\x3e\xff\xe0", operand{reg: 4, isReg: true, rm: 0, base: 0, index: noReg}},
		{"\x48\x8d\x05\x10\x00\x00\x00", operand{reg: 0, base: noReg, index: noReg, disp: 16}},
		{"\x41\xff\x65\x08", operand{reg: 4, base: 13, index: noReg, disp: 8}},
	} {
		in, err := x86.Decode([]byte(c.code), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := operandOf([]byte(c.code), &in); !ok || got != c.want {
			t.Errorf("% x: %+v, want %+v", c.code, got, c.want)
		}
	}
}
