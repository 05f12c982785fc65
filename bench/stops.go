package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"culprit/internal/servers"
)

// before is another build of culprit, which is measured in turn with that of this source tree.
var before = flag.String("before", "", "path of another culprit: -only stops, postgres, nginx or course have it search the same programs, in turn")

// searchedFor is how long each search of a program goes on. The stops with which it ends weigh less in a longer one.
var searchedFor = flag.Duration("searched", 15*time.Second, "how long each search of -only stops goes on")

// earlyTime is the beginning of a search, in which most of its probes go in.
const earlyTime = 5 * time.Second

// Stops is what one build of culprit has a program stand still while it searches. What an older build does not report is null.
type Stops struct {
	Program string   `json:"program"`
	Build   string   `json:"build"` // "this", or the path of the other one
	Threads int      `json:"threads"`
	Stops   int      `json:"stops"` // of all processes in all rounds
	P50MS   *float64 `json:"p50_ms"`
	P99MS   *float64 `json:"p99_ms"` // of the rounds the median
	MaxMS   float64  `json:"max_ms"`
	Percent float64  `json:"percent"` // of the time of the search, the stops of all processes added up
	// LaterPercent is the same of the time after the first five seconds.
	LaterPercent *float64 `json:"later_percent"`
	ThreadUS     float64  `json:"us_per_thread"` // that was stopped
	RoundsDone   int      `json:"rounds"`
}

// A subject is a program that is searched.
type subject struct {
	name  string
	start func() (pid int, end func(), err error)
}

var subjects = []subject{
	{"1,000 threads", sleepers("1000")},
	{"4,000 threads", sleepers("4000")},
	{"node, idle", script("node", "-e", "setInterval(() => {}, 1000); console.log()")},
	{"node, under load", nodeAtWork},
	{"java", javaAtWork},
	{"python3", script("python3", "-uc", pythonWork)},
	{"redis", redisAtWork},
	{"nginx", nginxAtWork},
	{"postgres", postgresAtWork},
	{"mariadb", mariadbAtWork},
}

// stops has each program searched by one build and the other, in turn.
func stops(r *Result, rounds int) error {
	tool, err := buildTool()
	if err != nil {
		return err
	}
	defer tool.remove()
	for _, s := range subjects {
		if !strings.Contains(s.name, *onlyLoad) {
			continue
		}
		pid, end, err := s.start()
		if err != nil {
			if err := unlessMissing(err); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			continue
		}
		all, err := searchedBy(tool, builds(), pid, rounds)
		end()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for i := range all {
			all[i].Program = s.name
			all[i].say()
		}
		r.Stops = append(r.Stops, all...)
	}
	return nil
}

func searchedBy(tool *tool, builds []string, pid, rounds int) ([]Stops, error) {
	all := make([]Stops, len(builds))
	seen := make([][]pauses, len(builds))
	for range rounds {
		for i, b := range builds {
			bin := b
			if b == "this" {
				bin = tool.path("culprit")
			}
			p, err := pausesOf(tool, bin, pid)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", bin, err)
			}
			seen[i] = append(seen[i], p)
		}
	}
	for i, b := range builds {
		all[i] = addUp(seen[i])
		all[i].Build = b
	}
	return all, nil
}

// pauses are those of one search, as its report has them.
type pauses struct {
	Count       int    `json:"count"`
	MaxUS       int64  `json:"max_us"`
	TotalUS     int64  `json:"total_us"`
	LaterUS     *int64 `json:"later_us"`
	P50US       *int64 `json:"p50_us"`
	P99US       *int64 `json:"p99_us"`
	ThreadStops *int   `json:"thread_stops"`

	threads, processes int
}

// pausesOf searches a program once.
func pausesOf(tool *tool, bin string, pid int) (pauses, error) {
	file := tool.path("report.json")
	os.Remove(file)
	out, runErr := exec.Command(bin, "attach", "--quiet", "--no-tui", "--for", searchedFor.String(), "--json", file, strconv.Itoa(pid)).CombinedOutput()
	text, err := os.ReadFile(file)
	if err != nil {
		return pauses{}, errors.Join(runErr, err, errors.New(string(out)))
	}
	var said struct {
		Targets  []struct{ Threads int }
		Overhead struct{ Pauses pauses }
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return pauses{}, err
	}
	p := said.Overhead.Pauses
	for _, t := range said.Targets {
		p.threads += t.Threads
	}
	p.processes = len(said.Targets)
	return p, nil
}

func addUp(rounds []pauses) (s Stops) {
	var p50, p99, later []float64
	total, threads := 0.0, 0.0
	for _, p := range rounds {
		s.RoundsDone++
		s.Stops += p.Count
		s.Threads = max(s.Threads, p.threads)
		s.MaxMS = max(s.MaxMS, float64(p.MaxUS)/1000)
		total += float64(p.TotalUS)
		if p.LaterUS != nil {
			later = append(later, 100*float64(*p.LaterUS)/float64((*searchedFor-earlyTime).Microseconds()))
		}
		if p.ThreadStops != nil {
			threads += float64(*p.ThreadStops)
		} else {
			threads += float64(p.Count) * float64(p.threads) / float64(max(p.processes, 1))
		}
		if p.P50US != nil && p.P99US != nil {
			p50, p99 = append(p50, float64(*p.P50US)/1000), append(p99, float64(*p.P99US)/1000)
		}
	}
	s.Percent = 100 * total / float64(searchedFor.Microseconds()) / float64(len(rounds))
	s.ThreadUS = total / max(threads, 1)
	if len(later) > 0 {
		m := mean(later)
		s.LaterPercent = &m
	}
	if len(p50) > 0 {
		a, b := median(p50), median(p99)
		s.P50MS, s.P99MS = &a, &b
	}
	return s
}

// say prints a line for people.
func (s *Stops) say() {
	known := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprintf("%.2f", *v)
	}
	fmt.Fprintf(os.Stderr, "%s (%d threads), %s: %d stops in %d rounds, p50 %s ms, p99 %s ms, max %.1f ms, %.3f %% of the time, %s %% after five seconds, %.1f us a thread\n",
		s.Program, s.Threads, s.Build, s.Stops, s.RoundsDone, known(s.P50MS), known(s.P99MS), s.MaxMS, s.Percent, known(s.LaterPercent), s.ThreadUS)
}

// sleepers are threads of which each works a little every ten seconds.
func sleepers(threads string) func() (int, func(), error) {
	return func() (int, func(), error) {
		dir, bin, err := build("testdata/targets/threads.c")
		if err != nil {
			return 0, nil, err
		}
		l, err := runLoop(dir, exec.Command(bin, threads, "10000"))
		if err != nil {
			return 0, nil, err
		}
		fmt.Fprintln(l.in, "go")
		time.Sleep(time.Second)
		return l.cmd.Process.Pid, func() {
			go io.Copy(io.Discard, l.out)
			l.stop()
		}, nil
	}
}

// untilReady starts a program, waits until it has printed a line, and gives it. What it prints afterwards is read and dropped.
func untilReady(cmd *exec.Cmd) (line string, end func(), err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	buf := make([]byte, 256)
	n, err := out.Read(buf)
	if err != nil {
		end()
		return "", nil, fmt.Errorf("%s has ended at once: %w", cmd.Path, err)
	}
	go io.Copy(io.Discard, out)
	return strings.TrimSpace(string(buf[:n])), end, nil
}

// found is the path of a program; an error that says what is missing if it is not installed.
func found(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("needs %s: %w", program, servers.ErrMissing)
	}
	return path, nil
}

// script runs a program that prints a line when it is ready.
func script(program string, args ...string) func() (int, func(), error) {
	return func() (int, func(), error) {
		path, err := found(program)
		if err != nil {
			return 0, nil, err
		}
		cmd := exec.Command(path, args...)
		_, end, err := untilReady(cmd)
		if err != nil {
			return 0, nil, err
		}
		time.Sleep(time.Second)
		return cmd.Process.Pid, end, nil
	}
}

const pythonWork = `
import threading, json
def work():
    while True:
        json.loads(json.dumps(list(range(1000))))
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
print("ready")
work()
`

const nodeServer = `
const s = require('http').createServer((q, a) => a.end(JSON.stringify(Array.from({length: 100}, (_, i) => i))));
s.listen(0, '127.0.0.1', () => console.log(s.address().port));
`

// nodeAtWork is a server under the load of wrk.
func nodeAtWork() (int, func(), error) {
	node, err := found("node")
	if err != nil {
		return 0, nil, err
	}
	wrk, err := found("wrk")
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.Command(node, "-e", nodeServer)
	port, end, err := untilReady(cmd)
	if err != nil {
		return 0, nil, err
	}
	stop, err := loadedBy(exec.Command(wrk, "-t1", "-c4", "-d1h", "http://127.0.0.1:"+port+"/"))
	return cmd.Process.Pid, func() { stop(); end() }, err
}

// loadedBy starts what puts load on a server.
func loadedBy(cmd *exec.Cmd) (stop func(), err error) {
	if err := cmd.Start(); err != nil {
		return func() {}, err
	}
	time.Sleep(time.Second)
	return func() {
		cmd.Process.Kill()
		cmd.Wait()
	}, nil
}

const javaWork = `
public class Work {
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 3; i++) new Thread(Work::work).start();
        System.out.println("ready");
    }
    static void work() {
        java.util.Map<Integer, String> m = new java.util.HashMap<>();
        for (int i = 0; ; i++) m.merge(i % 1000, "x" + i, (x, y) -> y);
    }
}
`

// javaAtWork runs a small program, from its source.
func javaAtWork() (int, func(), error) {
	java, err := found("java")
	if err != nil {
		return 0, nil, err
	}
	dir, leave, err := makeRoom("")
	if err != nil {
		return 0, nil, err
	}
	source := filepath.Join(dir, "Work.java")
	if err := os.WriteFile(source, []byte(javaWork), 0o644); err != nil {
		leave()
		return 0, nil, err
	}
	cmd := exec.Command(java, "-Xmx256m", source)
	_, end, err := untilReady(cmd)
	if err != nil { // a runtime without the compiler
		leave()
		return 0, nil, fmt.Errorf("needs a JDK, whose java runs sources: %w", servers.ErrMissing)
	}
	time.Sleep(time.Second)
	return cmd.Process.Pid, func() { end(); leave() }, nil
}

// redisAtWork is a server whose client asks as fast as it can.
func redisAtWork() (int, func(), error) {
	for _, program := range []string{"redis-server", "redis-benchmark"} {
		if _, err := found(program); err != nil {
			return 0, nil, err
		}
	}
	dir, leave, err := makeRoom("")
	if err != nil {
		return 0, nil, err
	}
	server, client, err := startRedis(dir)
	if err != nil {
		leave()
		return 0, nil, err
	}
	stop, err := loadedBy(exec.Command("redis-benchmark", "-s", server.Socket, "-c", "4", "-n", "1000000000", "-q", "-t", "set,get"))
	return server.PID, func() {
		stop()
		client.Close()
		server.Close()
		leave()
	}, err
}

// nginxAtWork is a server with two workers under the load of wrk.
func nginxAtWork() (int, func(), error) {
	wrk, err := found("wrk")
	if err != nil {
		return 0, nil, err
	}
	dir, leave, err := makeRoom("")
	if err != nil {
		return 0, nil, err
	}
	n, err := servers.StartNginx(dir, 2, "", map[string]string{"small.txt": "hello\n"})
	if err != nil {
		leave()
		return 0, nil, err
	}
	stop, err := loadedBy(exec.Command(wrk, "-t1", "-c8", "-d1h", n.URL+"/small.txt"))
	return n.PID, func() {
		stop()
		n.Close()
		leave()
	}, err
}

// postgresAtWork is a server with some backends that read.
func postgresAtWork() (int, func(), error) {
	dir, leave, err := makeRoom(memoryDir())
	if err != nil {
		return 0, nil, err
	}
	pg, err := servers.StartPostgres(dir, pgSettings...)
	if err != nil {
		leave()
		return 0, nil, err
	}
	stop := func() {}
	end := func() {
		stop()
		pg.Close()
		leave()
	}
	if _, err := pg.Run("pgbench", "-q", "-i", "-s", "1", "postgres"); err != nil {
		end()
		return 0, nil, err
	}
	stop, err = loadedBy(pg.Command("pgbench", append(pgArgs(time.Hour), "-S", "postgres")...))
	return pg.PID, end, err
}

// mariadbAtWork is a server with a thread for each of some clients that read.
func mariadbAtWork() (int, func(), error) {
	dir, leave, err := makeRoom(memoryDir())
	if err != nil {
		return 0, nil, err
	}
	db, err := servers.StartMariaDB(dir)
	if err != nil {
		leave()
		return 0, nil, err
	}
	stop := func() {}
	end := func() {
		stop()
		db.Close()
		leave()
	}
	const test = "oltp_read_only"
	prepare, err := db.SysbenchCommand(test, "prepare", 1, time.Second)
	if err == nil {
		err = prepare.Run()
	}
	if err != nil {
		end()
		return 0, nil, err
	}
	run, err := db.SysbenchCommand(test, "run", clients, time.Hour)
	if err == nil {
		stop, err = loadedBy(run)
	}
	return db.PID, end, err
}
