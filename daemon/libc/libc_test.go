package libc

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"culprit/internal/require"
)

// installed opens a library of this machine.
func installed(t *testing.T, name string) *elf.File {
	t.Helper()
	return open(t, require.Object(t, name))
}

func open(t *testing.T, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// exported are the functions that a library has for others.
func exported(t *testing.T, f *elf.File) map[string]elf.Symbol {
	t.Helper()
	list, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	return byName(list)
}

func byName(list []elf.Symbol) map[string]elf.Symbol {
	m := map[string]elf.Symbol{}
	for _, s := range list {
		if s.Section != elf.SHN_UNDEF {
			m[s.Name] = s
		}
	}
	return m
}

// internal are all functions of a library, as its debug file names them.
func internal(t *testing.T, f *elf.File) map[string]elf.Symbol {
	t.Helper()
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil || len(note) < 20 {
		t.Fatal(err, note)
	}
	id := fmt.Sprintf("%x", note[16:])
	path := filepath.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	if _, err := os.Stat(path); err != nil {
		require.Skip(t, "needs libc6-dbg")
	}
	list, err := open(t, path).Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return byName(list)
}

// codeOf is the code of a function of a library.
func codeOf(t *testing.T, f *elf.File, s elf.Symbol) []byte {
	t.Helper()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value+s.Size <= p.Vaddr+p.Filesz {
			code := make([]byte, s.Size)
			if _, err := p.ReadAt(code, int64(s.Value-p.Vaddr)); err != nil {
				t.Fatal(err)
			}
			return code
		}
	}
	t.Fatalf("%s at %#x has no code", s.Name, s.Value)
	return nil
}

// TestNamesAreInstalled: what has a name here has it in the C or C++ library of this machine, too, but for what only glibc of other processors
// has.
func TestNamesAreInstalled(t *testing.T) {
	others := map[string]bool{"__new_sem_wait_slow32": true, "clone3": true}
	f := installed(t, "libc.so.6")
	public := exported(t, f)
	all := internal(t, f)
	has := func(name string) bool {
		_, a := public[name]
		_, b := all[name]
		return a || b || others[name]
	}
	cxx := exported(t, installed(t, "libstdc++.so.6"))
	var names []string
	for n, kind := range waiters {
		if kind == Library {
			if _, ok := public[n]; !ok {
				t.Errorf("the C library has %s for its debug symbols only", n)
			}
		}
		if kind == Once {
			if _, ok := cxx[n]; !ok {
				t.Errorf("the C++ library has no function %s", n)
			}
			continue
		}
		names = append(names, n)
	}
	for n := range starters {
		if n != "_start" { // of each program
			names = append(names, n)
		}
	}
	for n := range blockers {
		names = append(names, n)
	}
	names = append(append(append(names, Exits()...), Jumpers()...), ThreadEnds()...)
	for _, n := range append(names, Syscall, SetCancelType) {
		if !has(n) {
			t.Errorf("the C library has no function %s", n)
		}
	}
}

// TestOffsets holds places in locks against the headers of this machine's C library.
func TestOffsets(t *testing.T) {
	dir := t.TempDir()
	source, bin := filepath.Join(dir, "offsets.c"), filepath.Join(dir, "offsets")
	text := `#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
int main(void) {
	printf("%zu %zu %zu %zu %zu\n", offsetof(pthread_mutex_t, __data.__lock), offsetof(pthread_mutex_t, __data.__owner),
		offsetof(pthread_rwlock_t, __data.__wrphase_futex), offsetof(pthread_rwlock_t, __data.__writers_futex),
		offsetof(pthread_rwlock_t, __data.__cur_writer));
	printf("%zu %zu\n", offsetof(pthread_cond_t, __data.__g_signals), offsetof(pthread_cond_t, __data.__wrefs));
	printf("%zu %zu\n", offsetof(FILE, _fileno), offsetof(FILE, _lock));
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	require.Tool(t, "gcc")
	if out, err := exec.Command("gcc", "-o", bin, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	mutex, _ := OwnerAt(Mutex)
	rw, _ := OwnerAt(RWLock)
	want := fmt.Sprintf("%d %d %d %d %d\n%d %d\n%d %d\n", words[Mutex][0], mutex, words[RWLock][1], words[RWLock][2], rw, words[CondVar][0],
		words[CondVar][2], StreamNumber, StreamLock)
	if string(out) != want {
		t.Errorf("the headers say\n%sthe tables\n%s", out, want)
	}
	if g := words[CondVar]; g[1] != g[0]+4 {
		t.Errorf("the two words of a condition variable's groups are at %d and %d", g[0], g[1])
	}
}

// TestUnwinder: the unwinder of this machine is the one that is known.
func TestUnwinder(t *testing.T) {
	f := installed(t, "libgcc_s.so.1")
	public := exported(t, f)
	if !SetsIP(codeOf(t, f, public[SetIP])) {
		t.Errorf("%s is not what is expected of libgcc's", SetIP)
	}
	at, ok := CFAAt(codeOf(t, f, public[GetCFA]))
	if !ok || at <= 0 || at > 1024 {
		t.Errorf("%s: %d, %v", GetCFA, at, ok)
	}
	if SetsIP(codeOf(t, f, public[GetCFA])) {
		t.Errorf("%s is taken for %s", GetCFA, SetIP)
	}
	for _, n := range []string{"_Unwind_Resume", "_Unwind_RaiseException"} {
		if _, ok := public[n]; !ok {
			t.Errorf("libgcc has no function %s", n)
		}
	}
}

// TestUnmangles: longjmp of this machine's C library is the one that is known, once.
func TestUnmangles(t *testing.T) {
	f := installed(t, "libc.so.6")
	text, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for from := 0; ; {
		i := bytes.Index(text[from:], unmangling[0])
		if i < 0 {
			break
		}
		from += i
		if Unmangles(text[from:min(from+MaxUnmangling, len(text))]) {
			found++
		}
		from++
	}
	if found == 0 {
		t.Error("no code of the C library jumps as longjmp is known to")
	}
	if Unmangles(nil) || Unmangles(bytes.Join(unmangling[:2], nil)) {
		t.Error("code that does not unmangle is taken for it")
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]string{
		"pthread_mutex_lock": Mutex, "__pthread_mutex_lock": Mutex, "__lll_lock_wait": Mutex, "__lll_lock_wait_private": "", "mtx_unlock": Mutex,
		"pthread_rwlock_unlock": RWLock, "pthread_spin_lock": SpinLock, "cnd_wait": CondVar, "pthread_cond_signal": CondVar,
		"pthread_barrier_wait": Barrier, "sem_post": Semaphore, "pthread_join": "", "read": "",
	} {
		if got := KindOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if n := Number(want); Numbered(n) != want {
			t.Errorf("%s has the number %d, which stands for %q", want, n, Numbered(n))
		}
	}
	if Numbered(200) != "" {
		t.Error("a number that a target made up stands for a kind")
	}
}

func TestWaits(t *testing.T) {
	for name, want := range map[string]string{"pthread_mutex_lock": Mutex, "__pthread_clockjoin_ex": Thread,
		"pthread_cond_wait.constprop.0": CondVar, "__lll_lock_wait_private": Library, "__new_sem_wait_slow64.isra.1": Semaphore} {
		if w, ok := WaitIn(name); !ok || w.Kind != want {
			t.Errorf("%s: %v, %v, want %s", name, w, ok, want)
		}
	}
	if w, ok := WaitIn("pthread_mutex_unlock"); ok {
		t.Errorf("unlocking waits for %v", w)
	}
	for n, kind := range waiters {
		if w, _ := WaitIn(n); (kind == Thread) != (len(w.Words) == 0) {
			t.Errorf("%s waits for a %s, at the words %v", n, kind, w.Words)
		}
	}
}

// TestGuarded: what a lock of the C library guards is told by public functions and by those that they call for the work.
func TestGuarded(t *testing.T) {
	for name, want := range map[string]string{"realloc": "malloc arena", "__libc_malloc": "malloc arena", "_int_free": "malloc arena",
		"__libc_free.part.0": "malloc arena", "__random": "random numbers", "__tz_convert": "time zone", "__add_to_environ": "environment",
		"__cxa_atexit": "functions at exit", "getgrent": "", "fprintf": "", "": "", "my_malloc": ""} {
		if got, ok := GuardedIn(name); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		name      string
		c, loader bool
	}{
		{"libc.so.6", true, false}, {"libc-2.31.so", true, false}, {"ld-musl-x86_64.so.1", true, true},
		{"ld-linux-x86-64.so.2", false, true}, {"libstdc++.so.6.0.30", false, false}, {"libc++.so.1", false, false},
		{"libcrypto.so.3", false, false}, {"libc", false, false}, {"", false, false},
	} {
		if IsC(c.name) != c.c || IsLoader(c.name) != c.loader {
			t.Errorf("%q: C library %v, loader %v", c.name, IsC(c.name), IsLoader(c.name))
		}
	}
}
