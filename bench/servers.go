package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"culprit/daemon/kernel"
	"culprit/internal/servers"
)

// What a search costs a server with many processes: its throughput under a load that never pauses, with and without a search from
// the beginning of the load to its end, attaching and removing included, in turn.

// span is how long each load of a server lasts: a minute, unless told otherwise. To attach, and to find what stack samples promise from the
// beginning, takes the same time however long the search goes on afterwards.
var span = flag.Duration("span", time.Minute, "how long each load of a server lasts")

// A Loss is what a search costs a server; figures are medians of the alternations.
type Loss struct {
	Load     string  `json:"load"`
	Seconds  float64 `json:"seconds"`    // that each load lasts
	BarePerS float64 `json:"bare_per_s"` // transactions or requests per second without a search
	// LossPercent is by how much fewer there are during a search: of the alternations each is compared with the mean of the loads
	// without a search before and after it.
	LossPercent float64 `json:"loss_percent"`
	// WorkPercent is by how much more processor time the server's processes take for each, compared in the same way: what probes
	// cost, whatever else the machine does.
	WorkPercent float64 `json:"work_percent"`
	// NoisePercent is by how much two loads without a search, one after the other, differ.
	NoisePercent float64 `json:"noise_percent"`
	DaemonCPU    float64 `json:"daemon_cpu"` // processors that culprit used
	Processes    int     `json:"processes"`  // that it measured
}

// A served is what a load got.
type served struct{ rate, work float64 } // per second; processor seconds for each

// A load is one run of a load generator, which returns how many a second there were.
type load func() (rate float64, err error)

// clients are more than there are processors: with one, whose server waits for it and the other way round, what is measured on a virtual
// machine is how long a processor takes to wake up, and a search that keeps it awake doubles the rate.
const clients = 4

// generators is how many threads pgbench has: one for each processor. With one for all clients, who stands in its way stops all servers, and
// rates scatter by 13 % from second to second instead of 8.
func generators() int { return min(runtime.NumCPU(), clients) }

// postgresLoss measures pgbench's own transactions on a cluster without fsync.
func postgresLoss(r *Result, rounds int) error {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pg, err := servers.StartPostgres(dir, "fsync=off", "autovacuum=off")
	if err != nil {
		return unlessMissing(err)
	}
	defer pg.Close()
	if _, err := pg.Run("pgbench", "-q", "-i", "-s", "2", "postgres"); err != nil {
		return err
	}
	args := []string{"-c", strconv.Itoa(clients), "-j", strconv.Itoa(generators()), "-n", "-M", "prepared", "-T", seconds(*span)}
	for _, l := range []struct {
		name string
		args []string
	}{{"postgres: pgbench", nil}, {"postgres: pgbench -S", []string{"-S"}}} {
		loss, err := lossOf(l.name, pg.PID, rounds, func() (float64, error) {
			out, err := pg.Run("pgbench", slices.Concat(args, l.args, []string{"postgres"})...)
			return numberIn(out, `tps = ([\d.]+)`), err
		})
		if err != nil {
			return err
		}
		r.Losses = append(r.Losses, *loss)
	}
	return nil
}

// nginxLoss measures small files, and a large one that is compressed.
func nginxLoss(r *Result, rounds int) error {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text := strings.Repeat("what is said again and again, and what is not: 0123456789\n", 1000)
	n, err := servers.StartNginx(dir, 1, "gzip on; gzip_types text/plain; gzip_min_length 1000;", map[string]string{"small.txt": "hello\n", "large.txt": text})
	if err != nil {
		return unlessMissing(err)
	}
	defer n.Close()
	for _, l := range []struct{ name, path, header string }{{"nginx: small files", "/small.txt", ""}, {"nginx: gzip", "/large.txt", "Accept-Encoding: gzip"}} {
		loss, err := lossOf(l.name, n.PID, rounds, func() (float64, error) {
			answers, took, err := n.Wrk(l.path, l.header, 8, *span)
			return float64(answers) / took.Seconds(), err
		})
		if err != nil {
			return unlessMissing(err)
		}
		r.Losses = append(r.Losses, *loss)
	}
	return nil
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

// lossOf alternates loads with and without a search.
func lossOf(name string, pid, rounds int, f load) (*Loss, error) {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tool := filepath.Join(dir, "culprit")
	if out, err := exec.Command("go", "build", "-o", tool, "./cmd/culprit").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building culprit: %w\n%s", err, out)
	}
	var bare []served
	var with []served
	l := &Loss{Load: name, Seconds: span.Seconds()}
	for i := range rounds + 1 {
		one, err := serve(pid, f)
		if err != nil {
			return nil, err
		}
		if bare = append(bare, one); i == rounds {
			break
		}
		two, err := l.searched(tool, filepath.Join(dir, "report.json"), pid, f)
		if err != nil {
			return nil, err
		}
		with = append(with, two)
	}
	l.judge(bare, with)
	return l, nil
}

// judge works out the medians; bare has one more than with.
func (l *Loss) judge(bare, with []served) {
	var rates, loss, work, noise []float64
	for i, w := range with {
		a, b := bare[i], bare[i+1]
		rates = append(rates, a.rate)
		loss = append(loss, 100*(1-w.rate/((a.rate+b.rate)/2)))
		work = append(work, 100*(w.work/((a.work+b.work)/2)-1))
		noise = append(noise, 100*max(b.rate/a.rate-1, 1-b.rate/a.rate))
	}
	l.BarePerS, l.LossPercent, l.WorkPercent, l.NoisePercent = median(rates), median(loss), median(work), median(noise)
	fmt.Fprintf(os.Stderr, "%s: %.0f a second; lost during a search %.2f %% (%.1f), more work for each %.2f %% (%.1f); noise %.1f %%\n",
		l.Load, l.BarePerS, l.LossPercent, loss, l.WorkPercent, work, l.NoisePercent)
}

// settle is how long servers have to be rid of those that served: who ends between two looks is in neither.
const settle = 500 * time.Millisecond

// serve is one load, with the processor time that the server's processes take for it.
func serve(pid int, f load) (served, error) {
	before := processorTime(pid)
	rate, err := f()
	time.Sleep(settle)
	if err == nil && rate <= 0 {
		err = errors.New("the load generator does not say how many there were")
	}
	return served{rate, (processorTime(pid) - before) / max(rate*span.Seconds(), 1)}, err
}

// searched is a load during a search.
func (l *Loss) searched(tool, report string, pid int, f load) (served, error) {
	cmd := exec.Command(tool, "attach", "--quiet", "--no-tui", "--for", span.String(), "--json", report, strconv.Itoa(pid))
	if err := cmd.Start(); err != nil {
		return served{}, err
	}
	one, err := serve(pid, f)
	_ = cmd.Wait() // its status says what it found; that it ended well is in the report
	text, readErr := os.ReadFile(report)
	if err := errors.Join(err, readErr); err != nil {
		return one, err
	}
	var said struct {
		Targets      []struct{ PID int }
		RemovedClean bool `json:"removed_clean"`
		Overhead     struct {
			DaemonCPU float64 `json:"daemon_cpu"`
		}
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return one, err
	}
	if !said.RemovedClean {
		return one, errors.New("the search has not removed its probes")
	}
	l.DaemonCPU, l.Processes = max(l.DaemonCPU, said.Overhead.DaemonCPU), max(l.Processes, len(said.Targets))
	return one, nil
}

// processorTime is what a process, its children and those of them that have ended used, in seconds.
func processorTime(pid int) (sum float64) {
	for _, p := range kernel.Processes() {
		if p.PID != pid && p.Parent != pid {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
		if err != nil {
			continue
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, field := range f[11:15] { // utime to cstime, fields 14 to 17
			ticks, _ := strconv.ParseFloat(field, 64)
			sum += ticks / 100
		}
	}
	return sum
}
