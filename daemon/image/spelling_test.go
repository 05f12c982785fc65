package image

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

// TestSpells: no function is missed because of how the last part of its name is searched for before the functions of an object are listed: in
// programs of C++ and Rust, and in what the machine has of them. A name that nothing has is known to be missing.
func TestSpells(t *testing.T) {
	paths := []string{testprog.Build(t, "testdata/culprits/mail_queue.cc", "-std=c++20", "-g", "-pthread")}
	if _, err := exec.LookPath("rustc"); err == nil {
		paths = append(paths, testprog.Build(t, "testdata/culprits/event_archive.rs"))
	}
	for _, pattern := range []string{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libicuuc.so.*"} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	all, searched := 0, 0
	for _, path := range paths {
		o := openFile(t, path, filepath.Base(path))
		if o.spells("13no_such_thing") {
			t.Errorf("%s: found what nothing is called", path)
		}
		for _, f := range o.Functions() {
			name, _, _ := strings.Cut(f.Name, "(") // people leave parameters out
			part := lastPart(name)
			if all++; part != "" {
				searched++
			}
			if f.Named && !(o.spells(part) && o.mayBeCalled(f.Name)) {
				t.Errorf("%s: %s (%s) would not be found by %q", path, f.Name, f.Linkage, part)
			}
		}
	}
	if t.Logf("%d functions of %d files, %d of them by a part of their names", all, len(paths), searched); searched < 1000 {
		t.Error("too few names have parts")
	}
}
