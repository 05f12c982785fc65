// Package testprog builds the programs of testdata/targets and starts them for tests.
//
// A built program is kept in a private directory below the system's temporary directory. Its name is made from the sources, flags
// and compiler, so the tests of all packages share it. A started program is killed by its own pid when the test ends, also when
// the test fails. It imports only internal/require. Everything is called from the test's own goroutine, except the methods of Prog
// that say otherwise.
package testprog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"culprit/internal/require"
)

// DefaultFlags are the compiler flags that Build puts before the caller's, which therefore win.
var DefaultFlags = []string{"-O2", "-g", "-pthread"}

// Root returns the top directory of the source tree (the one with go.mod).
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if ok {
		dir := filepath.Dir(filepath.Dir(filepath.Dir(file)))
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	// Built with -trimpath: tests run in their package's directory.
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("testprog: no go.mod above the test's directory")
	return ""
}

// Target returns the path of testdata/targets/name.
func Target(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(Root(t), "testdata", "targets", name)
}

// Build compiles one C (.c), C++ (.cc) or Rust (.rs) source, given relative to the top of the source tree or absolute, with
// DefaultFlags (Rust: optimised, with debug information) and flags, and returns the path of the program (or shared object, with "-shared", "-fPIC").
// It skips the test if there is no compiler and fails it if the source does not compile.
func Build(t testing.TB, source string, flags ...string) string {
	t.Helper()
	if !filepath.IsAbs(source) {
		source = filepath.Join(Root(t), source)
	}
	compiler, args := compilerFor(source)
	require.Tool(t, compiler)
	if compiler != "rustc" {
		args = append(args, "-Wall", "-Wextra", "-I", filepath.Join(Root(t), "testdata", "targets"))
	}
	return cached(t, source, compiler, append(args, flags...))
}

// Compile is Build for who is no test: it keeps the programs in a directory, and finds headers beside the source only.
func Compile(dir, source string, flags ...string) (string, error) {
	compiler, args := compilerFor(source)
	if _, err := exec.LookPath(compiler); err != nil {
		return "", fmt.Errorf("needs the program %s: scripts/install-packages installs it on Debian", compiler)
	}
	return cachedIn(dir, source, compiler, append(args, flags...))
}

// compilerFor is the compiler for a source, and the flags that every program gets.
func compilerFor(source string) (compiler string, args []string) {
	switch filepath.Ext(source) {
	case ".cc":
		return "g++", slices.Clone(DefaultFlags)
	case ".rs":
		return "rustc", []string{"-O", "-g", "--edition", "2021"}
	}
	return "gcc", slices.Clone(DefaultFlags)
}

// BuildGo compiles the Go program in directory dir (relative to the top of the source tree, or absolute) with the
// go tool that runs the tests, and returns the path of the program.
func BuildGo(t testing.TB, dir string, flags ...string) string {
	t.Helper()
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(Root(t), dir)
	}
	require.Tool(t, "go")
	out := filepath.Join(t.TempDir(), filepath.Base(dir))
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), ".")...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("testprog: go build %s: %v\n%s", dir, err, text)
	}
	return out
}

func cached(t testing.TB, source, compiler string, args []string) string {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Fatalf("testprog: %v", err)
	}
	out, err := cachedIn(dir, source, compiler, args)
	if err != nil {
		t.Fatalf("testprog: %v", err)
	}
	return out
}

// cachedIn is the path of a program below a directory, which is built if it is not there.
func cachedIn(dir, source, compiler string, args []string) (string, error) {
	key, err := cacheKey(source, compiler, args)
	if err != nil {
		return "", err
	}
	base := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
	out := filepath.Join(dir, key, base)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	return out, compile(source, compiler, args, out)
}

// builds counts those of this process, whose tests may build one program at the same time.
var builds atomic.Int64

// compile builds beside the final place and renames, so that two tests at once both get a whole file.
func compile(source, compiler string, args []string, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d.%d", out, os.Getpid(), builds.Add(1))
	all := append(append([]string{}, args...), "-o", part, source)
	cmd := exec.Command(compiler, append(all, trailing(args)...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		os.Remove(part)
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	return os.Rename(part, out)
}

// trailing repeats the libraries behind the source, where the linker wants them.
func trailing(args []string) []string {
	libs := []string{"-ldl"}
	for _, a := range args {
		if strings.HasPrefix(a, "-l") {
			libs = append(libs, a)
		}
	}
	return libs
}

func cacheKey(source, compiler string, args []string) (string, error) {
	h := sha256.New()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(source), "*.h"))
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	for _, file := range append(files, source) {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", file, len(data))
		h.Write(data)
	}
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return "", err
	}
	version, _, _ = bytes.Cut(version, []byte("\n"))
	fmt.Fprintf(h, "%s\n%q\n", version, args)
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}

// cacheDir is private: a directory that somebody else could write would let them choose what the tests run.
func cacheDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("culprit-testprog-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm()&0o022 != 0 || int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a private directory of this user: remove it", dir)
	}
	return dir, nil
}
