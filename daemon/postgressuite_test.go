package daemon

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestPostgresSuite counts at every function of a server's process while it works through a long script, as its own
// regression tests do, and through transactions of its own benchmark with fixed chances: the output, errors included, and
// the tables are those of a process that nobody looks at.
func TestPostgresSuite(t *testing.T) {
	t.Parallel()
	require.Root(t)
	pg := startPostgres(t)
	text, err := os.ReadFile("testdata/suite.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range []string{"alone", "watched"} {
		pg.must(t, "createdb", db)
		pg.must(t, "pgbench", "-q", "-i", "-s", "1", db)
	}
	t.Run("script", func(t *testing.T) { pg.compareScript(t, string(text)) })
	t.Run("pgbench", func(t *testing.T) { pg.compareBenchmark(t, rounds(1500, 200_000)) })
}

// compareScript gives the script to a process of each kind.
func (pg *postgres) compareScript(t *testing.T, text string) {
	alone := pg.session(t, "alone", text, func(int) *watch { return nil })
	watched := pg.session(t, "watched", text, func(pid int) *watch { return instrumentAll(t, pid, "postgres", 0.985) })
	errors := 0
	for _, line := range alone {
		if strings.HasPrefix(line, "ERROR:") {
			errors++
		}
	}
	t.Logf("%d lines of output are compared, %d of them errors", len(alone), errors)
	if len(alone) < 700 || errors < 20 {
		t.Errorf("undisturbed there are %d lines and %d errors: the script does too little", len(alone), errors)
	}
	for i, line := range watched {
		if i >= len(alone) || line != alone[i] {
			t.Fatalf("line %d is %q, undisturbed %q", i, line, alone[min(i, len(alone)-1)])
		}
	}
	if len(watched) != len(alone) {
		t.Errorf("%d lines, undisturbed %d", len(watched), len(alone))
	}
}

// session has one process of the server work through a script after f was done to it, and returns what it said.
func (pg *postgres) session(t *testing.T, db, text string, f func(pid int) *watch) []string {
	t.Helper()
	p := testprog.StartCmd(t, exec.Command("sh", "-c", `exec "$@" 2>&1`, "sh", filepath.Join(pg.bin, "psql"), "-X", "-a", "-A", "-h", pg.dir, "-U", "postgres", db))
	p.Say(t, "select 'PID ' || pg_backend_pid();")
	w := f(number(t, strings.TrimPrefix(p.Expect(t, "PID ", 20*time.Second), "PID ")))
	begin, end := "-- the script begins", "-- the script has ended"
	p.Say(t, begin+"\n"+text+"\n"+end+"\nselect 'DONE';")
	p.Expect(t, "DONE", time.Minute)
	if w != nil {
		w.end(t, 1e6)
	}
	p.Say(t, `\q`)
	if status := p.Wait(t, 20*time.Second); status != 0 {
		t.Errorf("psql ended with %d", status)
	}
	lines := p.Lines()
	from, to := slices.Index(lines, begin), slices.Index(lines, end)
	if from < 0 || to < from {
		t.Fatalf("the script is not in the output: %q", last(lines, 20))
	}
	return lines[from:to]
}

// tpcb is pgbench's own transaction, behind a lock that holds it back until its process is known.
const tpcb = `select pg_advisory_xact_lock_shared(42);
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
`

// tpcbLeft is what the transactions leave, without their times.
const tpcbLeft = `select (select md5(string_agg(aid || ':' || abalance, ',' order by aid)) from pgbench_accounts), (select sum(abalance) from pgbench_accounts),
 (select string_agg(tbalance::text, ',' order by tid) from pgbench_tellers), (select sum(bbalance) from pgbench_branches), (select count(*) from pgbench_history),
 (select md5(string_agg(tid || ':' || bid || ':' || aid || ':' || delta, ',' order by tid, bid, aid, delta)) from pgbench_history)`

// compareBenchmark has a process of each kind run n transactions.
func (pg *postgres) compareBenchmark(t *testing.T, n int) {
	var w *watch
	alone, took := pg.benchmark(t, "alone", n, func(int) {})
	watched, slower := pg.benchmark(t, "watched", n, func(pid int) { w = instrumentAll(t, pid, "postgres", 0.985) })
	w.counted(t, 1e6)
	t.Logf("%d transactions in %v, undisturbed %v: %s", n, slower.Round(time.Millisecond), took.Round(time.Millisecond), watched)
	if watched != alone {
		t.Errorf("the tables have %s, undisturbed %s", watched, alone)
	}
	if !strings.Contains(alone, fmt.Sprintf("|%d|", n)) {
		t.Errorf("not %d transactions were made: %s", n, alone)
	}
}

// benchmark runs pgbench with one connection, does f to the server's process for it, and returns what the tables hold then.
func (pg *postgres) benchmark(t *testing.T, db string, n int, f func(pid int)) (left string, took time.Duration) {
	t.Helper()
	holder := testprog.Start(t, filepath.Join(pg.bin, "psql"), "-X", "-A", "-h", pg.dir, "-U", "postgres", db)
	holder.Say(t, "select pg_advisory_lock(42); select 'HELD';")
	holder.Expect(t, "HELD", 20*time.Second)
	script := filepath.Join(t.TempDir(), "tpcb.sql")
	if err := os.WriteFile(script, []byte(tpcb), 0o644); err != nil {
		t.Fatal(err)
	}
	bench := testprog.Start(t, filepath.Join(pg.bin, "pgbench"), "-h", pg.dir, "-U", "postgres", "-n", "-c", "1", "-t", strconv.Itoa(n),
		"-M", "prepared", "-D", "scale=1", "--random-seed=11", "-f", script, db)
	f(pg.waiting(t, db))
	start := time.Now()
	holder.Say(t, `\q`)
	if status := bench.Wait(t, 10*time.Minute); status != 0 {
		t.Fatalf("pgbench ended with %d: %q", status, bench.Lines())
	}
	took = time.Since(start)
	return pg.must(t, "psql", "-X", "-A", "-t", "-c", tpcbLeft, db), took
}

// waiting finds the process that waits for the lock.
func (pg *postgres) waiting(t *testing.T, db string) int {
	t.Helper()
	for range 200 {
		pid := pg.must(t, "psql", "-X", "-A", "-t", "-c", "select pid from pg_locks where locktype = 'advisory' and not granted", db)
		if pid != "" {
			return number(t, pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("pgbench does not come")
	return 0
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A postgres is a server with a directory and a socket of its own. It has no port.
type postgres struct {
	bin, dir string
	pid      int // of the first process
}

// startPostgres makes a cluster and starts its server as the user whom the package made for it: it refuses to run as root.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	return startPostgresWith(t, "fsync=off", "autovacuum=off", "max_connections=10")
}

// startPostgresWith is startPostgres with settings.
func startPostgresWith(t *testing.T, settings ...string) *postgres {
	t.Helper()
	who := unprivileged(t, "postgres", "nobody")
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	require.That(t, err == nil && len(found) > 0, "needs PostgreSQL's server: scripts/install-packages installs it on Debian")
	pg := &postgres{bin: found[len(found)-1]}
	if pg.dir, err = os.MkdirTemp("", "culprit-postgres"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(pg.dir) })
	if err := os.Chown(pg.dir, int(who.Uid), int(who.Gid)); err != nil {
		t.Fatal(err)
	}
	as := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(pg.bin, program), args...)
		cmd.Dir, cmd.Env = pg.dir, []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		return cmd
	}
	data := filepath.Join(pg.dir, "data")
	if out, err := as("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	args := []string{"-D", data, "-k", pg.dir, "-c", "listen_addresses="}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	server := testprog.StartCmd(t, as("postgres", args...))
	pg.pid = server.PID
	t.Cleanup(func() { // before it is killed: its processes end with it, and give back what they share
		server.Signal(t, syscall.SIGINT)
		server.Wait(t, 20*time.Second)
	})
	pg.await(t, server)
	return pg
}

// await waits until the server answers.
func (pg *postgres) await(t *testing.T, server *testprog.Prog) {
	t.Helper()
	for range 200 {
		if c, err := net.Dial("unix", filepath.Join(pg.dir, ".s.PGSQL.5432")); err == nil {
			c.Close()
			if exec.Command(filepath.Join(pg.bin, "pg_isready"), "-q", "-h", pg.dir).Run() == nil {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the server does not answer; alive %v", server.Alive())
}

// must runs one of the clients that come with the server and returns what it prints.
func (pg *postgres) must(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(pg.bin, program), append([]string{"-h", pg.dir, "-U", "postgres"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// unprivileged is the first of the users that there is.
func unprivileged(t *testing.T, names ...string) *syscall.Credential {
	t.Helper()
	for _, name := range names {
		if u, err := user.Lookup(name); err == nil {
			return &syscall.Credential{Uid: uint32(number(t, u.Uid)), Gid: uint32(number(t, u.Gid))}
		}
	}
	require.Skipf(t, "needs one of the users %q", names)
	return nil
}
