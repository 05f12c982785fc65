package e2e

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/servers"
)

// must ends the test if a server could not be started; it skips it if the server is not installed.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if errors.Is(err, servers.ErrMissing) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// openDir is a directory that other users may enter, too.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "culprit-server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func startPostgres(t *testing.T, settings ...string) *servers.Postgres {
	t.Helper()
	require.Root(t)
	pg, err := servers.StartPostgres(openDir(t), settings...)
	must(t, pg, err)
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Error(err)
		}
	})
	return pg
}

// sql has the server work through statements.
func sql(t *testing.T, pg *servers.Postgres, statements string) {
	t.Helper()
	out, err := pg.Run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements, "postgres")
	must(t, out, err)
}

// pgbench runs clients that repeat a script until the test ends or the function is called.
func pgbench(t *testing.T, pg *servers.Postgres, clients int, script string) (end func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	return background(t, pg.Command("pgbench", "-n", "-c", fmt.Sprint(clients), "-T", "600", "-f", file, "postgres"))
}

// background runs a program until the test ends or the function is called.
func background(t *testing.T, cmd *exec.Cmd) (end func()) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill() // fails if it has ended
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	return end
}

// blames reports whether a bottleneck of a hypothesis lies at or below one of these functions, or in a module whose name begins so,
// and where.
func (r *report) blames(hypothesis string, functions ...string) string {
	for i := range r.Bottlenecks {
		b := &r.Bottlenecks[i]
		if hypothesis != "" && r.hypothesis(b.Node) != hypothesis {
			continue
		}
		for _, code := range r.way(b) {
			for _, f := range functions {
				if strings.HasSuffix(code, "/"+f) || strings.HasPrefix(code, "/Code/"+f+".") {
					return code
				}
			}
		}
	}
	return ""
}

// scans are functions of a scan of a whole table that the server's own symbols name.
var scans = []string{"heap_getnextslot", "ExecScan", "heap_getnext", "heapgetpage", "heap_page_prune_opt", "HeapTupleSatisfiesVisibility"}

// TestPostgresMissingIndex: a condition on a column without an index. The search attaches to the server's first process and blames the
// scan of the whole table; with an index it does not.
func TestPostgresMissingIndex(t *testing.T) {
	pg := startPostgres(t, "fsync=off", "autovacuum=off", "max_parallel_workers_per_gather=0", "jit=off")
	sql(t, pg, "create table parcels as select i as id, i % 1000 as city, repeat('x', 20) as label from generate_series(1, 60000) i; analyze parcels")
	const script = "\\set id random(1, 60000)\nselect label from parcels where id = :id;\n"
	end := pgbench(t, pg, 2, script)
	r := searchFor(t, []finding{{"CPUbound", []string{"/Code/postgres/heap_getnextslot"}}}, fmt.Sprint(pg.PID))
	end()
	if got := r.blames("CPUbound", scans...); got == "" {
		t.Errorf("no scan is blamed:\n%s", r.sentences())
	} else {
		t.Logf("%d processes; without an index %s is blamed", len(r.Targets), got)
	}
	clean(t, pg.PID)
	if !long() {
		return
	}
	sql(t, pg, "create index on parcels (id)")
	pgbench(t, pg, 2, script)
	s := start(t, "attach", "--no-tui", "--for", "8s", "--json", "@REPORT", fmt.Sprint(pg.PID))
	s.status()
	r = s.read()
	t.Log("\n" + s.out.String())
	if got := r.blames("CPUbound", scans...); got != "" {
		t.Errorf("with an index %s is blamed:\n%s", got, r.sentences())
	}
}

// flushes are functions that write the log of what was changed to the disk, and wait for that.
var flushes = []string{"XLogFlush", "XLogWrite", "issue_xlog_fsync", "pg_fdatasync", "fdatasync", "RecordTransactionCommit", "CommitTransactionCommand"}

// TestPostgresCommits: many small transactions, each of which must be on the disk before it has succeeded. Sessions wait for that, and
// the search says so.
func TestPostgresCommits(t *testing.T) {
	pg := startPostgres(t, "fsync=on", "synchronous_commit=on", "autovacuum=off")
	sql(t, pg, "create table events (id int, at timestamp)")
	pgbench(t, pg, 2, "insert into events values (1, now());\n")
	r := searchFor(t, []finding{{"ExcessiveIOBlockingTime", []string{"/IO/File/", "/pg_wal/"}}}, fmt.Sprint(pg.PID))
	if r.find("ExcessiveIOBlockingTime", "/pg_wal/") == nil && r.blames("ExcessiveIOBlockingTime", flushes...) == "" {
		t.Errorf("nobody waits for the log:\n%s", r.sentences())
	}
	t.Logf("%d processes; waiting for input and output is put down to %q, for others to %q", len(r.Targets),
		r.blames("ExcessiveIOBlockingTime", flushes...), r.blames("ExcessiveSyncWaitingTime", flushes...))
	clean(t, pg.PID)
	if !long() {
		return
	}
	r = search(t, 20*time.Second, statusBottleneck, pg.PID)
	if r.blames("ExcessiveIOBlockingTime", flushes...) == "" && r.blames("ExcessiveSyncWaitingTime", flushes...) == "" {
		t.Errorf("no function that flushes the log is blamed:\n%s", r.sentences())
	}
}

// compressible is text that a compressor has work with.
func compressible(size int) string {
	random := rand.New(rand.NewSource(5))
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "line %d says %x\n", random.Intn(100), random.Intn(1<<20))
	}
	return b.String()
}

// TestNginxCompression: a server whose workers compress a large file for each request. The search attaches to its first process and
// blames the compressor; for tiny files that are sent as they are it does not.
func TestNginxCompression(t *testing.T) {
	require.Root(t)
	n, err := servers.StartNginx(t.TempDir(), 2, "gzip on; gzip_types text/plain; gzip_comp_level 6; gzip_min_length 1000;",
		map[string]string{"large.txt": compressible(300 << 10), "small.txt": "hello\n"})
	must(t, n, err)
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	wrk, err := n.WrkCommand("/large.txt", "Accept-Encoding: gzip", 8, 10*time.Minute)
	end := background(t, must(t, wrk, err))
	r := searchFor(t, []finding{{"CPUbound", []string{"/Code/libz.so"}}}, fmt.Sprint(n.PID))
	end()
	if got := r.blames("CPUbound", "deflate", "libz"); got == "" {
		t.Errorf("no compressor is blamed:\n%s", r.sentences())
	} else {
		t.Logf("%d processes; %s is blamed", len(r.Targets), got)
	}
	clean(t, n.PID)
	if !long() {
		return
	}
	wrk, err = n.WrkCommand("/small.txt", "", 8, 10*time.Minute)
	background(t, must(t, wrk, err))
	s := start(t, "attach", "--no-tui", "--for", "8s", "--json", "@REPORT", fmt.Sprint(n.PID))
	s.status()
	r = s.read()
	t.Log("\n" + s.out.String())
	if got := r.blames("CPUbound", "deflate", "libz"); got != "" {
		t.Errorf("%s is blamed where nothing is compressed:\n%s", got, r.sentences())
	}
}
