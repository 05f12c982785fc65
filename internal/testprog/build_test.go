package testprog

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"culprit/internal/require"
)

// TestBuildAtTheSameTime: tests of one process that build the same program at the same time all get it.
func TestBuildAtTheSameTime(t *testing.T) {
	require.Tool(t, "gcc")
	dir := t.TempDir()
	source := filepath.Join(dir, "empty.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := compile(source, "gcc", nil, filepath.Join(dir, "out", "empty")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
