package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"culprit/internal/servers"
)

// What a search costs a server as time goes by: a load goes on before the search, during it and after it, and tells how much was done in
// each second. Loads that begin anew differ from each other by more than a search costs after its first seconds.

const (
	lead      = 20 * time.Second // of a load before a search, and after it
	leadStart = 3 * time.Second  // of that: the load begins, or probes are removed
)

// courseEnds are where windows of a search end.
var courseEnds = []time.Duration{3 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second}

// A Course is by how much less a server does during a search than before and after it; figures are medians of the rounds.
type Course struct {
	Load         string   `json:"load"`
	Windows      []Window `json:"windows"`
	LossPercent  float64  `json:"loss_percent"`  // of the whole search, attaching included
	NoisePercent float64  `json:"noise_percent"` // by which what was done before and after differ
	DaemonCPU    float64  `json:"daemon_cpu"`    // processors that culprit used
}

// A Window is a part of a search.
type Window struct {
	FromS       float64 `json:"from_s"` // since culprit was started
	ToS         float64 `json:"to_s"`
	LossPercent float64 `json:"loss_percent"`
}

// postgresCourse measures the loads of postgresLoss.
func postgresCourse(r *Result, rounds int) error {
	tool, err := buildTool()
	if err != nil {
		return err
	}
	defer tool.remove()
	return eachPgLoad(func(pg *servers.Postgres, name string, args []string) error {
		c := &Course{Load: name}
		if err := c.measure(tool, pg, args, rounds); err != nil {
			return err
		}
		r.Courses = append(r.Courses, *c)
		return nil
	})
}

func (c *Course) measure(tool *tool, pg *servers.Postgres, args []string, rounds int) error {
	var whole, noise, cpu []float64
	var parts [][]float64
	for range rounds {
		rates, err := searchAmid(tool, pg, args)
		if err != nil {
			return err
		}
		said, err := tool.report()
		if err != nil {
			return err
		}
		before, after := mean(within(rates, leadStart, lead)), mean(within(rates, lead+*span+leadStart, 2*lead+*span))
		loss := func(from, to time.Duration) float64 {
			return 100 * (1 - mean(within(rates, lead+from, lead+to))/((before+after)/2))
		}
		var part []float64
		for _, w := range c.windows() {
			part = append(part, loss(w[0], w[1]))
		}
		parts = append(parts, part)
		whole, cpu = append(whole, loss(0, *span)), append(cpu, said.Overhead.DaemonCPU)
		noise = append(noise, 100*max(after/before-1, 1-after/before))
	}
	for i, w := range c.windows() {
		var of []float64
		for _, part := range parts {
			of = append(of, part[i])
		}
		c.Windows = append(c.Windows, Window{w[0].Seconds(), w[1].Seconds(), median(of)})
	}
	c.LossPercent, c.NoisePercent, c.DaemonCPU = median(whole), median(noise), median(cpu)
	fmt.Fprintf(os.Stderr, "%s: lost in the course of a search %.1f, in all %.1f %% (%.1f); noise %.1f %%\n", c.Load, c.Windows, c.LossPercent, whole, c.NoisePercent)
	return nil
}

// windows are the parts of a search of -span, from and to.
func (c *Course) windows() (list [][2]time.Duration) {
	from := time.Duration(0)
	for _, to := range append(slices.Clone(courseEnds), *span) {
		if to = min(to, *span); to > from {
			list = append(list, [2]time.Duration{from, to})
			from = to
		}
	}
	return list
}

// searchAmid is a load with a search in its midst; it returns how many transactions a second there were, second by second.
func searchAmid(tool *tool, pg *servers.Postgres, args []string) ([]float64, error) {
	all := slices.Concat(pgArgs(2*lead+*span), []string{"-P", "1"}, args, []string{"postgres"})
	cmd := pg.Command("pgbench", all...)
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	time.Sleep(lead)
	said, _ := tool.search(pg.PID).CombinedOutput() // its status says what it found
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("pgbench: %w\n%s", err, out.Bytes())
	}
	var rates []float64
	for _, m := range regexp.MustCompile(`progress: [\d.]+ s, ([\d.]+) tps`).FindAllStringSubmatch(out.String(), -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return nil, err
		}
		rates = append(rates, n)
	}
	if want := int((2*lead + *span).Seconds()) - 2; len(rates) < want {
		return nil, fmt.Errorf("pgbench told of %d seconds, not %d; culprit said %q", len(rates), want, said)
	}
	return rates, nil
}

// within are the seconds from one moment to another.
func within(rates []float64, from, to time.Duration) []float64 {
	return rates[min(int(from.Seconds()), len(rates)):min(int(to.Seconds()), len(rates))]
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
