package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

const serverJS = `
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i % 7) | 0; return s; }
function handle(n) { let s = 0; for (let k = 0; k < 20; k++) s += hot(n + k); return s; }
let sum = 0;
console.log("READY");
setInterval(() => { sum += handle(400000); }, 1);
`

// startNode starts a program of JavaScript that names the code that it generates, and uses a CPU; nil where there is no node.
func startNode(t *testing.T) *testprog.Prog {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Logf("no JavaScript here: %v", err) // as in TestInterpreters: no test asks for such a package
		return nil
	}
	path := filepath.Join(t.TempDir(), "server.js")
	if err := os.WriteFile(path, []byte(serverJS), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--perf-basic-prof", path)
	cmd.Dir = filepath.Dir(path) // where it writes a log, too
	p := testprog.StartCmd(t, cmd)
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", p.PID)) })
	p.Expect(t, "READY", 20*time.Second)
	return p
}

// TestGeneratedCodeIsSampled: of a program of JavaScript that names its compiled functions, those are told apart by samples, and calls of them
// are not counted.
func TestGeneratedCodeIsSampled(t *testing.T) {
	t.Parallel()
	p := startNode(t)
	if p == nil {
		return
	}
	d := attachTo(t, p.PID)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && !d.targets[0].HasModule("server.js"); {
		time.Sleep(200 * time.Millisecond)
		d.tickAll()
		d.discover()
	}
	if !d.Targets()[0].NamesGenerated {
		t.Fatal("its generated code has no names")
	}
	var s sums
	hot, handle, calls := key(t, "cpu_inclusive", "/Code/server.js/hot"), key(t, "cpu_inclusive", "/Code/server.js/handle"), key(t, "procedure_calls", "/Code/server.js/hot")
	got := d.Enable([]grid.PairKey{hot, handle, calls}, &s)
	for i := range 2 {
		if got[i].Err != nil || got[i].Tier != grid.TierSample {
			t.Errorf("%v: %v of tier %v, want samples", got[i].Key, got[i].Err, got[i].Tier)
		}
	}
	if !errors.As(got[2].Err, new(grid.ErrNotSampled)) {
		t.Errorf("calls: %v, want that samples do not count", got[2].Err)
	}
	began := time.Now()
	for time.Since(began) < 3*time.Second {
		time.Sleep(200 * time.Millisecond)
		d.tickAll()
	}
	t.Logf("hot %v s, handle %v s in %v", s.of(hot), s.of(handle), time.Since(began))
	if s.of(hot) < 0.3 || s.of(handle) < 0.8*s.of(hot) {
		t.Errorf("hot took %v s, and handle, which calls it, %v s", s.of(hot), s.of(handle))
	}
	detachClean(t, d, p.PID)
	p.Kill()
}
