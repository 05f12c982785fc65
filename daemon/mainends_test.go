package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestMainThreadEnds: a program whose main thread ends while it is measured is measured on, and nothing is left in it.
func TestMainThreadEnds(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/mainends.c"))
	d := attachTo(t, p.PID)
	var s sums
	calls := key(t, "procedure_calls", "/Code/mainends.c/work")
	d.mustEnable(t, &s, calls)
	p.Say(t, "go")
	deadline := time.Now().Add(10 * time.Second)
	for s.of(calls) < 100 {
		if time.Now().After(deadline) {
			t.Fatalf("%v calls were counted", s.of(calls))
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond) // longer than an exec takes, in which it looks the same
	d.mustEnable(t, &s, key(t, "exec_time_inclusive", "/Code/mainends.c/work"))
	if clean, err := d.Detach(); !clean || err != nil {
		t.Errorf("detach: %v, %v", clean, err)
	}
	maps, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/maps", p.PID))
	if len(maps) != 2 {
		t.Fatalf("%d threads, want 2", len(maps))
	}
	for _, path := range maps {
		b, err := os.ReadFile(path)
		if text := string(b); strings.Contains(text, "memfd:") {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
	}
	p.Stop(t)
}
