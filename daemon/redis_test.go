package daemon

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// startRedis runs Debian's redis-server on a socket in a directory of the test.
func startRedis(t testing.TB) (p *testprog.Prog, socket string) {
	t.Helper()
	require.Tool(t, "redis-server")
	require.Tool(t, "redis-benchmark")
	dir := t.TempDir()
	socket = filepath.Join(dir, "s")
	p = testprog.Start(t, "/usr/bin/redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	for range 100 {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return p, socket
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("redis-server does not answer")
	return nil, ""
}

// load runs redis-benchmark until the test ends.
func load(t testing.TB, socket string, args ...string) {
	t.Helper()
	cmd := exec.Command("redis-benchmark", append([]string{"-s", socket, "-l", "-q", "-c", "20"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

func TestEveryFunctionOfRedis(t *testing.T) {
	t.Parallel()
	p, socket := startRedis(t)
	load(t, socket, "-t", "set,get,lpush,lrange_100")
	start := time.Now()
	d := attachTo(t, p.PID)
	t.Logf("attached in %v", time.Since(start))
	var keys []grid.PairKey
	tg := d.targets[0]
	start = time.Now()
	d.lockAll()
	listAll(tg)
	t.Logf("listed in %v", time.Since(start))
	start = time.Now()
	for _, f := range tg.Known() {
		if f.Obj.Name != "redis-server" {
			continue
		}
		if tg.Plans.Made(f).Reason() == "" {
			keys = append(keys, grid.PairKey{Metric: "procedure_calls", Focus: grid.Whole().Refine(grid.Code, f.Fn.Module, f.Fn.Name)})
		}
	}
	d.unlockAll()
	t.Logf("analysed in %v", time.Since(start))
	var s sums
	start = time.Now()
	refused := 0
	for _, r := range d.Enable(keys, &s) {
		if r.Err != nil {
			refused++
			if refused < 5 {
				t.Log(r.Key, r.Err)
			}
		}
	}
	t.Logf("%d pairs, %d refused, enabled in %v, pauses %+v", len(keys), refused, time.Since(start), d.Overhead().Pauses)
	time.Sleep(2 * time.Second)
	start = time.Now()
	d.Disable(keys)
	t.Logf("disabled in %v", time.Since(start))
	start = time.Now()
	detachClean(t, d, p.PID)
	t.Logf("removed in %v, pauses %+v", time.Since(start), d.Overhead().Pauses)
	called := 0
	for _, v := range s.m {
		if v > 0 {
			called++
		}
	}
	t.Logf("%d functions were called", called)
	if called < 100 || !p.Alive() {
		t.Errorf("only %d functions were called; alive %v", called, p.Alive())
	}
}
