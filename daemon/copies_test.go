package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// inMemoryGroup moves a process into a control group of its own that may use so much memory more. The group goes when the test ends.
func inMemoryGroup(t *testing.T, pid int, limit int64) {
	t.Helper()
	require.Root(t)
	for _, g := range []struct{ dir, file string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(g.dir, fmt.Sprintf("culprit-daemon-%d", pid))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			_ = os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), fmt.Append(nil, pid), 0) // fails if it has ended
			for n := 0; os.Remove(dir) != nil && n < 100; n++ {
				time.Sleep(20 * time.Millisecond)
			}
		})
		if os.WriteFile(filepath.Join(dir, g.file), fmt.Append(nil, limit), 0) == nil &&
			os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, pid), 0) == nil {
			return
		}
	}
	require.Skip(t, "no control group for memory can be made")
}

func pagesOfTarget(d *Daemon, n int) (keys []grid.PairKey) {
	all := functionsOf(d, "procedure_calls", func(f *program.Function) bool { return strings.HasPrefix(f.Fn.Name, "f") && len(f.Fn.Name) == 5 })
	return all[:min(len(all), n)]
}

// TestBatchIsPaidFor: what a batch would copy of the text is held against what the target's control group has left. One that does not fit
// is refused before anything is written, and one that does is made.
func TestBatchIsPaidFor(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "testdata/odd/manypages.c")
	p := testprog.StartTarget(t, bin)
	inMemoryGroup(t, p.PID, 4<<20)
	d := attachTo(t, p.PID)
	var s sums
	keys := pagesOfTarget(d, 2000)
	if len(keys) < 2000 {
		t.Fatalf("%d functions", len(keys))
	}
	for _, r := range d.Enable(keys, &s) {
		if r.Err == nil || !strings.Contains(r.Err.Error(), "choose fewer") || !strings.Contains(r.Err.Error(), "/memory.") {
			t.Fatalf("%s: %v", r.Key, r.Err)
		}
	}
	if n := d.Probes().Inserted; n != 0 {
		t.Errorf("%d sites were patched", n)
	}
	d.mustEnable(t, &s, keys[:40]...)
	on := 40 // batch after batch, each of which fits by itself
	for refused := false; !refused && on < len(keys); on += 40 {
		for _, r := range d.Enable(keys[on:min(on+40, len(keys))], &s) {
			refused = refused || r.Err != nil
		}
	}
	if on >= len(keys) {
		t.Errorf("all were patched")
	}
	t.Logf("%d functions were patched", on)
	time.Sleep(300 * time.Millisecond)
	detachClean(t, d, p.PID)
	p.Stop(t)
}
