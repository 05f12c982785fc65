package kernel

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"culprit/internal/testprog"
)

func target(t testing.TB, name string, args ...string) *testprog.Prog {
	t.Helper()
	return testprog.StartTarget(t, testprog.Build(t, filepath.Join("testdata", "targets", name)), args...)
}

// noLeak fails the test if it leaves descriptors open.
func noLeak(t *testing.T) {
	t.Helper()
	before := openFiles(t)
	t.Cleanup(func() {
		for range 50 {
			if openFiles(t) <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%d descriptors before, %d after", before, openFiles(t))
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
