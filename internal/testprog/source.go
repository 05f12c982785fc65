package testprog

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/require"
)

// LibcPath is where the C library of the machine is.
const LibcPath = "/lib/x86_64-linux-gnu/libc.so.6"

// SwitchC is a program with jump tables, calls, tail calls and cold parts, by whatever compiler and flags.
const SwitchC = `
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NI __attribute__((noinline,noclone))
NI int a1(int x) { return x * 3 + 1; }
NI int a2(int x) { return x ^ 0x55; }
NI int a3(int x) { return x - 7; }
NI int leaf(int op, int x) {
	switch (op) {
	case 0: return x + 1; case 1: return x * x; case 2: return x ^ 77; case 3: return x << 3;
	case 4: return x / 3; case 5: return x % 7; case 6: return ~x; case 7: return -x;
	case 8: return x | 64; case 9: return x & 255;
	}
	return 0;
}
NI int calls(const unsigned char *p, int n) {
	int acc = 1;
	for (int i = 0; i < n; i++) {
		switch (p[i] % 12) {
		case 0: acc = a1(acc); break; case 1: acc = a2(acc); break; case 2: acc = a3(acc) + a1(acc); break;
		case 3: acc += i; break; case 4: acc = leaf(i % 11, acc); break; case 5: acc ^= a2(i); break;
		case 6: acc = a3(a3(acc)); break; case 7: acc -= 5; break; case 8: acc = a1(acc) ^ a2(acc); break;
		case 9: acc++; break; case 10: acc = leaf(3, acc); break;
		default: acc = a2(a1(acc));
		}
	}
	return acc;
}
NI int tail_jump(int x) { return a1(x + 1); }
NI int tail_cond(int x) { if (x & 1) return a2(x); return a3(x); }
int (*volatile table[3])(int) = { a1, a2, a3 };
NI int tail_ind(int x) { return table[x % 3](x); }
NI int call_ind(int x) { return table[x % 3](x) + 1; }
NI long tail_import(const char *s) { return strtol(s, 0, 10); }
NI __attribute__((cold)) void unlikely(int *p) { *p += 17; }
NI int has_cold(int *p, int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		if (__builtin_expect(p[i] == 42, 0)) { unlikely(p + i); s += p[i] * 5; printf("%s", ""); }
		s += p[i];
	}
	return s;
}
NI int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static jmp_buf env;
NI void jumper(int x) { if (x > 2) longjmp(env, x); jumper(x + 1); }
NI int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) {
	unsigned char prog[64];
	int v[40], s = 0;
	char buf[200];
	for (int i = 0; i < 64; i++) prog[i] = i * 7;
	for (int i = 0; i < 12; i++) s += leaf(i, i * 9 + 5);
	s += calls(prog, 64);
	for (int i = 0; i < 6; i++) s += tail_jump(i) + tail_cond(i) + tail_ind(i) + call_ind(i);
	s += tail_import("123");
	for (int i = 0; i < 40; i++) v[i] = (i * 31) % 43;
	v[3] = 42;
	s += has_cold(v, 40);
	qsort(v, 40, sizeof v[0], cmp);
	if (setjmp(env) == 0) jumper(0);
	s += fib(7);
	for (int i = 0; i < 70; i += 9) { memset(buf, i, i); memmove(buf + 1, buf, i); s += memcmp(buf, buf + 1, i); }
	snprintf(buf, sizeof buf, "%d %5.2f %-8s %08x %c %lld %%", s, s / 7.0, "abc", s, 'x', (long long)s * s);
	for (int i = 1; i < 40; i++) if (v[i - 1] > v[i]) return 1;
	puts(strlen(buf) > 20 ? "ok" : "bad");
	return 0;
}`

// BuildSource compiles a program into the test's own directory; the test is skipped where the compiler or a static libc is missing.
func BuildSource(t testing.TB, src string, flags ...string) string {
	t.Helper()
	cc, ext := "gcc", ".c"
	if strings.Contains(src, "struct Shape") {
		cc, ext = "g++", ".cpp"
	}
	if _, err := exec.LookPath(cc); err != nil {
		require.Skipf(t, "needs %s to compile the program under test", cc)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "prog"+ext), filepath.Join(dir, "prog")
	if err := os.WriteFile(in, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(cc, append(append([]string{"-w", "-o", out, "prog" + ext}, flags...), "-lm")...)
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(b), "cannot find -l") {
			require.Skipf(t, "needs static libraries: %s", b)
		}
		t.Fatalf("%s %v: %v\n%s", cc, flags, err, b)
	}
	return out
}

// Strip makes a stripped copy.
func Strip(t testing.TB, path string) string {
	t.Helper()
	if _, err := exec.LookPath("strip"); err != nil {
		require.Skip(t, "needs strip from binutils")
	}
	out := path + ".stripped"
	if b, err := exec.Command("strip", "-o", out, path).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, b)
	}
	return out
}

// SplitDebug splits a program as packages are made: one without symbols that has a link to a file named prog.debug, and that file.
func SplitDebug(t testing.TB, path string) (stripped, debug string) {
	t.Helper()
	stripped, debug = Strip(t, path), filepath.Join(t.TempDir(), "prog.debug")
	Objcopy(t, "--only-keep-debug", path, debug)
	Objcopy(t, "--add-gnu-debuglink="+debug, stripped)
	return stripped, debug
}

// EmbedNames makes a stripped copy with the names of all its functions compressed in .gnu_debugdata.
func EmbedNames(t testing.TB, path string) string {
	t.Helper()
	names := filepath.Join(t.TempDir(), "names")
	Objcopy(t, "--only-keep-debug", path, names)
	Objcopy(t, "--strip-debug", names)
	if b, err := exec.Command("xz", "-k", names).CombinedOutput(); err != nil {
		require.Skipf(t, "needs xz: %v %s", err, b)
	}
	stripped := Strip(t, path)
	Objcopy(t, "--add-section", ".gnu_debugdata="+names+".xz", stripped)
	return stripped
}

// Objcopy runs objcopy of binutils.
func Objcopy(t testing.TB, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("objcopy"); err != nil {
		require.Skip(t, "needs objcopy from binutils")
	}
	if b, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
		t.Fatalf("objcopy %v: %v\n%s", args, err, b)
	}
}
