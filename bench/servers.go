package main

import (
	"errors"
	"flag"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/servers"
)

// Servers with many processes, and loads that never pause.

// span is how long each load of a server lasts: a minute, unless told otherwise. To attach, and to find what stack samples promise from the
// beginning, takes the same time however long the search goes on afterwards.
var span = flag.Duration("span", time.Minute, "how long each load of a server lasts")

// onlyLoad is a part of the name of the loads of servers that are measured.
var onlyLoad = flag.String("load", "", "which loads of PostgreSQL and nginx: those whose name has this in it, such as \"-S\", \"TPC-B\" or \"small\"")

// clients are more than there are processors: with one, whose server waits for it and the other way round, what is measured on a virtual
// machine is how long a processor takes to wake up, and a search that keeps it awake doubles the rate.
const clients = 4

// generators is how many threads pgbench has: one for each processor. With one for all clients, who stands in its way stops all servers, and
// rates scatter by 13 % from second to second instead of 8.
func generators() int { return min(runtime.NumCPU(), clients) }

// branches are so many more than there are clients that these hardly ever wait for each other: each transaction writes to one, and with two
// of them a processor more or less says less than who holds a row when it is taken.
const branches = "10"

// pgLoads are pgbench's own transactions, with and without writing.
var pgLoads = []struct {
	name string
	args []string
}{{"postgres: pgbench TPC-B", nil}, {"postgres: pgbench -S", []string{"-S"}}}

func pgArgs(long time.Duration) []string {
	return []string{"-c", strconv.Itoa(clients), "-j", strconv.Itoa(generators()), "-n", "-M", "prepared", "-T", seconds(long)}
}

// pgSettings leave out what comes and goes by itself: who waits for a disk, checkpoints and what is written twice after each, the vacuum.
var pgSettings = []string{"fsync=off", "autovacuum=off", "full_page_writes=off", "checkpoint_timeout=1h", "max_wal_size=4GB"}

// memoryDir is where files are in memory; "" is where temporary files are, if there is none. What the kernel writes to a disk by and by
// makes loads that write differ by a percent or two.
func memoryDir() string {
	var fs unix.Statfs_t
	const dir = "/dev/shm"
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || uint64(fs.Bavail)*uint64(fs.Bsize) < 8<<30 {
		return ""
	}
	return dir
}

// eachPgLoad starts a cluster in memory, with the tables of pgbench, and hands it to f with the arguments of one load after the other.
func eachPgLoad(f func(pg *servers.Postgres, name string, args []string) error) error {
	dir, leave, err := makeRoom(memoryDir())
	if err != nil {
		return err
	}
	defer leave()
	pg, err := servers.StartPostgres(dir, pgSettings...)
	if err != nil {
		return unlessMissing(err)
	}
	defer pg.Close()
	if _, err := pg.Run("pgbench", "-q", "-i", "-s", branches, "postgres"); err != nil {
		return err
	}
	for _, l := range pgLoads {
		if !strings.Contains(l.name, *onlyLoad) {
			continue
		}
		if err := f(pg, l.name, l.args); err != nil {
			return err
		}
	}
	return nil
}

// postgresLoss measures loads that each begin anew.
func postgresLoss(r *Result, rounds int) error {
	return eachPgLoad(func(pg *servers.Postgres, name string, args []string) error {
		loss, err := lossOf(name, pg.PID, rounds, func() (float64, error) {
			out, err := pg.Run("pgbench", slices.Concat(pgArgs(*span), args, []string{"postgres"})...)
			return numberIn(out, `tps = ([\d.]+)`), err
		})
		if err == nil {
			r.Losses = append(r.Losses, loss...)
		}
		return err
	})
}

// eachNginxLoad starts a server with so many workers, and hands it to f with one load after the other: small files, and a large one that is
// compressed.
func eachNginxLoad(workers int, f func(n *servers.Nginx, name, path, header string) error) error {
	dir, leave, err := makeRoom("")
	if err != nil {
		return err
	}
	defer leave()
	text := strings.Repeat("what is said again and again, and what is not: 0123456789\n", 1000)
	n, err := servers.StartNginx(dir, workers, "gzip on; gzip_types text/plain; gzip_min_length 1000; "+statusSettings, map[string]string{"small.txt": "hello\n", "large.txt": text})
	if err != nil {
		return unlessMissing(err)
	}
	defer n.Close()
	for _, l := range []struct{ name, path, header string }{{"nginx: small files", "/small.txt", ""}, {"nginx: gzip", "/large.txt", "Accept-Encoding: gzip"}} {
		if !strings.Contains(l.name, *onlyLoad) {
			continue
		}
		if err := f(n, l.name, l.path, l.header); err != nil {
			return unlessMissing(err)
		}
	}
	return nil
}

// nginxLoss measures loads that each begin anew.
func nginxLoss(r *Result, rounds int) error {
	return eachNginxLoad(1, func(n *servers.Nginx, name, path, header string) error {
		loss, err := lossOf(name, n.PID, rounds, func() (float64, error) {
			answers, took, err := n.Wrk(path, header, 8, *span)
			return float64(answers) / took.Seconds(), err
		})
		if err == nil {
			r.Losses = append(r.Losses, loss...)
		}
		return err
	})
}

func unlessMissing(err error) error {
	if errors.Is(err, servers.ErrMissing) {
		skip("%v", err)
		return nil
	}
	return err
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

func numberIn(text, pattern string) float64 {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	return n
}
