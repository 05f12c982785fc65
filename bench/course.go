package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"culprit/internal/servers"
)

// What a search costs a server as time goes by: a load goes on before the search, during it and after it, and tells how much was done in
// each second. Loads that begin anew differ from each other by more than a search costs after its first seconds. So do the seconds of one
// load, by a tenth, where the machine is somebody's virtual one and as fast as its neighbours let it be. What the clients have of the
// processors does not: they do the same for each transaction, and are as slow as their servers when the machine is. It tells what is taken
// from both by others, and what a server needs more for a transaction; not what makes the client's own work take longer as well. Transactions
// that are divided by the speed of the processors in the same second tell that too, and differ by less than transactions do.

const (
	warmUp    = 2 * time.Minute  // of a load before the first that counts: the tables of one that writes grow slower to use, at first fast
	lead      = 20 * time.Second // of a load before a search, and after it
	leadStart = 3 * time.Second  // of that: the load begins, or probes are removed
)

// courseEnds are where windows of a search end.
var courseEnds = []time.Duration{3 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second}

// null leaves searches out.
var null = flag.Bool("null", false, "in the course of loads, search nothing: what is said to be lost then is what the measure itself cannot tell")

// A Course is by how much less a server does during a search than before and after it; figures are medians of the rounds.
type Course struct {
	Load              string   `json:"load"`
	Build             string   `json:"build"` // "this", or the path of the other one
	Windows           []Window `json:"windows"`
	LossPercent       float64  `json:"loss_percent"`        // of the whole search, attaching included
	NoisePercent      float64  `json:"noise_percent"`       // by which what was done before and after differ
	ShareLossPercent  float64  `json:"share_loss_percent"`  // likewise, of what the clients have of the processors
	ShareNoisePercent float64  `json:"share_noise_percent"` // likewise
	SpeedLossPercent  float64  `json:"speed_loss_percent"`  // likewise, of transactions, had the processors been equally fast all the time
	SpeedNoisePercent float64  `json:"speed_noise_percent"` // likewise
	DaemonCPU         float64  `json:"daemon_cpu"`          // processors that culprit used
	ToldPercent       float64  `json:"told_percent"`        // loss that culprit itself tells

	searches  [][]second
	cpu, told []float64
}

// A Window is a part of a search.
type Window struct {
	FromS            float64 `json:"from_s"` // since culprit was started
	ToS              float64 `json:"to_s"`
	LossPercent      float64 `json:"loss_percent"`
	ShareLossPercent float64 `json:"share_loss_percent"`
	SpeedLossPercent float64 `json:"speed_loss_percent"`
}

// courses measures the loads of postgresLoss and nginxLoss.
func courses(r *Result, rounds int) error {
	tool, err := buildTool()
	if err != nil {
		return err
	}
	defer tool.remove()
	measure := func(name string, pid int, begin beginning) error {
		list, err := coursesOf(name, tool, pid, begin, rounds)
		r.Courses = append(r.Courses, list...)
		return err
	}
	err = eachPgLoad(func(pg *servers.Postgres, name string, args []string) error {
		if _, err := pg.Run("pgbench", slices.Concat(pgArgs(warmUp), args, []string{"postgres"})...); err != nil {
			return err
		}
		return measure(name, pg.PID, func(long time.Duration) (steady, error) {
			if _, err := pg.Run("psql", "-c", "checkpoint", "postgres"); err != nil {
				return nil, err
			}
			return startPinned(pg, args, long)
		})
	})
	if err != nil {
		return err
	}
	may, err := processorsOf(0)
	if err != nil {
		return err
	}
	return eachNginxLoad(len(may), func(n *servers.Nginx, name, path, header string) error {
		return measure(name, n.PID, func(long time.Duration) (steady, error) { return startAsked(n, path, header, long) })
	})
}

// A beginning starts a load that lasts as long as told.
type beginning func(long time.Duration) (steady, error)

// coursesOf measures each build of culprit, one round of each in turn.
func coursesOf(name string, tool *tool, pid int, begin beginning, rounds int) ([]Course, error) {
	var all []Course
	for _, b := range builds() {
		all = append(all, Course{Load: name, Build: b})
	}
	for i := range rounds {
		for k := range all {
			if i%2 == 1 { // each comes first as often
				k = len(all) - 1 - k
			}
			if err := all[k].round(tool, pid, begin); err != nil {
				return nil, err
			}
		}
	}
	for i := range all {
		all[i].judge()
	}
	if len(all) == 2 {
		compare(all[0], all[1])
	}
	return all, nil
}

// round is one load with a search in its midst.
func (c *Course) round(tool *tool, pid int, begin beginning) error {
	list, err := searchAmid(tool, c.Build, pid, begin)
	if err != nil {
		return err
	}
	c.searches = append(c.searches, list)
	if *null {
		return nil
	}
	said, err := tool.report()
	if err != nil {
		return err
	}
	c.cpu, c.told = append(c.cpu, said.Overhead.DaemonCPU), append(c.told, 100*said.Overhead.Lost)
	return nil
}

// compare says by how many points more is lost with one build than with the one before, round by round.
func compare(before, this Course) {
	for _, of := range measures {
		var more []float64
		for i, l := range before.lost(of.measure, 0, *span) {
			more = append(more, this.lost(of.measure, 0, *span)[i]-l)
		}
		within := ""
		if len(more) > 1 {
			from, to := certain(more)
			within = fmt.Sprintf(" (95 %%: %.1f to %.1f)", from, to)
		}
		fmt.Fprintf(os.Stderr, "%s: with this build %.1f points more %s are lost than with the one before%s\n", this.Load, mean(more), of.what, within)
	}
}

// lost is what each search cost from one moment of it to another, in percent.
func (c *Course) lost(of measure, from, to time.Duration) (list []float64) {
	for _, s := range c.searches {
		list = append(list, of.loss(s, from, to))
	}
	return list
}

// noise is that of each search.
func (c *Course) noise(of measure) (list []float64) {
	for _, s := range c.searches {
		list = append(list, of.noise(s))
	}
	return list
}

// measures are those that are told.
var measures = []struct {
	what string
	measure
}{{"transactions", done}, {"of the clients' share", share}, {"transactions at equal speed", atSpeed}}

// judge works out the medians, and tells them.
func (c *Course) judge() {
	for _, w := range c.windows() {
		c.Windows = append(c.Windows, Window{w[0].Seconds(), w[1].Seconds(),
			median(c.lost(done, w[0], w[1])), median(c.lost(share, w[0], w[1])), median(c.lost(atSpeed, w[0], w[1]))})
	}
	c.LossPercent, c.NoisePercent = median(c.lost(done, 0, *span)), median(c.noise(done))
	c.ShareLossPercent, c.ShareNoisePercent = median(c.lost(share, 0, *span)), median(c.noise(share))
	c.SpeedLossPercent, c.SpeedNoisePercent = median(c.lost(atSpeed, 0, *span)), median(c.noise(atSpeed))
	if !*null {
		c.DaemonCPU, c.ToldPercent = median(c.cpu), median(c.told)
		fmt.Fprintf(os.Stderr, "%s, %s: it used %.3f CPUs, and tells that %.1f %% were lost\n", c.Load, c.Build, c.cpu, c.told)
	}
	fmt.Fprintf(os.Stderr, "%s, %s: lost in the course of a search %.1f\n", c.Load, c.Build, c.Windows)
	for _, of := range measures {
		all := c.lost(of.measure, 0, *span)
		if len(all) > 1 {
			from, to := certain(all)
			fmt.Fprintf(os.Stderr, " mean %.1f %% %s (95 %%: %.1f to %.1f)\n", mean(all), of.what, from, to)
		}
		fmt.Fprintf(os.Stderr, " in all %.1f %% %s (%.1f; noise %.1f %%)\n", median(all), of.what, all, median(c.noise(of.measure)))
	}
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

// searchAmid is a load with a search by a build of culprit in its midst; it returns what was done in each second.
func searchAmid(tool *tool, build string, pid int, begin beginning) ([]second, error) {
	amid, err := begin(2*lead + *span + leadStart)
	if err != nil {
		return nil, err
	}
	search := make(chan []byte)
	go func() {
		time.Sleep(lead)
		if *null {
			search <- nil
			return
		}
		said, _ := tool.searchBy(build, pid).CombinedOutput() // its status says what it found
		search <- said
	}()
	list, err := amid.watch()
	said := <-search
	if err != nil {
		return nil, err
	}
	if want := int((2*lead + *span).Seconds()); len(list) < want {
		return nil, fmt.Errorf("the load told of %d seconds, not %d; culprit said %q", len(list), want, said)
	}
	return list, nil
}

// A measure is what a second is judged by.
type measure func(s second) float64

var (
	done  measure = func(s second) float64 { return s.transactions }
	share measure = func(s second) float64 { return s.clients }

	atSpeed measure = func(s second) float64 { return s.transactions / s.speed }
)

// mean is that of the seconds from one moment of a load to another.
func (of measure) mean(list []second, from, to time.Duration) (m float64) {
	part := list[int(from.Seconds()):int(to.Seconds())]
	for _, s := range part {
		m += of(s) / float64(len(part))
	}
	return m
}

// ends are the means before and after the search.
func (of measure) ends(list []second) (before, after float64) {
	return of.mean(list, leadStart, lead), of.mean(list, lead+*span+leadStart, 2*lead+*span)
}

// loss is by how many percent less there is from one moment of the search to another than before and after it.
func (of measure) loss(list []second, from, to time.Duration) float64 {
	before, after := of.ends(list)
	return 100 * (1 - of.mean(list, lead+from, lead+to)/((before+after)/2))
}

// noise is by how many percent what is before and after the search differ.
func (of measure) noise(list []second) float64 {
	before, after := of.ends(list)
	return 100 * max(after/before-1, before/after-1)
}
