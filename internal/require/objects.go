package require

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// objectPlaces are where distributions keep shared libraries, and programs that are not in PATH; the last match counts, which
// is the newest version.
var objectPlaces = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/usr/sbin",
	"/usr/local/go/bin", "/usr/lib/postgresql/*/bin", "/usr/lib/chromium", "/usr/lib/jvm/*/lib/server"}

// Object goes on if the machine has an ELF file of that name, a library or a program, and returns its path without links.
// The name may be a pattern of filepath.Match.
func Object(t testing.TB, name string) string {
	t.Helper()
	path := findObject(name)
	That(t, path != "", "needs the file "+name+": scripts/install-packages installs it on Debian")
	return path
}

// FindObject is Object for who goes on without it: "" if the machine has none.
func FindObject(name string) string { return findObject(name) }

func findObject(name string) string {
	if p, err := exec.LookPath(name); err == nil {
		return unlinked(p)
	}
	for _, dir := range objectPlaces {
		if list, err := filepath.Glob(filepath.Join(dir, name)); err == nil && len(list) > 0 {
			return unlinked(list[len(list)-1])
		}
	}
	return ""
}

func unlinked(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
