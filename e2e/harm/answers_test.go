package harm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/servers"
	"culprit/internal/testprog"
)

// What safety must not cost: the time until a search can say where.

// A load is a program at work whose bottleneck culprit finds.
type load struct {
	name  string
	start func(t *testing.T) (pid int)
}

// loads are programs and servers whose answers were timed before.
var loads = []load{
	{"demo: cpu", startDemo("cpu.c")}, {"demo: lock", startDemo("lock.c")}, {"demo: io", startDemo("io.c")},
	{"redis, LRANGE", startRedis}, {"nginx, gzip", startNginx}, {"PostgreSQL, missing index", startPostgres},
}

// TestAnswerTimes prints how long an earlier culprit (-before) and this one take until they name a function or an object, in turns.
func TestAnswerTimes(t *testing.T) {
	if *before == "" {
		t.Skip("compares two binaries: -args -before PATH; scripts/harm-table does it")
	}
	fmt.Println("| time until a search names, s | before | now |\n|---|---|---|")
	n := max(3, *rounds)
	for _, l := range loads {
		t.Run(l.name, func(t *testing.T) {
			pid := l.start(t)
			parts, places := map[string][]float64{}, map[string][]float64{}
			for range n {
				for _, culprit := range []string{*before, now} {
					part, place := answerTimes(t, culprit, pid)
					parts[culprit], places[culprit] = append(parts[culprit], part), append(places[culprit], place)
				}
			}
			fmt.Printf("| %s: a process, a thread or a place | %s | %s |\n", l.name, spread(parts[*before]), spread(parts[now]))
			fmt.Printf("| %s: a function or an object | %s | %s |\n", l.name, spread(places[*before]), spread(places[now]))
		})
	}
}

var (
	foundPart  = regexp.MustCompile(`(?m)^\+([\d.]+)s .* at /.* tested true`)
	foundPlace = regexp.MustCompile(`(?m)^\+([\d.]+)s .* at /(Code|SyncObject)/\S+/.* tested true`)
)

// answerTimes are when a search first finds a hypothesis true somewhere below the whole program, and when at a function or an object, in
// seconds; 20 if it does not.
func answerTimes(t *testing.T, culprit string, pid int) (part, place float64) {
	t.Helper()
	r := &round{T: t, culprit: culprit}
	res := r.run("attach", fmt.Sprint(pid), "--no-tui", "--for", "10s")
	return firstTime(t, foundPart, res.err), firstTime(t, foundPlace, res.err)
}

// firstTime is the time that a pattern finds in a search's log.
func firstTime(t *testing.T, found *regexp.Regexp, log string) float64 {
	t.Helper()
	m := found.FindStringSubmatch(log)
	if m == nil {
		return 20
	}
	seconds, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// spread is the median, and least and most.
func spread(v []float64) string {
	v = slices.Clone(v)
	slices.Sort(v)
	return fmt.Sprintf("%.1f (%.1f to %.1f)", v[len(v)/2], v[0], v[len(v)-1])
}

func startDemo(source string) func(*testing.T) int {
	return func(t *testing.T) int {
		cmd := exec.Command(testprog.Build(t, filepath.Join("testdata/demo", source)))
		cmd.Dir = t.TempDir() // some write files
		return background(t, cmd)
	}
}

// background starts a program that is ended when the test ends.
func background(t *testing.T, cmd *exec.Cmd) (pid int) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		_ = cmd.Wait()
	})
	time.Sleep(200 * time.Millisecond) // its threads begin
	return cmd.Process.Pid
}

func startRedis(t *testing.T) int {
	socket := filepath.Join(t.TempDir(), "redis.sock")
	pid := background(t, exec.Command(require.Tool(t, "redis-server"), "--port", "0", "--unixsocket", socket, "--save", ""))
	background(t, exec.Command(require.Tool(t, "redis-benchmark"), "-s", socket, "-q", "-l", "-t", "lrange_600"))
	return pid
}

func startNginx(t *testing.T) int {
	require.Root(t)
	page := make([]byte, 200_000)
	for i := range page {
		page[i] = 'a' + byte(i*i%23)
	}
	n, err := servers.StartNginx(worldDir(t), 1, "gzip on; gzip_comp_level 9;", map[string]string{"index.html": string(page)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	wrk, err := n.WrkCommand("/index.html", "Accept-Encoding: gzip", 4, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	background(t, wrk)
	return n.PID
}

func startPostgres(t *testing.T) int {
	require.Root(t)
	pg, err := servers.StartPostgres(worldDir(t), "fsync=off", "autovacuum=off", "max_parallel_workers_per_gather=0", "jit=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pg.Close() })
	const table = "create table parcels as select i as id, repeat('x', 20) as label from generate_series(1, 60000) i; analyze parcels"
	if _, err := pg.Run("psql", "-X", "-q", "-c", table, "postgres"); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(script, []byte("\\set id random(1, 60000)\nselect label from parcels where id = :id;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	background(t, pg.Command("pgbench", "-n", "-c", "2", "-T", "600", "-f", script, "postgres"))
	return pg.PID
}

// worldDir is a directory that other users may enter.
func worldDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(allCanSee, "server")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
