// Command record writes the readings of six servers under load, as they come, to files: what the tests of decisions replay
// (consultant/testdata/servers). Nothing is searched meanwhile, and the pairs stay enabled from the beginning to the end.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"culprit/daemon"
	"culprit/grid"
	"culprit/internal/servers"
	"culprit/pcl"
	"culprit/pcl/check"
)

var (
	into  = flag.String("to", "consultant/testdata/servers", "`directory` of the files")
	span  = flag.Duration("span", 80*time.Second, "how long each server is measured")
	light = flag.Bool("light", false, "loads that leave most of the CPUs free; where others use them, begin it with nice -n -10")
	only  = flag.String("only", "", "only servers whose names have this in them")
)

// steady is how long a load, and the taking of samples, go on before the first reading.
const steady = 3 * time.Second

func main() {
	flag.Parse()
	for _, s := range all {
		if !strings.Contains(s.name, *only) {
			continue
		}
		if err := s.record(); err != nil {
			fmt.Fprintf(os.Stderr, "record: %s: %v\n", s.name, err)
			os.Exit(1)
		}
	}
}

// hour is longer than any measurement, in s.
const hour = "3600"

// dearest is the largest share of a server's time that the probes of a recorded pair may take.
const dearest = 0.05

// A loaded server has a load that goes on until it is killed.
type loaded struct {
	name  string
	begin func(dir string) (pid int, load *exec.Cmd, end func() error, err error)
}

var all = []loaded{
	{"postgres", postgres}, {"mariadb", maria}, {"redis", redis}, {"memcached", memcached}, {"nginx", nginx}, {"node", node},
}

func postgres(dir string) (int, *exec.Cmd, func() error, error) {
	pg, err := servers.StartPostgres(dir)
	if err != nil {
		return 0, nil, nil, err
	}
	if _, err := pg.Run("pgbench", "-q", "-i", "-s", "10", "postgres"); err != nil {
		return 0, nil, nil, errors.Join(err, pg.Close())
	}
	args := []string{"-c", "4", "-n", "-T", hour, "postgres"}
	if *light {
		args = append([]string{"-R", "150"}, args...)
	}
	return pg.PID, pg.Command("pgbench", args...), pg.Close, nil
}

func maria(dir string) (int, *exec.Cmd, func() error, error) {
	db, err := servers.StartMariaDB(dir)
	if err != nil {
		return 0, nil, nil, err
	}
	prepare, err := db.SysbenchCommand("oltp_read_write", "prepare", 1, time.Second)
	if err == nil {
		err = prepare.Run()
	}
	if err != nil {
		return 0, nil, nil, errors.Join(err, db.Close())
	}
	load, err := db.SysbenchCommand("oltp_read_write", "run", 2, time.Hour)
	if err == nil && *light {
		load.Args = slices.Insert(load.Args, 2, "--rate=40")
	}
	return db.PID, load, db.Close, err
}

func redis(dir string) (int, *exec.Cmd, func() error, error) {
	r, err := servers.StartRedis(dir)
	if err != nil {
		return 0, nil, nil, err
	}
	if *light {
		return r.PID, exec.Command("/usr/bin/python3", "-c", listClient, r.Socket), r.Close, nil
	}
	load, err := r.Command("redis-benchmark", "-l", "-q", "-c", "4", "-r", "100000", "zadd", "board", "__rand_int__", "player:__rand_int__")
	return r.PID, load, r.Close, err
}

func memcached(dir string) (int, *exec.Cmd, func() error, error) {
	m, err := servers.StartMemcached(dir, 2)
	if err != nil {
		return 0, nil, nil, err
	}
	rate := "5000"
	if *light {
		rate = "1000"
	}
	return m.PID, exec.Command("/usr/bin/python3", "-c", cacheClient, m.Socket, rate), m.Close, nil
}

// listClient writes to a hundred lists and reads them whole, and thinks in between.
const listClient = `import random, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile("rb", 1 << 16)
def ask(*words):
    s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
    line = f.readline()
    for _ in range(int(line[1:]) if line[:1] == b"*" else 0):
        f.read(int(f.readline()[1:]) + 2)
for i in range(100):
    for j in range(2000):
        ask(b"rpush", b"list%d" % i, b"element %d" % j)
while True:
    key = b"list%d" % random.randrange(100)
    ask(b"rpush", key, b"element")
    ask(b"ltrim", key, b"-2000", b"-1")
    ask(b"lrange", key, b"0", b"-1")
    time.sleep(random.expovariate(1000))
`

// pageClient asks for a page over one connection, and thinks in between.
const pageClient = `import http.client, random, sys, time
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
while True:
    c.request("GET", sys.argv[2], headers={"Accept-Encoding": "gzip"})
    c.getresponse().read()
    time.sleep(random.expovariate(float(sys.argv[3])))
`

// cacheClient writes and reads values of all sizes, and thinks in between.
const cacheClient = `import random, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile("rb", 1 << 16)
while True:
    key, size = b"key%d" % random.randrange(1000), int(2 ** random.uniform(4, 18))
    s.sendall(b"set %s 0 0 %d\r\n" % (key, size) + b"x" * size + b"\r\n")
    f.readline()
    for _ in range(4):
        s.sendall(b"get key%d\r\n" % random.randrange(1000))
        line = f.readline()
        if line.startswith(b"VALUE"):
            f.read(int(line.split()[3]) + 2)
            f.readline()
    time.sleep(random.expovariate(float(sys.argv[2])))
`

func nginx(dir string) (int, *exec.Cmd, func() error, error) {
	text := strings.Repeat("what is said again and again, and what is not: 0123456789\n", 1000)
	n, err := servers.StartNginx(dir, 1, "gzip on; gzip_types text/plain; gzip_min_length 1000;", map[string]string{"large.txt": text})
	if err != nil {
		return 0, nil, nil, err
	}
	if *light {
		_, port, _ := strings.Cut(strings.TrimPrefix(n.URL, "http://"), ":")
		return n.PID, exec.Command("/usr/bin/python3", "-c", pageClient, port, "/large.txt", "500"), n.Close, nil
	}
	load, err := n.WrkCommand("/large.txt", "Accept-Encoding: gzip", 1, time.Hour)
	return n.PID, load, n.Close, err
}

// pageServer answers with pages that it makes for each request.
const pageServer = `const http = require("http");
http.createServer((request, answer) => {
  const items = [];
  for (let i = 0; i < 50 + Math.random() * 400; i++) items.push({ id: i, name: "item " + i, price: Math.round(Math.random() * 1e4) / 100 });
  items.sort((a, b) => a.price - b.price);
  answer.end(JSON.stringify(items));
}).listen(+process.argv[1], "127.0.0.1", () => console.log("ready"));
`

func node(string) (int, *exec.Cmd, func() error, error) {
	port, err := servers.FreePort()
	if err != nil {
		return 0, nil, nil, err
	}
	node := exec.Command("node", "-e", pageServer, strconv.Itoa(port))
	said, err := node.StdoutPipe()
	if err != nil {
		return 0, nil, nil, err
	}
	if err := node.Start(); err != nil {
		return 0, nil, nil, err
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		return 0, nil, nil, errors.Join(err, end(node))
	}
	load := exec.Command("wrk", "-t", "1", "-c", "1", "-d", hour, fmt.Sprintf("http://127.0.0.1:%d/", port))
	if *light {
		load = exec.Command("/usr/bin/python3", "-c", pageClient, strconv.Itoa(port), "/", "500")
	}
	return node.Process.Pid, load, func() error { return end(node) }, nil
}

// end kills a program.
func end(cmd *exec.Cmd) error {
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return err
}

// record measures a server and writes its file. A server that is not installed is left out.
func (s loaded) record() error {
	dir, err := os.MkdirTemp("", "culprit-record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pid, load, finish, err := s.begin(dir)
	switch {
	case errors.Is(err, servers.ErrMissing):
		fmt.Fprintln(os.Stderr, "record:", err)
		return nil
	case err != nil:
		return err
	}
	if err := load.Start(); err != nil {
		return errors.Join(err, finish())
	}
	time.Sleep(steady)
	r, err := recordOf(pid)
	if err = errors.Join(err, end(load), finish()); err != nil {
		return err
	}
	kind := map[bool]string{false: "full", true: "light"}[*light]
	return r.write(filepath.Join(*into, s.name+"-"+kind+".txt"), s.name+", "+kind+" load")
}

// A recording has the readings of some pairs.
type recording struct {
	keys     []grid.PairKey
	readings map[grid.PairKey][]grid.Interval
}

// fetchEvery is how often readings are fetched: a grid keeps them for a minute.
const fetchEvery = 20 * time.Second

// recordOf measures a process that is under load.
func recordOf(pid int) (r *recording, err error) {
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		return nil, err
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib, Children: true}, pid)
	if err != nil {
		return nil, err
	}
	defer d.Detach()
	time.Sleep(steady) // stacks are sampled
	g := grid.New(d, lib.Metric, d.Now)
	r = &recording{readings: map[grid.PairKey][]grid.Interval{}}
	for i, res := range g.Enable(recordedPairs(d, lib)...) {
		if res.Err != nil {
			fmt.Fprintf(os.Stderr, "record: pair %d: %v\n", i, res.Err)
			continue
		}
		r.keys = append(r.keys, res.Key)
	}
	defer g.DisableAll()
	for began := time.Now(); time.Since(began) < *span; {
		time.Sleep(min(fetchEvery, *span-time.Since(began)))
		r.fetch(g)
	}
	return r, nil
}

func (r *recording) fetch(g *grid.Grid) {
	for _, k := range r.keys {
		last := math.Inf(-1)
		if list := r.readings[k]; len(list) > 0 {
			last = list[len(list)-1].End
		}
		r.readings[k] = append(r.readings[k], g.Intervals(k, last)...)
	}
}

// recordedPairs are what the hypotheses of the first level read at the whole program, and what CPUbound reads at the heaviest functions and the heaviest
// thread, as far as they are not too dear.
func recordedPairs(d *daemon.Daemon, lib *pcl.Library) (keys []grid.PairKey) {
	for _, h := range lib.Hypotheses() {
		if h.Parent != "" || len(h.Refine) == 0 && h.Name != "SchedulingDelay" {
			continue
		}
		for _, m := range h.Metrics {
			if k := (grid.PairKey{Metric: m, Focus: grid.Whole()}); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	var parts []grid.PairKey
	for _, f := range append(heaviest(d, grid.Code, 6), heaviest(d, grid.Process, 2)...) {
		parts = append(parts, grid.PairKey{Metric: "cpu_inclusive", Focus: f})
	}
	prices, errs := d.Price(parts)
	for i, k := range parts {
		if errs[i] == nil && prices[i].Fraction < dearest {
			keys = append(keys, k)
		}
	}
	return keys
}

// heaviest goes down from the whole program to what is on most stacks, so many steps, and returns the last two places.
func heaviest(d *daemon.Daemon, h grid.Hierarchy, steps int) (way []grid.Focus) {
	at := grid.Whole()
	for range steps {
		list := d.Refinements(at, h)
		if len(list) == 0 {
			break
		}
		next := slices.MaxFunc(list, func(a, b grid.Focus) int { return cmp.Compare(d.Weight(a, "cpu"), d.Weight(b, "cpu")) })
		if d.Weight(next, "cpu") < 0.1 || slices.Contains(way, next) {
			break
		}
		way, at = append(way, next), next
	}
	return way[max(0, len(way)-2):]
}

// write writes the pairs, those that never change with what they are, and a line for each time over which some of the others were read: from, to, and
// what each was, - where it was not read.
func (r *recording) write(path, what string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintf(w, "# %s\n", what)
	type span struct{ from, to float64 }
	rows, varying := map[span][]string{}, 0
	for _, k := range r.keys {
		list := r.readings[k]
		if constant := !slices.ContainsFunc(list, func(v grid.Interval) bool { return v.Value != list[0].Value }); constant && len(list) > 0 {
			fmt.Fprintf(w, "always %s %s\n", short(list[0].Value), k)
			continue
		}
		fmt.Fprintf(w, "pair %s\n", k)
		for _, v := range list {
			at := span{milli(v.Start), milli(v.End)}
			for len(rows[at]) < varying {
				rows[at] = append(rows[at], "-")
			}
			rows[at] = append(rows[at], short(v.Value))
		}
		varying++
	}
	order := make([]span, 0, len(rows))
	for at := range rows {
		order = append(order, at)
	}
	slices.SortFunc(order, func(a, b span) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from)) })
	for _, at := range order {
		fmt.Fprintf(w, "%g %g %s\n", at.from, at.to, strings.Join(rows[at], " "))
	}
	return w.Flush()
}

// milli rounds a time to a millisecond.
func milli(t float64) float64 { return math.Round(1000*t) / 1000 }

// short is a number with three digits.
func short(v float64) string {
	if v == 0 {
		return "0"
	}
	return strings.TrimPrefix(strconv.FormatFloat(v, 'g', 3, 64), "0")
}
