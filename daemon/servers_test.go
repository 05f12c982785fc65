package daemon

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/servers"
	"culprit/internal/testprog"
)

// ofProcess is a key at one process more.
func ofProcess(k grid.PairKey, t testing.TB, d *Daemon, pid int) grid.PairKey {
	t.Helper()
	d.lockAll()
	defer d.unlockAll()
	target := d.byPID[pid]
	if target == nil {
		t.Fatalf("process %d is not measured", pid)
	}
	k.Focus = k.Focus.Refine(grid.Process, target.Name)
	return k
}

// TestPostgresProcesses attaches to the first process of a server: its children, sessions among them, are measured, those that begin
// later too, and what each does for pgbench is counted to the last statement. Sessions that end keep their numbers.
func TestPostgresProcesses(t *testing.T) {
	require.Root(t)
	const clients = 8
	each := rounds(40, 2000)
	pg := startPostgresWith(t, "fsync=off", "autovacuum=off", "max_connections=20")
	pg.must(t, "createdb", "bank")
	pg.must(t, "pgbench", "-q", "-i", "-s", "1", "bank")
	holder := testprog.Start(t, filepath.Join(pg.bin, "psql"), "-X", "-A", "-t", "-h", pg.dir, "-U", "postgres", "bank")
	holder.Say(t, "select pg_advisory_lock(42); select 'HELD ' || pg_backend_pid();")
	session := number(t, strings.TrimPrefix(holder.Expect(t, "HELD ", 20*time.Second), "HELD "))
	d := attachTree(t, nil, pg.pid)
	old := d.alive() // the first process, those that write and checkpoint, one session
	var s sums
	statements := key(t, "procedure_calls", "/Code/postgres/pg_parse_query")
	ofSession := ofProcess(statements, t, d, session)
	d.mustEnable(t, &s, statements, ofSession)
	script := filepath.Join(t.TempDir(), "tpcb.sql")
	if err := os.WriteFile(script, []byte(tpcb), 0o644); err != nil {
		t.Fatal(err)
	}
	bench := testprog.Start(t, filepath.Join(pg.bin, "pgbench"), "-h", pg.dir, "-U", "postgres", "-n", "-c", fmt.Sprint(clients), "-j", "2",
		"-t", fmt.Sprint(each), "-M", "simple", "-D", "scale=1", "-f", script, "bank")
	pids, asked := waiters(t, holder, clients)
	d.awaitTargets(t, old+clients)
	var byProcess []grid.PairKey
	for _, pid := range pids {
		byProcess = append(byProcess, ofProcess(statements, t, d, pid))
	}
	d.mustEnable(t, &s, byProcess...)
	holder.Say(t, "select pg_advisory_unlock(42); select 'GO';")
	holder.Expect(t, "GO", 10*time.Second)
	if status := bench.Wait(t, 5*time.Minute); status != 0 {
		t.Fatalf("pgbench ended with %d: %q", status, bench.Lines())
	}
	d.awaitTargets(t, old)
	d.Disable(append(byProcess, statements, ofSession))
	detachTree(t, d)
	if old < 6 {
		t.Errorf("%d processes at first: the first, four or more of its own, and a session", old)
	}
	perSession := strings.Count(tpcb, ";\n") // the first was on its way when the session was attached to
	var sum, least, most float64
	for i, k := range byProcess {
		n := s.of(k)
		sum += n
		if i == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	want := float64(perSession*each - 1)
	t.Logf("%d processes at first, %d sessions more; statements by session %v to %v, pgbench had each send %v from then on; %v of another session, which sent %d; %v in sum",
		old, clients, least, most, want, s.of(ofSession), asked+2, s.of(statements))
	if least != want || most != want {
		t.Errorf("a session's statements: %v to %v, want %v", least, most, want)
	}
	if s.of(ofSession) != float64(asked+2) {
		t.Errorf("%v statements of the session that was there before, it sent %d", s.of(ofSession), asked+2)
	}
	if all := s.of(statements); all != sum+s.of(ofSession) {
		t.Errorf("%v statements in sum, want %v", all, sum+s.of(ofSession))
	}
}

// waiters asks a session that holds a lock until n others wait for it; it returns their processes and how many statements it sent.
func waiters(t *testing.T, holder *testprog.Prog, n int) (pids []int, asked int) {
	t.Helper()
	for range 400 {
		holder.Say(t, "select 'WAITING ' || coalesce(string_agg(pid::text, ' '), '') from pg_locks where locktype = 'advisory' and not granted;")
		asked++
		list := strings.Fields(holder.Expect(t, "WAITING", 10*time.Second))[1:]
		if len(list) == n {
			for _, f := range list {
				pids = append(pids, number(t, f))
			}
			return pids, asked
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("not all of %d sessions came", n)
	return nil, 0
}

// startNginx starts a server with workers.
func startNginx(t *testing.T, workers int) *servers.Nginx {
	t.Helper()
	n, err := servers.StartNginx(t.TempDir(), workers, "", map[string]string{"small.txt": "hello\n"})
	if errors.Is(err, servers.ErrMissing) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// ask sends n requests, each with a connection of its own, so that all workers get some.
func ask(t *testing.T, n *servers.Nginx, times int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for range times {
		answer, err := client.Get(n.URL + "/small.txt")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// TestNginxProcesses attaches to the first process of a server whose workers do the work: requests are counted exactly, by worker and
// in sum, under wrk as well; when it is told to take new workers they are measured, and the old ones keep their numbers.
func TestNginxProcesses(t *testing.T) {
	require.Root(t)
	const workers, connections = 3, 12
	n := startNginx(t, workers)
	d := attachTree(t, nil, n.PID)
	d.awaitTargets(t, 1+workers)
	var s sums
	requests := key(t, "procedure_calls", "/Code/nginx/ngx_http_process_request")
	keys := []grid.PairKey{requests}
	for _, i := range d.Targets() {
		keys = append(keys, ofProcess(requests, t, d, i.PID))
	}
	d.mustEnable(t, &s, keys...)
	times := rounds(600, 20_000)
	ask(t, n, times)
	d.tickAll()
	if got := s.of(requests); got != float64(times) {
		t.Errorf("%v requests counted, %d were sent", got, times)
	}
	answers, _, err := n.Wrk("/small.txt", "", connections, time.Second)
	if errors.Is(err, servers.ErrMissing) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	d.tickAll()
	first := s.of(requests) - float64(times)
	// wrk goes away with requests on their way, one on each connection at most.
	if first < float64(answers) || first > float64(answers+connections) {
		t.Errorf("%v requests counted under wrk, which got %d answers", first, answers)
	}
	if err := n.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.awaitChange(t, keys, 1+workers)
	again := rounds(300, 5000)
	before := s.of(requests)
	ask(t, n, again)
	d.Disable(keys)
	infos := d.Targets()
	detachTree(t, d)
	var byWorker []float64
	sum := 0.0
	for _, k := range keys[2:] {
		byWorker = append(byWorker, s.of(k))
		sum += s.of(k)
	}
	t.Logf("%d requests, then %d answers to wrk: %v counted, by worker %v; %v of %d after the workers were replaced; %d processes in all", times, answers, before, byWorker, s.of(requests)-before, again, len(infos))
	if sum != before {
		t.Errorf("%v requests by worker, %v in sum", sum, before)
	}
	if got := s.of(requests) - before; got != float64(again) {
		t.Errorf("%v requests counted of new workers, %d were sent", got, again)
	}
	if len(infos) != 1+2*workers {
		t.Errorf("%d processes are listed, %d there were", len(infos), 1+2*workers)
	}
}

// awaitChange waits until none of the processes after the first of these keys lives, and as many others as there were.
func (d *Daemon) awaitChange(t testing.TB, keys []grid.PairKey, n int) {
	t.Helper()
	ended := func() (n int) {
		for _, i := range d.Targets() {
			if i.Ended {
				n++
			}
		}
		return n
	}
	deadline := time.Now().Add(20 * time.Second)
	for ended() < len(keys)-2 || d.alive() != n {
		if time.Now().After(deadline) {
			t.Fatalf("%d have ended, %d live", ended(), d.alive())
		}
		time.Sleep(10 * time.Millisecond)
	}
}
